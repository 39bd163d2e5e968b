"""
PostgreSQL on the bench: arrays, jsonb, collations, and text that is nothing it claims to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from memdelete import tags, times
from memdelete.memories import UNKNOWN
from memdelete.schema import Collection, Field, LiveColumn, LiveSchema, LiveTable
from memdelete.sql.render import Statement
from memdelete.testing.oddities import HASHES, INTEGERS, REALS
from memdelete.testing.strategies import stored_tags, stored_texts, stored_times


TIMES: Mapping[str, times.TimeEncoding] = {
    "iso": times.ISOText("iso"),
    "strict": times.ISOText("strict", naive="unknown"),
    "zoned": times.Native("zoned"),
    "naive": times.Native("naive", zoned=False),
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
    "small": Field("small", "integer"),
    "real": Field("real", "real"),
    "exact": Field("exact"),
    "flag": Field("flag", "boolean"),
}
STORAGES: Mapping[str, tags.TagStorage] = {
    "comma": tags.CommaText("comma"),
    "semi": tags.CommaText("semi", separator=";"),
    "slash": tags.CommaText("slash", separator="\\"),
    "json": tags.JSONArray("json"),
    "plain_json": tags.JSONArray("plain_json"),
    "jsonb": tags.JSONArray("jsonb"),
    "array": tags.NativeArray("array"),
    "varchars": tags.NativeArray("varchars"),
    "labels": tags.JoinTable("labels", "memory", "tag"),
    "by_hash": tags.JoinTable("by_hash", "memory", "tag", by="hash"),
    "named": tags.JoinTable(
        "named", "memory", "tag", names=tags.TagNames("names", key="id", name="name")
    ),
}
NUMBERS = {"integer": "bigint", "real": "double precision", "text": "text"}
# The types as the catalogue tells them, and the collations that are not the default.
TYPES = {
    "id": ("integer", None),
    "slug": ("text", "pg_c_utf8"),
    "num": ("bigint", None),
    "hash": ("character varying(20)", None),
    "folded_hash": ("text", "pg_c_utf8"),
    "text": ("text", None),
    "folded": ("text", "pg_c_utf8"),
    "whole": ("bigint", None),
    "small": ("smallint", None),
    "real": ("double precision", None),
    "exact": ("numeric", None),
    "flag": ("boolean", None),
    "comma": ("text", None),
    "semi": ("text", "pg_c_utf8"),
    "slash": ("text", None),
    "json": ("text", None),
    "plain_json": ("json", None),
    "jsonb": ("jsonb", None),
    "array": ("text[]", None),
    "varchars": ("character varying[]", None),
    "iso": ("text", None),
    "strict": ("text", "C"),
    "zoned": ("timestamp with time zone", None),
    "naive": ("timestamp without time zone", None),
    **{name: (NUMBERS[name.partition("_")[2]], None) for name in TIMES if "_" in name},
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
    odd = ("infinity", "-infinity", "0044-03-15 12:00:00 BC", "12024-01-01", "0001-01-01")

    return stored_times(times.Native("x")).map(_utc) | st.sampled_from((None, *odd))


def _utc(at: Any) -> object:
    return at and at.isoformat(" ").replace("+00:00", "+00")


def _nested() -> st.SearchStrategy[object]:
    several = stored_tags(tags.NativeArray("x"))

    return several | st.sampled_from((["{a}"], [["a", "b"], ["b", "a"]]))


def _jsonb() -> st.SearchStrategy[object]:
    odd = ("null", "{}", '{"a": 1}', '"a"', '""', "7", "[]", '["a", 1]', '["a", null]', '[["a"]]')

    return stored_tags(tags.JSONArray("x"), loose=False).filter(_reads) | st.sampled_from(odd)


def _reads(text: object) -> bool:
    return text is None or (tags.JSONArray("x").decode(text) is not UNKNOWN and text != "")


class PostgresBench:
    """
    PostgreSQL by psycopg; rows are written in transactions that are never committed.
    """

    dialect = "postgres"
    paramstyle = "format"
    loose = False
    texts = frozenset(name for name, (declared, _) in TYPES.items() if declared == "text")
    collections = (
        _collection("id", "comma"),
        _collection("id", "array"),
        _collection("slug", "semi", "folded_hash"),
        _collection("num", "slash"),
        _collection(("slug", "num"), "json"),
        _collection("id", "plain_json"),
        _collection("id", "jsonb"),
        _collection("slug", "varchars"),
        _collection("id", "labels"),
        _collection("slug", "by_hash", "hash"),
        _collection("id", "named"),
    )
    live = LiveSchema(
        "postgres",
        {
            "memories": LiveTable(
                "memories",
                columns=tuple(
                    LiveColumn(name, type=declared, collation=collation)
                    for name, (declared, collation) in TYPES.items()
                ),
            )
        },
        version=(18,),
    )
    kinds: Mapping[str, str] = {"exact": "numeric"}
    guessed_kinds: Mapping[str, str] = {"exact": "unknown"}
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
        "text": stored_texts(loose=False),
        "folded": stored_texts(loose=False),
        "whole": st.sampled_from((None, *INTEGERS)),
        "small": st.sampled_from((None, 0, 1, 2, -1)),
        "real": st.sampled_from((None, float("nan"), float("inf"), float("-inf"), *REALS)),
        "exact": st.sampled_from(
            (None, *map(Decimal, ("NaN", "Infinity", "0.1", "1.0", "2.5", "0.30")), *INTEGERS)
        ),
        "flag": st.sampled_from((None, True, False)),
        **{
            name: stored_tags(storage, loose=False)
            for name, storage in STORAGES.items()
            if name not in {"array", "varchars", "jsonb", "plain_json"}
        },
        "plain_json": _jsonb() | st.sampled_from(('["\\ud83d"]', '["a\\u0000"]', '["\\\\u0000"]')),
        "jsonb": _jsonb(),
        "array": _nested(),
        "varchars": _nested(),
        **{name: stored_times(encoding, loose=False) for name, encoding in TIMES.items()},
        "zoned": _stamps(),
        "naive": _stamps().map(lambda text: text and str(text).replace("+00", "")),
    }

    def __init__(self, psycopg: ModuleType, dsn: str, zone: str = "America/New_York") -> None:
        self.connection = psycopg.connect(dsn)
        # Nothing may depend on what the session happens to be set to.
        self.execute(f"SET TIME ZONE '{zone}'")
        self.execute("SET DateStyle = 'German'")
        self.execute("CREATE SCHEMA oracle")
        self.execute("SET search_path = oracle")
        columns = ", ".join(
            f'"{name}" {declared}{f" COLLATE {chr(34)}{collation}{chr(34)}" * bool(collation)}'
            for name, (declared, collation) in TYPES.items()
        )
        self.execute(f"CREATE TABLE memories ({columns})")
        for name in ("slug", "text", "iso", "zoned", "s_real", "hash"):
            self.execute(f'CREATE INDEX ON memories ("{name}")')
        for name in ("array", "jsonb"):
            self.execute(f'CREATE INDEX ON memories USING gin ("{name}")')
        self.execute("CREATE TABLE labels (memory integer, tag text)")
        self.execute("CREATE TABLE by_hash (memory text, tag text)")
        self.execute("CREATE TABLE named (memory integer, tag integer)")
        self.execute("CREATE TABLE names (id integer PRIMARY KEY, name text)")
        self.connection.commit()

    def close(self) -> None:
        """
        Leave nothing behind.
        """
        self.connection.rollback()
        self.execute("DROP SCHEMA oracle CASCADE")
        self.connection.commit()
        self.connection.close()

    def execute(self, sql: str, params: Any = None) -> list[tuple[Any, ...]]:
        """
        Run one statement.
        """
        cursor = self.connection.execute(sql, params)

        return list(cursor.fetchall()) if cursor.description else []

    def write(self, collection: Collection, rows: Sequence[Mapping[str, object]]) -> None:
        storage = collection.tags
        self.connection.rollback()
        for number, row in enumerate(rows, 1):
            values = {name: value for name, value in row.items() if name in TYPES} | {"id": number}
            names = ", ".join(f'"{name}"' for name in values)
            gaps = ", ".join(f"%s::{TYPES[name][0]}" for name in values)
            self.execute(f"INSERT INTO memories ({names}) VALUES ({gaps})", tuple(values.values()))
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
                    self.execute("INSERT INTO names VALUES (%s, %s)", (held, tag))
            self.execute(f"INSERT INTO {storage.table} VALUES (%s, %s)", (owner, held))

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
            tag for (tag,) in self.execute(f"SELECT {tag} FROM {table} WHERE memory = %s", (owner,))
        ]

    def selected(self, where: Statement) -> list[int]:
        rows = self.execute(f"SELECT id FROM memories WHERE {where.sql} ORDER BY id", where.params)

        return [key for (key,) in rows]

    def left(self, where: Statement) -> list[int]:
        self.execute("SAVEPOINT whole")
        self.execute(f"DELETE FROM memories WHERE {where.sql}", where.params)
        rows = self.execute("SELECT id FROM memories ORDER BY id")
        self.execute("ROLLBACK TO SAVEPOINT whole")
        self.execute("RELEASE SAVEPOINT whole")

        return [key for (key,) in rows]


def _selected(name: str) -> str:
    match TYPES[name][0]:
        case "json" | "jsonb":
            return f'"{name}"::text'
        case "timestamp with time zone":
            # The driver has no words for infinity or for years of five digits.
            return f'extract(epoch FROM "{name}")'
        case "timestamp without time zone":
            return f"extract(epoch FROM \"{name}\" AT TIME ZONE 'UTC')"
        case _:
            return f'"{name}"'


def _raw(name: str, value: Any) -> object:
    match TYPES[name][0], value:
        case (("timestamp with time zone" | "timestamp without time zone"), Decimal()):
            if not value.is_finite():
                return UNKNOWN
            return times.from_micros(int(value * 1_000_000))
        case _:
            return value
