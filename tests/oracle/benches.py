"""
Engines on a bench: one wide table with every storage at once, for the oracle to be held against.

A bench writes raw values, reads them back as memories, and tells which rows a condition selects
and which it leaves after a DELETE. Filters and rows are drawn here too, so that they meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Protocol

from attrs import frozen
from hypothesis import strategies as st

from memdelete.filters import Filter, Tags, Untagged, leaves
from memdelete.memories import Memory, Truth
from memdelete.schema import Collection, LiveSchema
from memdelete.sql.compile import columns_read, condition
from memdelete.sql.render import Paramstyle, Statement, render
from memdelete.tags import JoinTable
from memdelete.testing.decoding import decoded
from memdelete.testing.strategies import filters


@frozen
class Case:
    """
    One table full of rows, and the filters to ask it.
    """

    collection: Collection
    live: LiveSchema | None
    rows: Sequence[Mapping[str, object]]
    filters: Sequence[Filter]


class Bench(Protocol):
    """
    An engine with the wide table in it.

    It is *loose* where a column lets in values of other classes; *texts* are columns of text.
    """

    dialect: str
    paramstyle: Paramstyle
    loose: bool
    texts: frozenset[str]
    collections: Sequence[Collection]
    live: LiveSchema
    kinds: Mapping[str, str]
    guessed_kinds: Mapping[str, str]
    keys: Mapping[tuple[str, ...], Sequence[Any]]
    cells: Mapping[str, st.SearchStrategy[Any]]

    def write(self, collection: Collection, rows: Sequence[Mapping[str, object]]) -> None:
        """
        Empty the table and write *rows*, whose ids are 1, 2, 3….
        """

    def read(self, collection: Collection, names: Sequence[str]) -> Sequence[Mapping[str, object]]:
        """
        The raw values of columns, in the order of the ids.
        """

    def selected(self, where: Statement) -> list[int]:
        """
        The ids that a condition selects.
        """

    def left(self, where: Statement) -> list[int]:
        """
        The ids that are left after a DELETE with that condition, which is then undone.
        """


@st.composite
def cases(draw: st.DrawFn, bench: Bench, most: int = 6) -> Case:
    """
    A collection of the bench, filters on it, and rows with what these read.
    """
    collection = draw(st.sampled_from(bench.collections))
    live = draw(st.sampled_from((None, bench.live)))
    asked = draw(_asked(bench, collection, live is not None, draw(st.booleans()), most))
    names = sorted({name for each in asked for name in columns_read(each, collection)} - {"id"})
    if isinstance(collection.tags, JoinTable) and any(map(_on_tags, asked)):
        names.append(collection.tags.table)

    return Case(collection, live, draw(_rows(bench, tuple(names))), asked)


# Strategies are slow to build and are wanted again and again.


@cache
def _asked(
    bench: Bench, collection: Collection, known: bool, lacking: bool, most: int
) -> st.SearchStrategy[list[Filter]]:
    keys = bench.keys[collection.key]
    kinds = bench.kinds if known else bench.guessed_kinds
    one = filters(collection, keys=keys, kinds=kinds, lacking=lacking)

    return st.lists(one, min_size=1, max_size=most)


@lru_cache(maxsize=4096)
def _rows(bench: Bench, names: tuple[str, ...]) -> st.SearchStrategy[list[dict[str, object]]]:
    row = st.tuples(*[bench.cells[name] for name in names])

    return st.lists(row.map(lambda row: dict(zip(names, row, strict=True))), min_size=1, max_size=6)


def _on_tags(asked: Filter) -> bool:
    return any(isinstance(leaf, Tags | Untagged) for leaf in leaves(asked))


def check(bench: Bench, case: Case) -> None:
    """
    The engine selects what the oracle says, deletes no more, and leaves the rest.
    """
    bench.write(case.collection, case.rows)
    memories = decode(bench, case.collection)
    for asked in case.filters:
        truths = {key: asked.truth(memory) for key, memory in memories.items()}
        for want in (Truth.TRUE, Truth.FALSE):
            where = _where(bench, case, asked, want)
            expected = [key for key, truth in truths.items() if truth is want]
            got = bench.selected(where)

            assert expected == got, (want, asked, {k: memories[k] for k in {*expected} ^ {*got}})
            if want is Truth.TRUE:
                assert [key for key in truths if key not in expected] == bench.left(where)


def decode(bench: Bench, collection: Collection) -> dict[int, Memory]:
    """
    The memories in the bench's table, by their ids.
    """
    found = bench.read(collection, collection.columns)

    return {
        number: decoded(collection, row, tags=row.get("tags of its own"))
        for number, row in enumerate(found, 1)
    }


def _where(bench: Bench, case: Case, asked: Filter, want: Truth) -> Statement:
    found = condition(asked, case.collection, dialect=bench.dialect, live=case.live, want=want)

    return render(
        found.expression,
        dialect=bench.dialect,
        paramstyle=bench.paramstyle,
        params=found.params,
    )
