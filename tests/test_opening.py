"""
From whatever you have to a deleter: what is opened, what is refused, and that nothing is touched.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sqlite3

from contextlib import closing

import pytest

from memdelete import AsyncDeleter, Deleter, opening
from memdelete.backends.sqlite import SQLite
from memdelete.errors import BackendError, StoreError
from memdelete.filters import Hash, Key
from memdelete.schema import Collection, Store, Vectors
from tests.conftest import require


NOTES = Store(name="notes", collections=[Collection(table="notes", key="id", hash="sha")])
WITH_VECTORS = Store(
    name="notes",
    collections=[Collection(table="notes", key="id", hash="sha", sidecars=[Vectors("v")])],
)
SCHEMA = (
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, sha VARCHAR(8) UNIQUE, body TEXT)",
    "INSERT INTO notes VALUES (1, 'a', 'one'), (2, 'b', 'two')",
)


def filled(connection):
    """
    The same connection, with a small store in it.
    """
    for statement in SCHEMA:
        connection.execute(statement)

    return connection


@pytest.fixture
def path(tmp_path):
    """
    A small store of nobody's product.
    """
    path = tmp_path / "a b.db"
    connection = filled(sqlite3.connect(path))
    connection.commit()
    connection.close()

    return path


@pytest.fixture
def real(shared_dir, tmp_path):
    """
    A copy of a file that mcp-memory-service wrote.
    """
    copy = tmp_path / "memory.db"
    shutil.copyfile(shared_dir / "stores" / "mcp-memory-service-12.4.db", copy)

    return copy


def url_of(conninfo):
    """
    The URL of a server that listens in a folder.
    """
    said = require("psycopg").conninfo.conninfo_to_dict(conninfo)

    return f"postgresql:///{said['dbname']}?host={said['host']}&user={said['user']}"


def columns(live):
    """
    The names of the columns that were found.
    """
    return [column.name for column in live.tables["notes"].columns]


def matched(deleter):
    """
    How many memories one hash matches; the deleter is closed.
    """
    with deleter:
        return deleter.preview(Hash("a")).matched


@pytest.mark.parametrize(
    "spelled",
    [
        lambda path: path,
        str,
        lambda path: f"sqlite:///{str(path).replace(' ', '%20')}",
        lambda path: f"sqlite+pysqlite:///{path}",
    ],
    ids=["path", "text", "url", "driver"],
)
def test_paths_and_urls(path, spelled):
    """
    A path, as text too, and a URL open the same file.
    """
    assert 1 == matched(opening.open(spelled(path), store=NOTES))


def test_relative_paths(path, monkeypatch):
    """
    A relative path is relative to where one stood when it was opened.
    """
    monkeypatch.chdir(path.parent)
    deleters = [opening.open("a b.db", store=NOTES), opening.open("sqlite:///a b.db", store=NOTES)]
    monkeypatch.chdir("/")

    assert [1, 1] == [matched(deleter) for deleter in deleters]


@pytest.mark.parametrize("name", ["sqlite3", "pysqlite3", "sqlean", "apsw", "duckdb"])
def test_connections(name):
    """
    A connection is recognised by who made it, and stays open.
    """
    module = require(name)
    connection = module.Connection(":memory:") if name == "apsw" else module.connect(":memory:")
    filled(connection)

    with opening.open(connection, store=NOTES) as memories:
        assert ["id", "sha", "body"] == columns(memories.backend.introspect())
    assert 2 == connection.execute("SELECT count(*) FROM notes").fetchone()[0]
    connection.close()


def test_a_connection_of_a_class_of_your_own():
    """
    A subclass of a known connection is one too.
    """

    class Mine(sqlite3.Connection):
        pass

    connection = filled(sqlite3.connect(":memory:", factory=Mine))

    assert 1 == matched(opening.open(connection, store=NOTES))
    connection.close()


def test_duckdb_url(tmp_path):
    """
    A DuckDB file is opened by its URL, and named as such by its bare path.
    """
    path = tmp_path / "notes.duckdb"
    filled(require("duckdb").connect(path)).close()

    with opening.open(f"duckdb:///{path}", store=NOTES) as memories:
        assert ["id", "sha", "body"] == columns(memories.backend.introspect())
    with pytest.raises(StoreError, match="this is a DuckDB file; pass duckdb:///"):
        opening.open(path, store=NOTES)


def test_postgres_url_and_connection(postgres_database):
    """
    PostgreSQL is opened by its URL or with a connection.
    """
    psycopg = require("psycopg")
    with psycopg.connect(postgres_database) as connection:
        filled(connection)
    with psycopg.connect(postgres_database) as connection:
        deleters = [
            opening.open(url_of(postgres_database), store=NOTES),
            opening.open(connection, store=NOTES),
        ]

        assert [["id", "sha", "body"]] * 2 == [
            columns(deleter.backend.introspect()) for deleter in deleters
        ]
        for deleter in deleters:
            deleter.close()
        assert not connection.closed


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "there is no such file"),
        (b"", "the file is empty"),
        (b"SQLite", "no SQLite database, or it is encrypted"),
        (b"\x8f\x13" * 4096, "no SQLite database, or it is encrypted"),
    ],
)
def test_what_is_no_store(tmp_path, content, sentence):
    """
    A file that is none is told in one sentence that names it, and left as it was.
    """
    path = tmp_path / "memory.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreError, match=sentence) as caught:
        opening.open(path)

    assert str(path) in str(caught.value)
    assert content == (path.read_bytes() if path.exists() else None)


def test_a_folder(tmp_path):
    """
    A folder is no store.
    """
    with pytest.raises(StoreError, match="this is a folder"):
        opening.open(tmp_path)


def test_a_damaged_file(path):
    """
    A file that only looks like a database is an error of the engine's, in a sentence.
    """
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 8000)
    with pytest.raises(BackendError, match=r"damaged|no SQLite database"):
        opening.open(path)


def test_a_deleter_wants_a_backend(path):
    """
    A connection, a path or a backend of the other colour is refused, with what would do.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        for front in (Deleter, AsyncDeleter):
            with pytest.raises(StoreError, match=r"a Connection is no backend; memdelete\.open"):
                front(connection, NOTES)
            with pytest.raises(StoreError, match="is no backend"):
                front(path, NOTES)
    with pytest.raises(StoreError, match="give it to Deleter"):
        AsyncDeleter(SQLite(path), NOTES)
    require("aiosqlite")
    from memdelete.backends.aiosqlite import AioSQLite

    with pytest.raises(StoreError, match="give it to AsyncDeleter"):
        Deleter(AioSQLite(path), NOTES)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (":memory:", "in memory"),
        ("", "names no file"),
        (" ", "names no file"),
        ("sqlite://", "names no file"),
        ("sqlite://host/x.db", "names no file"),
        ("sqlite:///x.db?mode=ro", "says more"),
        ("mysql://ana:s3cret@host/x", "nobody here speaks mysql"),
        (42, "nobody here knows what a int is"),
        (None, "nobody here knows what a NoneType is"),
    ],
)
def test_what_cannot_be_opened(target, sentence):
    """
    Other targets are refused, with what would do, and never with a password.
    """
    with pytest.raises(StoreError, match=sentence) as caught:
        opening.open(target)

    assert "s3cret" not in str(caught.value)


