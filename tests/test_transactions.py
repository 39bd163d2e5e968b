"""
Connections of somebody else: their transaction, their settings, their other tasks.
"""

from __future__ import annotations

import asyncio
import sqlite3

from pathlib import Path

import pytest

from memdelete.backends.sqlite import SQLite
from memdelete.deleter import AsyncDeleter, Deleter
from memdelete.driving import run_async
from memdelete.errors import StoreError
from memdelete.filters import Key, Tags
from memdelete.operations.delete import delete
from memdelete.testing import garden
from memdelete.testing.scripted import AsyncScripted, Script
from tests.conftest import require
from tests.gardens import counts, eyes, plant, whole


STORE = garden.store(vectors=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """
    A garden without vectors, with its journal and bins made.
    """
    path = plant(tmp_path / "garden.db", vectors=False)
    with Deleter(SQLite(path), STORE) as deleter:
        deleter.prepare()

    return path


@pytest.mark.parametrize("mode", ["soft", "archive", "hard"])
def test_inside_the_caller_s_transaction(path: Path, mode: str) -> None:
    """
    Inside the caller's transaction nothing is committed, and their rollback takes it all back.
    """
    before = whole(path, vectors=False, aside=())
    mine = sqlite3.connect(path)
    mine.execute("INSERT INTO notes (id, sha, body) VALUES (77, 'mine', 'pending')")
    receipt = Deleter(SQLite(mine), STORE).delete(Tags(any=["t1"]), mode=mode)

    assert receipt.durable is False
    assert 6 == receipt.removed
    assert mine.in_transaction
    assert before == whole(path, vectors=False, aside=())
    assert 1 == mine.execute("SELECT count(*) FROM notes WHERE id = 77").fetchone()[0]
    mine.rollback()
    assert before == whole(path, vectors=False, aside=())
    assert 0 == mine.execute("SELECT count(*) FROM memdelete_operations").fetchone()[0]
    mine.close()


def test_the_caller_commits_both(path: Path) -> None:
    """
    The caller's commit makes their rows and ours durable together, and an undo follows.
    """
    mine = sqlite3.connect(path)
    mine.execute("INSERT INTO notes (id, sha, body) VALUES (77, 'mine', 'pending')")
    deleter = Deleter(SQLite(mine), STORE)
    receipt = deleter.delete(Key(1), mode="archive")
    mine.commit()

    assert 20 == counts(path, vectors=False)["notes"]
    back = deleter.restore(receipt)
    assert back.durable
    assert not mine.in_transaction
    assert 21 == counts(path, vectors=False)["notes"]
    mine.close()


def test_a_failure_keeps_the_caller_s_half(path: Path) -> None:
    """
    What fails inside the caller's transaction is undone alone; theirs stays pending.
    """
    from memdelete.errors import Refused

    mine = sqlite3.connect(path)
    mine.execute("INSERT INTO notes (id, sha, body) VALUES (77, 'mine', 'pending')")
    with pytest.raises(Refused):
        Deleter(SQLite(mine), STORE).delete(Tags(any=["t1"]), at_most=1)
    mine.commit()

    assert 21 == counts(path, vectors=False)["notes"]
    mine.close()


def test_tables_are_not_made_in_the_caller_s_transaction(tmp_path: Path) -> None:
    """
    Without journal and bins, a delete inside the caller's transaction asks for `prepare`.
    """
    path = plant(tmp_path / "bare.db", vectors=False)
    mine = sqlite3.connect(path)
    mine.execute("INSERT INTO notes (id, sha, body) VALUES (77, 'mine', 'pending')")
    with pytest.raises(StoreError, match="prepare"):
        Deleter(SQLite(mine), STORE).delete(Key(1))
    mine.rollback()

    assert 20 == counts(path, vectors=False)["notes"]
    mine.close()


@pytest.mark.parametrize("row_factory", [None, sqlite3.Row])
def test_the_caller_s_settings_stay(path: Path, row_factory) -> None:
    """
    Factories and isolation level of the caller's connection are as they were.
    """
    mine = sqlite3.connect(path, isolation_level="EXCLUSIVE")
    mine.row_factory = row_factory
    mine.text_factory = bytes
    Deleter(SQLite(mine), STORE).delete(Tags(any=["t1"]), mode="archive")

    assert ("EXCLUSIVE", row_factory, bytes) == (
        mine.isolation_level,
        mine.row_factory,
        mine.text_factory,
    )
    assert not mine.in_transaction
    mine.close()


class Meddling(AsyncScripted):
    """
    Lets another task have a turn at every question.
    """

    async def answer(self, question, /):
        for _ in range(3):
            await asyncio.sleep(0)
        return await super().answer(question)


def test_a_second_task_on_the_same_host(path: Path) -> None:
    """
    A task that writes and commits through the same connection at every question neither commits
    our half nor loses its own.
    """
    aiosqlite = require("aiosqlite")
    from memdelete import instants
    from memdelete.backends.aiosqlite import AioSQLite
    from memdelete.operations.plan import Desk

    desk = Desk(store=STORE, zone=instants.zone("UTC"), at_most=0)

    async def play() -> int:
        lock = asyncio.Lock()
        host = await aiosqlite.connect(path)
        backend = AioSQLite(host, lock=lock)
        written = 0
        done = asyncio.Event()

        async def other() -> None:
            nonlocal written
            while not done.is_set():
                async with lock:
                    await host.execute("INSERT INTO events (op) VALUES ('theirs')")
                    await host.commit()
                    written += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        for _ in range(3):
            async with backend.session(write=True) as session:
                talk = delete(desk, Tags(any=["t1"]), operation="refused")
                with pytest.raises(Exception, match="at most 0"):
                    await run_async(talk, Meddling(session, Script()))
            await asyncio.sleep(0.01)
        done.set()
        await task
        await host.close()
        return written

    before = whole(path, vectors=False)
    written = asyncio.run(play())

    assert before == whole(path, vectors=False)
    with eyes(path, vectors=False) as rows:
        assert [(written,)] == rows("SELECT count(*) FROM events WHERE op = 'theirs'")
    assert written > 0


def test_a_shared_async_connection_needs_a_lock(path: Path) -> None:
    """
    A connection that other tasks use is refused without the lock they take turns by.
    """
    aiosqlite = require("aiosqlite")
    from memdelete.backends.aiosqlite import AioSQLite

    async def play() -> None:
        host = await aiosqlite.connect(path)
        try:
            with pytest.raises(StoreError, match="lock"):
                AioSQLite(host)
        finally:
            await host.close()

    asyncio.run(play())


def test_tasks_of_one_deleter_take_turns(path: Path) -> None:
    """
    Twenty tasks on one async deleter delete each their own, and all of it is undone.
    """
    require("aiosqlite")
    from memdelete.backends.aiosqlite import AioSQLite

    before = whole(path, vectors=False)

    async def play() -> None:
        async with AsyncDeleter(AioSQLite(path), STORE) as memories:
            receipts = await asyncio.gather(
                *(memories.delete(Key(number), mode="archive") for number in range(1, 20))
            )
            assert 0 == (await memories.preview(Tags(any=["all"]))).matched
            await asyncio.gather(*(memories.restore(receipt) for receipt in receipts))

    asyncio.run(play())

    assert before == whole(path, vectors=False)
