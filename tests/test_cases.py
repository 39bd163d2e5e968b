"""
Cases from the field, each a fault that somebody met, on the oracle and on every engine.

A case is written in every storage of tags and every encoding of times that can hold its rows;
which can not is told as a property of the test (`pytest --junit-xml`, or `-s`). A few cases live
beside this file; the whole list lies beside the repository.
"""

from __future__ import annotations

import json
import os
import sqlite3

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memdelete import tags, times
from memdelete.errors import FilterError, StoreError
from memdelete.filters import Filter
from memdelete.memories import Truth
from memdelete.schema import Collection, Field, Store
from memdelete.sql.compile import Predicate, compile_filter, condition
from memdelete.sql.render import Paramstyle
from memdelete.testing.decoding import decoded
from tests.conftest import ROOT, require


OWN = Path(__file__).parent / "cases"
SHARED = Path(os.environ.get("MEMDELETE_SHARED") or ROOT.parent / "shared") / "cases"

Row = Mapping[str, Any]
Encoding = times.TimeEncoding


def lines(name: str) -> list[dict[str, Any]]:
    """
    The cases of one file, from beside the repository if they are there.
    """
    folder = SHARED if (SHARED / name).exists() else OWN

    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


CASES = lines("filters.jsonl")
REFUSED = lines("refused.jsonl")

COMMA = [tags.CommaText("tags"), tags.CommaText("tags", separator="|"), tags.JSONArray("tags")]
JOINED = [
    tags.JoinTable("labels", "memory", "tag"),
    tags.JoinTable("tied", "memory", "tag", by="hash"),
    tags.JoinTable("named", "memory", "tag", names=tags.TagNames("names", "id", "name")),
]
EPOCHS: list[Encoding] = [
    kind("created", storage=storage)
    for kind in (times.EpochSeconds, times.EpochMillis, times.EpochMicros)
    for storage in ("integer", "real", "text")
]
ISO: list[Encoding] = [
    times.ISOText("created"),
    times.ISOText("created", form="%Y-%m-%d %H:%M:%S"),
    times.ISOText("created", form="%Y-%m-%dT%H:%M:%S.%f+00:00", naive="unknown"),
]
NATIVE: list[Encoding] = [times.Native("created"), times.Native("created", zoned=False)]


class Engine:
    """
    An engine with a table for one case at a time.
    """

    dialect: str
    paramstyle: Paramstyle
    gap: str
    integer = "BIGINT"
    real = "DOUBLE PRECISION"
    storages: Sequence[tags.TagStorage] = (*COMMA, tags.NativeArray("tags"), *JOINED)
    encodings: Sequence[Encoding] = (*ISO, *NATIVE, *EPOCHS)

    def __init__(self, execute: Callable[[str, Sequence[object]], list[tuple[Any, ...]]]) -> None:
        self.execute = execute

    def types(self, collection: Collection) -> dict[str, str]:
        """
        The columns of the collection's table.
        """
        text = dict.fromkeys((*collection.columns, "hash"), "TEXT")
        encoding = collection.times["created_at"]
        created = {
            "integer": self.integer,
            "real": self.real,
            "text": "TEXT",
            True: "TIMESTAMPTZ",
            False: "TIMESTAMP",
        }[getattr(encoding, "storage", getattr(encoding, "zoned", "text"))]
        listed = isinstance(collection.tags, tags.NativeArray)

        return text | {"id": "INTEGER", "created": created} | ({"tags": "TEXT[]"} if listed else {})

    def write(self, collection: Collection, rows: Sequence[Row]) -> None:
        """
        Make the tables anew, with *rows* in the collection's own storage and encoding.
        """
        types = self.types(collection)
        listed = ", ".join(f'"{name}" {type_}' for name, type_ in types.items())
        for name in ("memories", "labels", "tied", "named", "names"):
            self.execute(f"DROP TABLE IF EXISTS {name}", ())
        self.execute(f"CREATE TABLE memories ({listed})", ())
        self.execute("CREATE TABLE labels (memory INTEGER, tag TEXT)", ())
        self.execute("CREATE TABLE tied (memory TEXT, tag TEXT)", ())
        self.execute("CREATE TABLE named (memory INTEGER, tag INTEGER)", ())
        self.execute("CREATE TABLE names (id INTEGER, name TEXT)", ())
        for row in rows:
            values = raw(collection, row)
            names = ", ".join(values)
            gaps = ", ".join(f"CAST({self.gap} AS {types[name]})" for name in values)
            self.execute(f"INSERT INTO memories ({names}) VALUES ({gaps})", [*values.values()])
            self._tie(collection.tags, row)

    def _tie(self, storage: tags.TagStorage | None, row: Row) -> None:
        match storage:
            case tags.JoinTable(table, names=None, by=by):
                for tag in row["tags"] or ():
                    self._insert(table, row["id"] if by == "key" else row["hash"], tag)
            case tags.JoinTable(table):
                for place, tag in enumerate(row["tags"] or ()):
                    self._insert("names", row["id"] * 100 + place, tag)
                    self._insert(table, row["id"], row["id"] * 100 + place)
            case _:
                pass

    def _insert(self, table: str, *values: object) -> None:
        gaps = ", ".join([self.gap] * len(values))
        self.execute(f"INSERT INTO {table} VALUES ({gaps})", values)

    def selected(self, where: Predicate) -> list[int]:
        """
        The ids that a predicate selects.
        """
        sql = f"SELECT id FROM memories WHERE {where.sql} ORDER BY id"

        return [key for (key,) in self.execute(sql, list(where.params))]


