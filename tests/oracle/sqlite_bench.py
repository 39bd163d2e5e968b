"""
SQLite on the bench: every storage class in every column that lets it in.
"""

from __future__ import annotations

import sqlite3

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from memdelete import tags, times
from memdelete.schema import Collection, Field, LiveColumn, LiveSchema, LiveTable
from memdelete.sql.render import Statement
from memdelete.testing.oddities import HASHES, NUMBERS
from memdelete.testing.strategies import stored_tags, stored_texts, stored_times
from tests.conftest import require


TIMES = {
    "iso": times.ISOText("iso"),
    "strict": times.ISOText("strict", naive="unknown"),
    "odd": times.EpochSeconds("odd"),
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
    "nocase": Field("nocase", "text"),
    "rtrim": Field("rtrim", "text"),
    "whole": Field("whole", "integer"),
    "real": Field("real", "real"),
    "flag": Field("flag", "boolean"),
    "loose": Field("loose"),
    "number": Field("number"),
}
TAGS = {
    "comma": tags.CommaText("comma"),
    "semi": tags.CommaText("semi", separator=";"),
    "quote": tags.CommaText("quote", separator='"'),
    "slash": tags.CommaText("slash", separator="\\"),
    "line": tags.CommaText("line", separator="\n"),
    "json": tags.JSONArray("json"),
    "bare": tags.JSONArray("bare"),
    "labels": tags.JoinTable("labels", "memory", "tag"),
    "by_hash": tags.JoinTable("by_hash", "memory", "tag", by="hash"),
    "named": tags.JoinTable(
        "named", "memory", "tag", names=tags.TagNames("names", key="id", name="name")
    ),
}
TYPES = {
    "id": "INTEGER",
    "slug": "TEXT COLLATE NOCASE",
    "num": "INTEGER",
    "any_key": "",
    "hash": "TEXT COLLATE RTRIM",
    "folded_hash": "TEXT COLLATE NOCASE",
    "text": "TEXT",
    "nocase": "TEXT COLLATE NOCASE",
    "rtrim": "VARCHAR(9) COLLATE RTRIM",
    "whole": "INTEGER",
    "real": "REAL",
    "flag": "BOOLEAN",
    "loose": "",
    "number": "NUMERIC",
    "bare": "",
    "strict": "",
    "odd": "TEXT",  # numbers become text here, so no row has a time
    "iso": "TEXT",
    **dict.fromkeys(("comma", "semi", "quote", "slash", "line", "json"), "TEXT"),
    **{name: name.partition("_")[2].upper() for name in TIMES if "_" in name},
}
INDEXED = ("slug", "num", "any_key", "hash", "text", "nocase", "iso", "s_real", "s_integer")
KEYS = {
    ("id",): (1, 2, 3, 99),
    ("slug",): ("a", "A", "1", "1x", "b "),
    ("any_key",): (1, 2, "1", "1x", "a", "A", 2**63 - 1, -(2**63)),
    ("slug", "num"): (("a", 1), ("A", 1), ("1", 2), ("a", -(2**63))),
    ("num", "any_key"): ((1, "a"), (1, 1), (2, "1"), (1, "A")),
}


def _collection(key: Any, storage: str, hash_: str = "hash") -> Collection:
    return Collection(
        name=storage,
        table="memories",
        key=key,
        hash=hash_,
        tags=TAGS[storage],
        times=TIMES,
        fields=FIELDS,
    )


def _live(name: str, columns: Mapping[str, str]) -> LiveTable:
    return LiveTable(
        name,
        columns=tuple(
            LiveColumn(
                column,
                type=declared.partition(" COLLATE")[0],
                collation=declared.partition("COLLATE ")[2] or "BINARY",
            )
            for column, declared in columns.items()
        ),
    )


