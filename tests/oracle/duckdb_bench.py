"""
DuckDB on the bench: lists, a text that holds NULs, and timestamps of every grain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from memdelete import tags, times
from memdelete.schema import Collection, Field, LiveColumn, LiveSchema, LiveTable
from memdelete.sql.render import Statement
from memdelete.testing.oddities import HASHES, INTEGERS, REALS
from memdelete.testing.strategies import stored_tags, stored_texts, stored_times


TIMES: Mapping[str, times.TimeEncoding] = {
    "iso": times.ISOText("iso"),
    "strict": times.ISOText("strict", naive="unknown"),
    "zoned": times.Native("zoned"),
    "naive": times.Native("naive", zoned=False),
    "millis": times.Native("millis", zoned=False),
    **{
        f"{unit}_{storage}": kind(f"{unit}_{storage}", storage=storage)
        for unit, kind in (
            ("s", times.EpochSeconds),
            ("ms", times.EpochMillis),
            ("us", times.EpochMicros),
        )
        for storage in ("integer", "real", "text")
    },
}
FIELDS = {
    "text": Field("text", "text"),
    "folded": Field("folded", "text"),
    "whole": Field("whole", "integer"),
    "huge": Field("huge", "integer"),
    "real": Field("real", "real"),
    "flag": Field("flag", "boolean"),
}
STORAGES: Mapping[str, tags.TagStorage] = {
    "comma": tags.CommaText("comma"),
    "semi": tags.CommaText("semi", separator=";"),
    "slash": tags.CommaText("slash", separator="\\"),
    "line": tags.CommaText("line", separator="\n"),
    "json": tags.JSONArray("json"),
    "real_json": tags.JSONArray("real_json"),
    "list": tags.NativeArray("list"),
    "labels": tags.JoinTable("labels", "memory", "tag"),
    "by_hash": tags.JoinTable("by_hash", "memory", "tag", by="hash"),
    "named": tags.JoinTable(
        "named", "memory", "tag", names=tags.TagNames("names", key="id", name="name")
    ),
}
NUMBERS = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR"}
TYPES = {
    "id": "INTEGER",
    "slug": "VARCHAR COLLATE NOCASE",
    "num": "BIGINT",
    "hash": "VARCHAR",
    "folded_hash": "VARCHAR COLLATE NOCASE",
    "text": "VARCHAR",
    "folded": "VARCHAR COLLATE NOACCENT",
    "whole": "BIGINT",
    "huge": "HUGEINT",
    "real": "DOUBLE",
    "flag": "BOOLEAN",
    "comma": "VARCHAR",
    "semi": "VARCHAR COLLATE NOCASE",
    "slash": "VARCHAR",
    "line": "VARCHAR",
    "json": "VARCHAR",
    "real_json": "JSON",
    "list": "VARCHAR[]",
    "iso": "VARCHAR",
    "strict": "VARCHAR COLLATE NOCASE",
    "zoned": "TIMESTAMP WITH TIME ZONE",
    "naive": "TIMESTAMP",
    "millis": "TIMESTAMP_MS",
    **{name: NUMBERS[name.partition("_")[2]] for name in TIMES if "_" in name},
}


def _collection(key: Any, storage: str, hash_: str = "hash") -> Collection:
    return Collection(
        name=storage,
        table="memories",
        key=key,
        hash=hash_,
        tags=STORAGES[storage],
        times=TIMES,
        fields=FIELDS,
    )


def _stamps() -> st.SearchStrategy[object]:
    odd = ("infinity", "-infinity", "0044-03-15 (BC) 12:00:00", "12024-01-01", "0001-01-01")

    return stored_times(times.Native("x")).map(_utc) | st.sampled_from((None, *odd))


def _utc(at: Any) -> object:
    return at and at.isoformat(" ").replace("+00:00", "")


def _loose(storage: str) -> st.SearchStrategy[object]:
    several = stored_tags(STORAGES[storage], loose=False)

    return (
        several if storage in {"list", "real_json"} else several | st.sampled_from(("a\0b", "\0"))
    )


def _json() -> st.SearchStrategy[object]:
    # What a JSON column lets in.
    odd = ("null", "{}", '"a"', '""', "7", "[]", '["a", 1]', '["a", null]', '[["a"]]', None)

    return st.lists(st.sampled_from(("a", "A", "b", "é")), max_size=3).map(
        lambda found: str(found).replace("'", '"')
    ) | st.sampled_from(odd)


class DuckDBBench:
    """
    DuckDB in memory.
    """

    dialect = "duckdb"
    paramstyle = "dollar"
    loose = False
    texts = frozenset(
        name
        for name, declared in TYPES.items()
        if declared.startswith("VARCHAR") and "[" not in declared
    )
    collections = (
        _collection("id", "comma"),
        _collection("id", "list"),
        _collection("slug", "semi", "folded_hash"),
        _collection("num", "slash"),
        _collection(("slug", "num"), "json"),
        _collection("id", "real_json"),
        _collection("id", "line"),
        _collection("id", "labels"),
        _collection("slug", "by_hash"),
        _collection("id", "named"),
    )
    live = LiveSchema(
        "duckdb",
        {
            "memories": LiveTable(
                "memories",
                columns=tuple(
                    LiveColumn(
                        name,
                        type=declared.partition(" COLLATE")[0],
                        collation=declared.partition("COLLATE ")[2] or None,
                    )
                    for name, declared in TYPES.items()
                ),
            )
        },
        version=(2, 0),
    )
    kinds: Mapping[str, str] = {}
    guessed_kinds: Mapping[str, str] = {}
    keys: Mapping[tuple[str, ...], Sequence[Any]] = {
        ("id",): (1, 2, 3, 99),
        ("num",): (1, 2, 2**63 - 1, -(2**63)),
        ("slug",): ("a", "A", "1", "1x", "b "),
        ("slug", "num"): (("a", 1), ("A", 1), ("1", 2), ("a", -(2**63))),
    }
    cells: Mapping[str, st.SearchStrategy[Any]] = {
        "slug": st.sampled_from((None, "a", "A", "1", "1x", "b ", "b")),
        "num": st.sampled_from((None, 1, 2, -(2**63))),
        "hash": st.sampled_from((None, *HASHES)),
        "folded_hash": st.sampled_from((None, *HASHES)),
        "text": stored_texts(loose=False) | st.sampled_from(("a\0b", "\0")),
        "folded": stored_texts(loose=False),
        "whole": st.sampled_from((None, *INTEGERS)),
        "huge": st.sampled_from((None, 2**100, -(2**100), *INTEGERS)),
        "real": st.sampled_from((None, float("nan"), float("inf"), float("-inf"), *REALS)),
        "flag": st.sampled_from((None, True, False)),
        **{name: _loose(name) for name in STORAGES if name not in {"labels", "by_hash", "named"}},
        **{
            name: stored_tags(STORAGES[name], loose=False)
            for name in ("labels", "by_hash", "named")
        },
        "real_json": _json(),
        **{name: stored_times(encoding, loose=False) for name, encoding in TIMES.items()},
        **{name: _stamps() for name in ("zoned", "naive", "millis")},
    }

    def __init__(self, duckdb: ModuleType, zone: str = "America/New_York") -> None:
        self.connection = duckdb.connect()
        self.connection.execute(f"SET TimeZone = '{zone}'")
        columns = ", ".join(f'"{name}" {declared}' for name, declared in TYPES.items())
        self.execute(f"CREATE TABLE memories ({columns})")
        self.execute("CREATE INDEX slugs ON memories (slug)")
        self.execute("CREATE TABLE labels (memory INTEGER, tag VARCHAR)")
        self.execute("CREATE TABLE by_hash (memory VARCHAR, tag VARCHAR)")
        self.execute("CREATE TABLE named (memory INTEGER, tag INTEGER)")
        self.execute("CREATE TABLE names (id INTEGER, name VARCHAR)")
        self.execute("BEGIN")

    def execute(self, sql: str, params: Any = None) -> list[tuple[Any, ...]]:
        """
        Run one statement.
        """
        return list(self.connection.execute(sql, params).fetchall())

    def write(self, collection: Collection, rows: Sequence[Mapping[str, object]]) -> None:
        storage = collection.tags
        self.execute("ROLLBACK")
        self.execute("BEGIN")
        for number, row in enumerate(rows, 1):
            values = {name: value for name, value in row.items() if name in TYPES} | {"id": number}
            names = ", ".join(f'"{name}"' for name in values)
            gaps = ", ".join(map(_gap, values))
            self.execute(f"INSERT INTO memories ({names}) VALUES ({gaps})", list(values.values()))
            if isinstance(storage, tags.JoinTable):
                self._tie(storage, number, row, collection)

    def _tie(
        self, storage: tags.JoinTable, number: int, row: Mapping[str, Any], collection: Collection
    ) -> None:
        owner = number if storage.by == "key" else row.get(str(collection.hash))
        for place, tag in enumerate(row.get(storage.table, ())):
            held = tag
            if storage.names:
                held = number * 10 + place
                if tag is not None:
                    self.execute("INSERT INTO names VALUES (?, ?)", [held, tag])
            self.execute(f"INSERT INTO {storage.table} VALUES (?, ?)", [owner, held])

    def read(self, collection: Collection, names: Sequence[str]) -> list[dict[str, object]]:
        listed = ", ".join(map(_selected, names))
        rows = self.execute(f"SELECT {listed} FROM memories ORDER BY id")
        found = [
            {name: _raw(name, value) for name, value in zip(names, row, strict=True)}
            for row in rows
        ]
        if isinstance(collection.tags, tags.JoinTable):
            for number, row in enumerate(found, 1):
                owner = row[str(collection.hash)] if collection.tags.by == "hash" else number
                row["tags of its own"] = self._ties(collection.tags, owner)

        return found

    def _ties(self, storage: tags.JoinTable, owner: object) -> list[object]:
        table = storage.table
        tag = f"(SELECT name FROM names WHERE id = {table}.tag)" if storage.names else "tag"

        return [
            tag for (tag,) in self.execute(f"SELECT {tag} FROM {table} WHERE memory = ?", [owner])
        ]

    def selected(self, where: Statement) -> list[int]:
        rows = self.execute(f"SELECT id FROM memories WHERE {where.sql} ORDER BY id", where.params)

        return [key for (key,) in rows]

    def left(self, where: Statement) -> list[int]:
        # There are no savepoints here; the rows that are gone come back from a copy.
        self.execute("CREATE OR REPLACE TEMP TABLE kept AS SELECT * FROM memories")
        self.execute(f"DELETE FROM memories WHERE {where.sql}", where.params)
        rows = self.execute("SELECT id FROM memories ORDER BY id")
        self.execute("DELETE FROM memories")
        self.execute("INSERT INTO memories SELECT * FROM kept")

        return [key for (key,) in rows]


def _gap(name: str) -> str:
    declared = TYPES[name].partition(" COLLATE")[0]
    if declared == "TIMESTAMP WITH TIME ZONE":
        return "CAST(CAST(? AS TIMESTAMP) AT TIME ZONE 'UTC' AS TIMESTAMPTZ)"

    return f"CAST(? AS {declared})"


def _selected(name: str) -> str:
    match TYPES[name]:
        case "TIMESTAMP WITH TIME ZONE" | "TIMESTAMP" | "TIMESTAMP_MS":
            # As numbers: the driver has no words for infinity or for years of five digits.
            stamp = f'CAST("{name}" AS TIMESTAMP)' if TYPES[name] == "TIMESTAMP_MS" else f'"{name}"'
            return (
                f"CASE WHEN isfinite({stamp}) THEN epoch_us({stamp}) "
                f"WHEN {stamp} IS NOT NULL THEN {2**62} END"
            )
        case "JSON":
            return f'CAST("{name}" AS VARCHAR)'
        case _:
            return f'"{name}"'


def _raw(name: str, value: Any) -> object:
    if TYPES[name].startswith("TIMESTAMP") and value is not None:
        return times.from_micros(value)

    return value
