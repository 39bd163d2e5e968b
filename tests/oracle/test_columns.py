"""
Each column by itself: many rows, and every leaf there is on it.

The other half of the oracle. Where random filters look for what goes wrong between leaves, here
no value that a column may hold gets away without having met every value that a filter may name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest

from hypothesis import given, settings
from hypothesis import strategies as st

from memdelete.errors import FilterError, StoreError
from memdelete.filters import (
    After,
    Before,
    Between,
    Compare,
    Filter,
    Hash,
    Key,
    Since,
    Tags,
    Untagged,
    Until,
)
from memdelete.schema import Collection, Store
from memdelete.sql.compile import compile_filter
from memdelete.tags import JoinTable
from memdelete.testing.oddities import (
    GLOBS,
    HASHES,
    INSTANTS,
    NUMBERS,
    TAGS,
    TEXTS,
    odd_tags,
    odd_texts,
    odd_times,
)
from tests.oracle.benches import Bench, decode
from tests.oracle.duckdb_bench import DuckDBBench
from tests.oracle.postgres_bench import PostgresBench
from tests.oracle.sqlite_bench import NewestBench, SQLiteBench


ENGINES: dict[str, type[Bench]] = {
    "sqlite": SQLiteBench,
    "newest": NewestBench,
    "duck": DuckDBBench,
    "postgresql": PostgresBench,
}
FEWER = settings(max_examples=max(2, settings.default.max_examples // 100))


def on_time(name: str) -> Iterator[Filter]:
    """
    Every comparison of a time with every instant.
    """
    for at in INSTANTS:
        yield from (kind(at, on=name) for kind in (Before, After, Since, Until))
    yield from (Between(start, end, on=name) for start, end in combinations(INSTANTS[7:13], 2))
    yield Compare(name, "missing")


def on_tags() -> Iterator[Filter]:
    """
    Every tag in every list, both ways of folding.
    """
    yield Untagged()
    for fold in (False, True):
        for tag, other in zip(TAGS, TAGS[1:] + TAGS[:1], strict=True):
            yield Tags(any=[tag], ignore_case=fold)
            yield Tags(all=[tag, other], ignore_case=fold)
            yield Tags(none=[tag], ignore_case=fold)
            yield Tags(any=[tag, other], none=["b"], ignore_case=fold)


def on_field(name: str) -> Iterator[Filter]:
    """
    Every comparison of a field with every text and every number.
    """
    yield Compare(name, "missing")
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield from (Compare(name, op, [value]) for value in (*TEXTS, "", *NUMBERS))
    for op in ("eq", "ne"):
        yield from (Compare(name, op, [value]) for value in (True, False))
        yield from (Compare(name, op, [value], ignore_case=True) for value in TEXTS)
    yield Compare(name, "isin", TEXTS[:5])
    yield Compare(name, "isin", TEXTS[:5], ignore_case=True)
    yield Compare(name, "isin", [0, 1, 2])
    yield Compare(name, "isin", [0.1, 2.5, 1, 1e300])
    yield Compare(name, "isin", [True, False])
    for op in ("contains", "startswith", "endswith"):
        yield from (Compare(name, op, [text]) for text in TEXTS)
        yield from (Compare(name, op, [text], ignore_case=True) for text in TEXTS)
    yield from (Compare(name, "glob", [pattern]) for pattern in GLOBS)
    yield from folding_globs(name)


def folding_globs(name: str) -> Iterator[Filter]:
    """
    The globs that fold.
    """
    for pattern in GLOBS:
        try:
            yield Compare(name, "glob", [pattern], ignore_case=True)
        except FilterError:
            continue


def on_identity(keys: Sequence[object]) -> Iterator[Filter]:
    """
    Every hash and every key, alone and with others.
    """
    yield from (Hash(value) for value in HASHES)
    yield from (Hash(*pair) for pair in combinations(HASHES, 2))
    yield from (Key(value) for value in keys)
    yield from (Key(*pair) for pair in combinations(keys, 2))


def held(
    bench: Bench,
    collection: Collection,
    names: Sequence[str],
    asked: list[Filter],
    odd: Sequence[object] = (),
) -> None:
    """
    Draw rows of the columns *names*, and ask every filter both ways.

    The *odd* values of the first column are there every time.
    """
    always = [{names[0]: value} for value in odd]
    cells = st.tuples(*[bench.cells[name] for name in names])
    rows = st.lists(
        cells.map(lambda row: dict(zip(names, row, strict=True))), min_size=30, max_size=40
    )

    @FEWER
    @given(rows)
    def check(rows: list[dict[str, object]]) -> None:
        bench.write(collection, [*always, *rows])
        memories = decode(bench, collection)
        store = Store(name="bench", collections=[collection])
        for each in asked:
            for one in (each, ~each):
                found = [key for key, memory in memories.items() if one.matches(memory)]
                where = compile_filter(
                    one, store, dialect=bench.dialect, paramstyle=bench.paramstyle
                )

                assert (one, found) == (one, bench.selected(where))

    check()


def sayable(bench: Bench, collection: Collection, asked: Iterator[Filter]) -> list[Filter]:
    """
    The filters whose values have the column's class and fit its storage; others are refused.
    """
    store = Store(name="bench", collections=[collection])
    found = []
    for each in asked:
        try:
            compile_filter(each, store, dialect=bench.dialect, paramstyle=bench.paramstyle)
        except StoreError:
            continue
        found.append(each)
    assert found

    return found


@pytest.mark.parametrize(
    ("engine", "name"),
    [(name, time) for name, bench in ENGINES.items() for time in bench.collections[0].times],
)
def test_times(engine, name, request):
    """
    Every time that a column can hold compares with every instant as the oracle says.
    """
    bench = request.getfixturevalue(engine)
    collection = bench.collections[0]
    encoding = collection.times[name]
    odd = odd_times(encoding, loose=bench.loose)

    held(bench, collection, [encoding.column], [*on_time(name)], odd)


@pytest.mark.parametrize(
    ("engine", "index"),
    [(name, index) for name, bench in ENGINES.items() for index in range(len(bench.collections))],
)
def test_tags_and_keys(engine, index, request):
    """
    Every list of tags, every hash and every key is found as the oracle says.
    """
    bench = request.getfixturevalue(engine)
    collection = bench.collections[index]
    storage = collection.tags
    tagged = storage.table if isinstance(storage, JoinTable) else storage.column
    own = [name for name in (*collection.key, collection.hash) if name != "id"]
    names = list(dict.fromkeys([tagged, *own]))
    odd = odd_tags(storage, loose=bench.loose) if tagged in bench.texts else ()
    asked = [*on_tags(), *on_identity(bench.keys[collection.key])]

    held(bench, collection, names, sayable(bench, collection, iter(asked)), odd)


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        (name, field)
        for name, bench in ENGINES.items()
        for field in bench.collections[0].fields
        if bench.guessed_kinds.get(field) != "unknown"
    ],
)
def test_fields(engine, name, request):
    """
    Every value that a column can hold compares with every value as the oracle says.
    """
    bench = request.getfixturevalue(engine)
    collection = bench.collections[0]
    column = collection.fields[name].column
    odd = (*odd_texts(loose=bench.loose), *TEXTS) if column in bench.texts else ()

    held(bench, collection, [column], sayable(bench, collection, on_field(name)), odd)
