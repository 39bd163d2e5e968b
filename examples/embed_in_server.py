# ruff: noqa: INP001, T201 - a script, and it prints
"""
A memory server that lets memdelete do its forgetting: an async server with a store of its own.

The store is described once, as data. The server keeps its one connection and lends it for each
operation; memdelete works in a transaction of its own, or within the server's.

Run it: python examples/embed_in_server.py
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile

from pathlib import Path

import aiosqlite

from memdelete import (
    AsyncDeleter,
    Before,
    Collection,
    Edges,
    End,
    Filter,
    FullText,
    Hash,
    Receipt,
    Refused,
    Store,
    Tags,
    field,
    tags,
    times,
)
from memdelete.backends.aiosqlite import AioSQLite


SCHEMA = """
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    sha TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    labels TEXT NOT NULL DEFAULT '[]',
    user_id TEXT NOT NULL,
    created REAL NOT NULL,
    deleted REAL
);
CREATE TABLE links (source TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (source, target));
CREATE VIRTUAL TABLE words USING fts5(body, content='notes', content_rowid='id');
CREATE TRIGGER words_insert AFTER INSERT ON notes BEGIN
    INSERT INTO words(rowid, body) VALUES (new.id, new.body);
END;
CREATE TRIGGER words_delete AFTER DELETE ON notes BEGIN
    INSERT INTO words(words, rowid, body) VALUES ('delete', old.id, old.body);
END;
CREATE TRIGGER words_update AFTER UPDATE OF body ON notes BEGIN
    INSERT INTO words(words, rowid, body) VALUES ('delete', old.id, old.body);
    INSERT INTO words(rowid, body) VALUES (new.id, new.body);
END;
"""

STORE = Store(
    name="notes",
    collections=[
        Collection(
            table="notes",
            key="id",
            hash="sha",
            tags=tags.JSONArray("labels"),
            times={"created_at": times.EpochSeconds("created")},
            tombstone=times.EpochSeconds("deleted"),
            fields={"owner": "user_id"},
            content=["body"],
            sidecars=[FullText("words"), Edges("links", (End("source"), End("target")))],
        )
    ],
)


class NotesServer:
    """
    As much of a server as it takes: it writes, searches and forgets notes of its users.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self.connection = connection
        self.lock = asyncio.Lock()  # held around each of the server's own transactions

    async def start(self) -> None:
        """
        Make the tables, and room for memdelete's journal and bins before anybody needs them.
        """
        await self.connection.executescript(SCHEMA)
        await self.memories_of("nobody").prepare()

    def memories_of(self, user: str) -> AsyncDeleter:
        """
        A deleter that cannot reach beyond the notes of *user*, nor take what is pinned.
        """
        return AsyncDeleter(
            AioSQLite(self.connection, lock=self.lock),
            STORE,
            scope=field("owner").eq(user),
            protect=Tags(any=["pinned"]),
            at_most=1000,
            actor=user,
        )

    async def remember(self, user: str, body: str, labels: list[str], created: float) -> str:
        """
        Write a note, and answer its hash.
        """
        sha = hashlib.sha256(f"{user}\n{body}".encode()).hexdigest()
        async with self.lock:
            await self.connection.execute(
                "INSERT INTO notes (sha, body, labels, user_id, created) VALUES (?, ?, ?, ?, ?)",
                (sha, body, json.dumps(labels), user, created),
            )
            await self.connection.commit()

        return sha

    async def forget(self, user: str, what: Filter) -> Receipt:
        """
        What a tool of the server calls: see first, then exactly that.
        """
        memories = self.memories_of(user)
        preview = await memories.preview(what)
        print(preview)

        return await memories.delete(preview, reason="asked by the user")

    async def forget_and_tell(self, user: str, sha: str) -> Receipt:
        """
        Forget within a transaction of the server's, so that both things happen or none.
        """
        async with self.lock:
            await self.connection.execute("BEGIN IMMEDIATE")
            await self.connection.execute(
                "INSERT INTO notes (sha, body, user_id, created) VALUES (?, ?, ?, ?)",
                (f"told-{sha}", "A note was forgotten.", user, 1_764_547_200.0),
            )
            inside = AsyncDeleter(AioSQLite(self.connection, transaction=True), STORE)
            receipt = await inside.delete(Hash(sha))
            await self.connection.commit()

        return receipt


async def main(path: Path) -> None:
    """
    A short day of a server.
    """
    async with aiosqlite.connect(path) as connection:
        server = NotesServer(connection)
        await server.start()
        await server.remember("ana", "Try the new tokenizer.", ["draft"], 1_685_577_600.0)
        await server.remember(
            "ana", "The API freeze is in May.", ["draft", "pinned"], 1_685_577_600.0
        )
        await server.remember("bo", "Bo's own draft.", ["draft"], 1_685_577_600.0)
        last = await server.remember("ana", "Lunch on Friday.", [], 1_764_547_200.0)

        receipt = await server.forget("ana", Tags(any=["draft"]) & Before("2024-01-01"))
        print(receipt)  # one: not the pinned one, not Bo's
        print(await server.memories_of("ana").restore(receipt))

        try:
            await server.memories_of("bo").restore(receipt.operation)
        except Exception as error:  # noqa: BLE001 - shown, whatever it is
            print(f"Bo cannot take it back: {error}")
        try:
            await server.memories_of("ana").delete(Tags(any=["draft"]), at_most=0)
        except Refused as refused:
            print(f"Refused: {refused}")

        receipt = await server.forget_and_tell("ana", last)
        print(f"durable by itself: {receipt.durable}")  # False: it was the server's transaction


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder, "notes.db")))
