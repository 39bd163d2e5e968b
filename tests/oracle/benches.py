"""
Engines on a bench: one wide table with every storage at once, for the oracle to be held against.

A bench writes raw values, reads them back as memories, and tells which rows a condition selects
and which it leaves after a DELETE. Filters and rows are drawn here too, so that they meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import frozen
from hypothesis import strategies as st

from memdelete.filters import Filter, Key, Tags, Untagged, leaves
from memdelete.memories import Memory, Truth
from memdelete.schema import Collection, LiveSchema
from memdelete.sql.compile import columns_read, condition
from memdelete.sql.render import Statement, column, render, table
from memdelete.tags import JoinTable
from memdelete.testing.decoding import decoded
from memdelete.testing.strategies import filters
from sqlglot import exp


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
    """

    dialect: str
    paramstyle: str
    collections: Sequence[Collection]
    live: LiveSchema
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

    def run(self, statement: Statement) -> Sequence[tuple[Any, ...]]:
        """
        The rows that a statement gives back.
        """

    def rollback(self, statement: Statement) -> Sequence[tuple[Any, ...]]:
        """
        The ids that are left after a statement, which is then undone.
        """


@st.composite
def cases(draw: st.DrawFn, bench: Bench, most: int = 4) -> Case:
    """
    A collection of the bench, filters on it, and rows with what these read.
    """
    collection = draw(st.sampled_from(bench.collections))
    live = draw(st.sampled_from((None, bench.live)))
    asked = draw(
        st.lists(
            filters(
                collection,
                keys=bench.keys[collection.key],
                kinds=KINDS,
                lacking=draw(st.booleans()),
            ),
            min_size=1,
            max_size=most,
        )
    )
    names = sorted({name for each in asked for name in columns_read(each, collection)} - {"id"})
    if isinstance(collection.tags, JoinTable) and any(map(_on_tags, asked)):
        names.append(collection.tags.table)
    row = st.fixed_dictionaries({name: bench.cells[name] for name in names})

    return Case(collection, live, draw(st.lists(row, min_size=1, max_size=6)), asked)


KINDS = {"loose": "any", "number": "any"}


def _on_tags(asked: Filter) -> bool:
    return any(isinstance(leaf, Tags | Untagged) for leaf in leaves(asked))


def check(bench: Bench, case: Case) -> None:
    """
    The engine selects what the oracle says, deletes no more, and leaves the rest.
    """
    bench.write(case.collection, case.rows)
    memories = _memories(bench, case)
    for asked in case.filters:
        truths = {key: asked.truth(memory) for key, memory in memories.items()}
        for want in (Truth.TRUE, Truth.FALSE):
            expected = [key for key, truth in truths.items() if truth is want]
            got = _selected(bench, case, asked, want)

            assert expected == got, (want, asked, {k: memories[k] for k in {*expected} ^ {*got}})

        expected = [key for key, truth in truths.items() if truth is not Truth.TRUE]

        assert expected == _left(bench, case, asked)


def _memories(bench: Bench, case: Case) -> dict[int, Memory]:
    collection = case.collection
    names = [*collection.columns]
    found = bench.read(collection, names)

    return {
        number: decoded(collection, row, tags=row.get("tags of its own"))
        for number, row in enumerate(found, 1)
    }


def _selected(bench: Bench, case: Case, asked: Filter, want: Truth) -> list[int]:
    found = condition(
        asked, case.collection, dialect=bench.dialect, live=case.live, want=want, relation="m"
    )
    tree = exp.select(column("id", "m")).from_(table(case.collection.table, alias="m"))
    tree = tree.where(found.expression).order_by(column("id", "m"))
    statement = render(
        tree, dialect=bench.dialect, paramstyle=bench.paramstyle, params=found.params
    )

    return [key for (key,) in bench.run(statement)]


def _left(bench: Bench, case: Case, asked: Filter) -> list[int]:
    found = condition(asked, case.collection, dialect=bench.dialect, live=case.live, prefix="d")
    tree = exp.Delete(
        this=table(case.collection.table), where=exp.Where(this=found.expression)
    )
    statement = render(
        tree, dialect=bench.dialect, paramstyle=bench.paramstyle, params=found.params
    )

    return [key for (key,) in bench.rollback(statement)]


__all__ = ["Bench", "Case", "Key", "cases", "check"]