class SQLite(Engine):
    """
    The embedded one: no arrays, no timestamps.
    """

    dialect, paramstyle, gap = "sqlite", "qmark", "?"
    integer, real = "INTEGER", "REAL"
    storages = (*COMMA, *JOINED)
    encodings = (*ISO, *EPOCHS)


class Postgres(Engine):
    """
    PostgreSQL, by psycopg.
    """

    dialect, paramstyle, gap = "postgres", "format", "%s"


class DuckDB(Engine):
    """
    DuckDB, by its own driver.
    """

    dialect, paramstyle, gap = "duckdb", "qmark", "?"


def raw(collection: Collection, row: Row) -> dict[str, Any]:
    """
    The columns of *row*, as the collection stores them.
    """
    created, storage = row["created_at"], collection.tags
    values = {"id": row["id"], "hash": row["hash"], **row["fields"]}
    values["created"] = created and collection.times["created_at"].encode(instant(created))
    if storage is not None and not isinstance(storage, tags.JoinTable):
        values[storage.column] = None if row["tags"] is None else storage.encode(row["tags"])

    return values


def instant(text: str) -> datetime:
    """
    The instant that a case writes.
    """
    return datetime.fromisoformat(text).astimezone(UTC)


def holds_tags(storage: tags.TagStorage, rows: Sequence[Row]) -> bool:
    """
    Can the storage give back the tags of every row?
    """
    try:
        return all(
            storage.decode(storage.encode(row["tags"] or ())) == frozenset(row["tags"] or ())
            for row in rows
        )
    except StoreError:
        return False


def holds_times(encoding: Encoding, rows: Sequence[Row]) -> bool:
    """
    Can the encoding give back the time of every row?
    """
    stored = [instant(row["created_at"]) for row in rows if row["created_at"]]

    return all(encoding.decode(encoding.encode(at)) == at for at in stored)


def collection(case: Mapping[str, Any], storage: tags.TagStorage, encoding: Encoding) -> Collection:
    """
    A mapping of the case's rows.
    """
    names = sorted({name for row in case["rows"] for name in row["fields"]})

    return Collection(
        table="memories",
        key="id",
        hash="hash",
        tags=storage,
        times={"created_at": encoding},
        fields={name: Field(name, "text") for name in names},
    )