class SQLiteBench:
    """
    SQLite as the standard library brings it.
    """

    dialect = "sqlite"
    paramstyle = "qmark"
    loose = True
    texts = frozenset({*TYPES})
    collections = (
        _collection("id", "comma"),
        _collection("id", "json"),
        _collection("slug", "semi", "folded_hash"),
        _collection("any_key", "quote"),
        _collection(("slug", "num"), "slash"),
        _collection(("num", "any_key"), "bare", "folded_hash"),
        _collection("slug", "line"),
        _collection("id", "labels"),
        _collection(("slug", "num"), "by_hash", "folded_hash"),
        _collection("id", "named"),
    )
    live = LiveSchema("sqlite", {"memories": _live("memories", TYPES)}, version=(3,))
    kinds: Mapping[str, str] = {"loose": "any", "number": "any"}
    guessed_kinds: Mapping[str, str] = kinds
    keys = KEYS
    cells: Mapping[str, st.SearchStrategy[Any]] = {
        "slug": st.sampled_from((None, "a", "A", "1", "1x", "b ", "b", b"a")),
        "num": st.sampled_from((None, 1, 2, 1.5, "1x", -(2**63))),
        "any_key": st.sampled_from((None, 1, 2, 1.0, "1", "1x", "a", "A", b"a", 2**63 - 1)),
        "hash": st.sampled_from((None, b"abc", *HASHES)),
        "folded_hash": st.sampled_from((None, b"abc", *HASHES)),
        "text": stored_texts(),
        "nocase": stored_texts(),
        "rtrim": stored_texts(),
        "whole": st.sampled_from((None, "x", "1", b"1", float("inf"), *NUMBERS)),
        "real": st.sampled_from((None, "x", b"1", float("inf"), float("-inf"), *NUMBERS)),
        "flag": st.sampled_from((None, 0, 1, 2, 0.5, "x", "true", b"1")),
        "loose": stored_texts() | st.sampled_from(NUMBERS),
        "number": stored_texts() | st.sampled_from(NUMBERS),
        **{name: stored_tags(storage) for name, storage in TAGS.items()},
        **{name: stored_times(encoding) for name, encoding in TIMES.items()},
    }

    def __init__(self) -> None:
        self.connection = self.connect()
        columns = ", ".join(f'"{name}" {declared}' for name, declared in TYPES.items())
        self.execute(f"CREATE TABLE memories ({columns})")
        for name in INDEXED:
            self.execute(f'CREATE INDEX "{name}_index" ON memories ("{name}")')
        self.execute("CREATE TABLE labels (memory TEXT, tag TEXT COLLATE NOCASE)")
        self.execute("CREATE INDEX labels_index ON labels (memory, tag)")
        self.execute("CREATE TABLE by_hash (memory TEXT, tag)")
        self.execute("CREATE TABLE named (memory INTEGER, tag INTEGER)")
        self.execute("CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT)")

    def connect(self) -> Any:
        """
        A connection of the driver, to an empty database.
        """
        return sqlite3.connect(":memory:", isolation_level=None)

    def execute(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
        """
        Run one statement.
        """
        return list(self.connection.execute(sql, params))

    def write(self, collection: Collection, rows: Sequence[Mapping[str, object]]) -> None:
        storage = collection.tags
        for emptied in ("memories", "labels", "by_hash", "named", "names"):
            self.execute(f"DELETE FROM {emptied}")
        for number, row in enumerate(rows, 1):
            values = {name: value for name, value in row.items() if name in TYPES} | {"id": number}
            names = ", ".join(f'"{name}"' for name in values)
            gaps = ", ".join("?" * len(values))
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
                if tag is not None:  # else the name is missing altogether
                    self.execute("INSERT INTO names VALUES (?, ?)", (held, tag))
            self.execute(f"INSERT INTO {storage.table} VALUES (?, ?)", (owner, held))

    def read(self, collection: Collection, names: Sequence[str]) -> list[dict[str, object]]:
        listed = ", ".join(f'"{name}"' for name in names)
        rows = self.execute(f"SELECT {listed} FROM memories ORDER BY id")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        if isinstance(collection.tags, tags.JoinTable):
            for number, row in enumerate(found, 1):
                row["tags of its own"] = self._ties(collection.tags, collection, number, row)

        return found

    def _ties(
        self, storage: tags.JoinTable, collection: Collection, number: int, row: Mapping[str, Any]
    ) -> list[object]:
        table, owner = storage.table, number
        if storage.by == "hash":
            owner = row[str(collection.hash)]
        tag = f"(SELECT name FROM names WHERE id = {table}.tag)" if storage.names else "tag"

        return [
            tag for (tag,) in self.execute(f"SELECT {tag} FROM {table} WHERE memory = ?", (owner,))
        ]

    def selected(self, where: Statement) -> list[int]:
        rows = self.execute(f"SELECT id FROM memories WHERE {where.sql} ORDER BY id", where.params)

        return [key for (key,) in rows]

    def left(self, where: Statement) -> list[int]:
        self.execute("BEGIN")
        self.execute(f"DELETE FROM memories WHERE {where.sql}", where.params)
        rows = self.execute("SELECT id FROM memories ORDER BY id")
        self.execute("ROLLBACK")

        return [key for (key,) in rows]


class NewestBench(SQLiteBench):
    """
    SQLite as apsw brings it: the newest.
    """

    def connect(self) -> Any:
        return require("apsw").Connection(":memory:")
