"""
The store that `memdelete demo` makes, and an example of how a small store is written.

A table of notes with JSON tags, an external-content full-text index with canonical triggers,
links between notes, and a vector table where sqlite-vec is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from memdelete.schema import Collection, Edges, End, FullText, LiveSchema, Sidecar, Store, Vectors
from memdelete.tags import JSONArray
from memdelete.times import EpochSeconds


__all__ = ["NAME", "SCHEMA", "VECTORS", "recognise"]

NAME = "memdelete-demo"

SCHEMA = """
CREATE TABLE demo_notes (
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    tags TEXT NOT NULL DEFAULT '[]',
    project TEXT,
    created REAL NOT NULL,
    deleted REAL
);
CREATE INDEX demo_notes_created ON demo_notes (created);
CREATE TABLE demo_links (source TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (source, target));
CREATE VIRTUAL TABLE demo_text USING fts5(body, content='demo_notes', content_rowid='id');
CREATE TRIGGER demo_text_insert AFTER INSERT ON demo_notes BEGIN
    INSERT INTO demo_text(rowid, body) VALUES (new.id, new.body);
END;
CREATE TRIGGER demo_text_delete AFTER DELETE ON demo_notes BEGIN
    INSERT INTO demo_text(demo_text, rowid, body) VALUES ('delete', old.id, old.body);
END;
CREATE TRIGGER demo_text_update AFTER UPDATE OF body ON demo_notes BEGIN
    INSERT INTO demo_text(demo_text, rowid, body) VALUES ('delete', old.id, old.body);
    INSERT INTO demo_text(rowid, body) VALUES (new.id, new.body);
END;
"""
"""The tables of the demo, as a script."""

VECTORS = "CREATE VIRTUAL TABLE demo_vectors USING vec0(embedding float[8])"
"""The vector table, made where sqlite-vec is there."""


def recognise(live: LiveSchema) -> Store | None:
    """
    The demo's store, with its vectors where they are.
    """
    if not live.has("demo_notes", "id", "hash", "body", "tags", "created", "deleted"):
        return None

    return Store(
        name=NAME,
        collections=[
            Collection(
                table="demo_notes",
                name="notes",
                key="id",
                hash="hash",
                tags=JSONArray("tags"),
                times={"created_at": EpochSeconds("created")},
                tombstone=EpochSeconds("deleted"),
                fields={"project": "project", "body": "body"},
                content=["body"],
                sidecars=tuple(_sidecars(live)),
            )
        ],
    )


def _sidecars(live: LiveSchema) -> Iterator[Sidecar]:
    if live.table("demo_vectors"):
        yield Vectors("demo_vectors")
    yield FullText("demo_text")
    yield Edges("demo_links", (End("source"), End("target")))