def asked(case: Mapping[str, Any]) -> Filter:
    """
    The filter of a case, with its times read in its zone.
    """
    return Filter.from_dict(case["filter"]).resolve(case["zone"])


@pytest.fixture(scope="module")
def sqlite() -> Iterator[Engine]:
    """
    The standard library's SQLite.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield SQLite(lambda sql, params: list(connection.execute(sql, params)))
    connection.close()


@pytest.fixture(scope="module")
def apsw() -> Iterator[Engine]:
    """
    The newest SQLite.
    """
    connection = require("apsw").Connection(":memory:")
    yield SQLite(lambda sql, params: list(connection.execute(sql, params)))
    connection.close()


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Engine]:
    """
    DuckDB in memory.
    """
    connection = require("duckdb").connect()
    yield DuckDB(lambda sql, params: connection.execute(sql, list(params)).fetchall())
    connection.close()


@pytest.fixture(scope="module")
def postgresql(postgres: str) -> Iterator[Engine]:
    """
    PostgreSQL, in a schema of its own.
    """
    connection = require("psycopg").connect(postgres, autocommit=True)

    def execute(sql: str, params: Sequence[object]) -> list[tuple[Any, ...]]:
        cursor = connection.execute(sql, params)
        return cursor.fetchall() if cursor.description else []

    execute("CREATE SCHEMA cases", ())
    execute("SET search_path = cases", ())
    yield Postgres(execute)
    execute("DROP SCHEMA cases CASCADE", ())
    connection.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_oracle(case):
    """
    The oracle selects what the case expects.
    """
    mapping = collection(case, tags.JSONArray("tags"), times.ISOText("created"))
    blank = dict.fromkeys(mapping.columns)
    memories = [decoded(mapping, blank | raw(mapping, row)) for row in case["rows"]]

    assert case["expect"] == [memory.key for memory in memories if asked(case).matches(memory)]


@pytest.mark.parametrize("engine", ["sqlite", "apsw", "duckdb", "postgresql"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_engines(case, engine, request, record_property):
    """
    The engine selects what the case expects, in every storage that can hold the rows.
    """
    engine = request.getfixturevalue(engine)
    storages = [each for each in engine.storages if holds_tags(each, case["rows"])]
    encodings = [each for each in engine.encodings if holds_times(each, case["rows"])]
    there = (*engine.storages, *engine.encodings)
    cannot = [each for each in there if each not in (*storages, *encodings)]
    record_property("cannot hold the rows", "; ".join(map(repr, cannot)))
    expected, got = {}, {}
    for storage in storages:
        for encoding in encodings if storage is storages[0] else encodings[:1]:
            mapping = collection(case, storage, encoding)
            engine.write(mapping, case["rows"])
            where = compile_filter(
                asked(case),
                Store(name="cases", collections=[mapping]),
                dialect=engine.dialect,
                paramstyle=engine.paramstyle,
            )
            expected[storage, encoding] = case["expect"]
            got[storage, encoding] = engine.selected(where)

    assert expected
    assert expected == got


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: json.dumps(case["filter"]))
def test_refused(case):
    """
    A filter that means nothing, or everything by accident, is refused before there is any SQL.
    """
    mapping = Collection(
        table="memories",
        key="id",
        hash="hash",
        tags=tags.CommaText("tags"),
        times={"created_at": times.ISOText("created")},
        fields={"project": "project"},
    )
    store = Store(name="cases", collections=[mapping])

    with pytest.raises((FilterError, StoreError)):
        compile_filter(Filter.from_dict(case["filter"]).resolve("UTC", datetime.now(UTC)), store)


def test_unheld_tag():
    """
    A tag that no row of comma text can hold is an error of the store, not a filter on nothing.
    """
    mapping = Collection(table="m", key="id", tags=tags.CommaText("tags"))
    found = Filter.from_dict({"tags": {"any": ["a,b"]}})

    with pytest.raises(StoreError, match="a,b"):
        condition(found, mapping, dialect="sqlite", want=Truth.TRUE)
