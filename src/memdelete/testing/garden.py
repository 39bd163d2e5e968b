"""
A store that has one of everything, to hold operations against.

Notes with tags in JSON, a join table and a tombstone; edges with an entity at one end, a JSON
array of references, chunks, an event log, full text over external content and with text of its
own, odd columns; and, where sqlite-vec is there, vectors.
"""

from __future__ import annotations

import hashlib
import math
import struct

from collections.abc import Iterator

from memdelete.codec import write_json
from memdelete.schema import (
    Collection,
    Edges,
    End,
    FullText,
    Ledger,
    References,
    Rows,
    Sidecar,
    Store,
    Vectors,
)
from memdelete.tags import JSONArray
from memdelete.times import EpochSeconds


__all__ = ["SCHEMA", "VECTORS", "planting", "store"]

SCHEMA = (
    """
    CREATE TABLE notes (
        id INTEGER PRIMARY KEY,
        sha TEXT NOT NULL UNIQUE,
        body TEXT NOT NULL,
        labels TEXT,
        project TEXT COLLATE NOCASE,
        owner TEXT,
        weight,
        image BLOB,
        shout TEXT GENERATED ALWAYS AS (upper(body)) VIRTUAL,
        created REAL,
        touched REAL,
        deleted REAL
    )
    """,
    "CREATE INDEX notes_created ON notes (created)",
    "CREATE TABLE links (source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT, PRIMARY KEY (source, target))",
    "CREATE TABLE chunks (note INTEGER NOT NULL, part INTEGER NOT NULL, words TEXT) STRICT",
    "CREATE TABLE beliefs (id INTEGER PRIMARY KEY, derived TEXT NOT NULL DEFAULT '[]')",
    "CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, op TEXT, sha TEXT, at REAL)",
    "CREATE VIRTUAL TABLE words USING fts5(body, content='notes', content_rowid='id')",
    """
    CREATE TRIGGER words_ai AFTER INSERT ON notes BEGIN
        INSERT INTO words(rowid, body) VALUES (new.id, new.body);
    END
    """,
    """
    CREATE TRIGGER words_ad AFTER DELETE ON notes BEGIN
        DELETE FROM words WHERE rowid = old.id;
    END
    """,
    "CREATE VIRTUAL TABLE titles USING fts5(title)",
)
"""The tables, statement by statement. `words` has the plain trigger that leaves ghosts behind."""

VECTORS = "CREATE VIRTUAL TABLE vectors USING vec0(embedding float[4], owner TEXT partition key, +note TEXT)"
"""The vector table."""


def store(*, vectors: bool = True) -> Store:
    """
    The garden's mapping; with *vectors* only where the vector table was made.
    """
    return Store(
        name="garden",
        collections=[
            Collection(
                table="notes",
                key="id",
                hash="sha",
                tags=JSONArray("labels"),
                times={"created_at": EpochSeconds("created")},
                tombstone=EpochSeconds("deleted"),
                touch=[EpochSeconds("touched")],
                fields={"project": "project", "owner": "owner", "body": "body"},
                content=["body"],
                sidecars=tuple(_sidecars(vectors=vectors)),
            )
        ],
    )


def planting(count: int = 20, *, vectors: bool = True) -> Iterator[tuple[str, tuple[object, ...]]]:
    """
    The statements, with ``?`` parameters, that fill the garden with *count* notes.
    """
    shas = [hashlib.sha256(str(number).encode()).hexdigest()[:12] for number in range(count)]
    odd = (
        None,
        "",
        -0.0,
        2**63 - 1,
        0.1 + 0.2,
        b"\x00\xff",
        "7",
        "nul\0 in it",
        math.pi,
        "日本語",
        -1,
    )
    for number, sha in enumerate(shas):
        tags = [f"t{number % 3}", "all"] + ["it's"] * (number % 4 == 0)
        yield (
            (
                "INSERT INTO notes (id, sha, body, labels, project, owner, weight, image, created, touched, deleted)"
                " VALUES (?,?,?,?,?,?,?,?,?,?,?)"
            ),
            (
                number + 1,
                sha,
                f"note {number} about word{number % 5} and \N{SNOWMAN}",
                write_json(tags),
                ("Alpha", "beta", None)[number % 3],
                ("ana", "bob")[number % 2],
                odd[number % len(odd)],
                bytes([number % 256]) * (number % 100),
                1_700_000_000 + number * 3600.25,
                1_700_000_000.5,
                1_710_000_000.0 if number == count - 1 else None,
            ),
        )
        yield "INSERT INTO chunks VALUES (?, ?, ?)", (number + 1, 0, f"chunk of {number}")
        yield "INSERT INTO titles(rowid, title) VALUES (?, ?)", (number + 1, f"title{number} own")
        if vectors:
            blob = struct.pack("<4f", number, 1.0, -0.5, number / 7)
            yield (
                "INSERT INTO vectors(rowid, embedding, owner, note) VALUES (?,?,?,?)",
                (number + 1, blob, ("ana", "bob")[number % 2], f"aux {number}"),
            )
    for number in range(count - 2):  # the last note is a tombstone without edges
        yield (
            "INSERT INTO links VALUES (?,?,?)",
            (shas[number], shas[(number + 1) % (count - 1)], "next"),
        )
        yield "INSERT INTO links VALUES (?,?,?)", (shas[number], f"entity {number}", "has_entity")
    yield "INSERT INTO links VALUES (?,?,?)", (shas[0], "a hash of nothing", None)
    yield "INSERT INTO beliefs (derived) VALUES (?)", (write_json(shas[:6]),)
    yield "INSERT INTO beliefs (derived) VALUES (?)", (write_json(["elsewhere", shas[2]]),)
    yield "INSERT INTO beliefs (derived) VALUES (?)", ("not json",)
    yield "INSERT INTO events (op, sha, at) VALUES ('create', ?, 1.0)", (shas[0],)


def _sidecars(*, vectors: bool) -> Iterator[Sidecar]:
    if vectors:
        yield Vectors("vectors")
    yield FullText("words")
    yield FullText("titles")
    yield Edges("links", (End("source"), End("target", unless="kind", values=("has_entity",))))
    yield Rows("chunks", "note")
    yield References("beliefs", "id", "derived")
    yield Ledger(
        "events",
        deleted={"op": "'delete'", "sha": "notes.sha", "at": ":now"},
        restored={"op": "'restore'", "sha": "notes.sha", "at": ":now"},
    )