def test_nobodys_product(path):
    """
    A schema that nobody knows needs a store; the file is left as it was.
    """
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"store="):
        opening.open(path)

    assert before == path.read_bytes()
    assert [path] == list(path.parent.iterdir())


def test_a_real_store_is_recognised_and_not_touched(real):
    """
    Opening, looking and closing change no byte of a real store.
    """
    require("apsw")
    before = hashlib.sha256(real.read_bytes()).digest()
    with opening.open(real) as memories:
        memories.preview(Key(1))

    assert "mcp-memory-service" == memories.store.name
    assert before == hashlib.sha256(real.read_bytes()).digest()


def test_vectors_choose_an_adapter_that_can_read_them(real):
    """
    A store with vectors gets an adapter that loads vec0, whatever Python's own module can.
    """
    require("apsw")
    with (
        opening.open(real) as memories,
        memories.backend.session(write=False) as session,
    ):
        rows = session.execute(said("SELECT count(*) FROM memory_embeddings")).rows

    assert [(290,)] == rows


def test_vectors_that_nothing_can_read(real, monkeypatch):
    """
    Where nothing can load vec0, the error says what to install.
    """
    monkeypatch.setattr(opening, "_able", lambda: iter(()))
    with pytest.raises(StoreError, match=r"install memdelete\[vec\]"):
        opening.open(real)


def test_vectors_that_are_not_there_need_nothing(path, monkeypatch):
    """
    Only a vector table that is there asks for vec0.
    """
    monkeypatch.setattr(opening, "_able", lambda: iter(()))
    with opening.open(path, store=WITH_VECTORS) as memories:
        assert WITH_VECTORS is memories.store


@pytest.mark.parametrize(
    "spelled",
    [lambda path: path, lambda path: f"sqlite+aiosqlite:///{path}"],
    ids=["path", "url"],
)
def test_async_paths_and_urls(path, spelled):
    """
    `open_async` opens the same, awaited.
    """

    async def main():
        async with await opening.open_async(spelled(path), store=NOTES) as memories:
            return (await memories.preview(Hash("a"))).matched

    assert 1 == asyncio.run(main())


def test_async_real_store(real):
    """
    Vectors are read in a thread by whichever module can.
    """
    require("apsw")

    async def main():
        async with (
            await opening.open_async(real) as memories,
            memories.backend.session(write=False) as session,
        ):
            return (await session.execute(said("SELECT count(*) FROM memory_embeddings"))).rows

    assert [(290,)] == asyncio.run(main())


def test_async_other_engines(tmp_path, postgres_database):
    """
    DuckDB and PostgreSQL are worked on in a thread too.
    """
    path = tmp_path / "notes.duckdb"
    filled(require("duckdb").connect(path)).close()
    with require("psycopg").connect(postgres_database) as connection:
        filled(connection)

    async def main():
        found = []
        for target in (f"duckdb:///{path}", url_of(postgres_database)):
            async with await opening.open_async(target, store=NOTES) as memories:
                found.append(columns(await memories.backend.introspect()))
        return found

    assert [["id", "sha", "body"]] * 2 == asyncio.run(main())


def test_async_connections_need_more_words():
    """
    A sync connection belongs to its thread; a shared aiosqlite one needs a lock.
    """
    aiosqlite = require("aiosqlite")

    async def main():
        connection = sqlite3.connect(":memory:")
        with pytest.raises(StoreError, match="cannot be shared with asyncio"):
            await opening.open_async(connection)
        connection.close()
        async with aiosqlite.connect(":memory:") as shared:
            with pytest.raises(StoreError, match="is async"):
                opening.open(shared)
            with pytest.raises(StoreError, match="lock="):
                await opening.open_async(shared)

    asyncio.run(main())


def test_the_guards_are_passed_on(path):
    """
    What `open` is told about guards, the deleter holds.
    """
    with opening.open(path, store=NOTES, at_most=0, zone="Europe/Rome", actor="ana") as memories:
        from memdelete.errors import Refused

        with pytest.raises(Refused):
            memories.delete(Hash("a"), mode="hard")


def said(sql):
    """
    A statement without parameters.
    """
    from memdelete.backends.abc import Statement

    return Statement(sql)
