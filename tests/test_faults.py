"""
Every operation, failed and cancelled at every question it asks, in both colours.
"""

from __future__ import annotations

import asyncio
import shutil

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdelete import instants
from memdelete.backends.sqlite import SQLite
from memdelete.driving import run, run_async
from memdelete.filters import Everything, Key, Tags
from memdelete.operations.delete import delete
from memdelete.operations.history import history, prepare
from memdelete.operations.plan import Desk
from memdelete.operations.preview import preview
from memdelete.operations.purge import purge
from memdelete.operations.restore import restore
from memdelete.operations.talk import Talk
from memdelete.testing import garden
from memdelete.testing.scripted import AsyncScripted, Script, Scripted, Spoiled
from tests.conftest import require
from tests.gardens import eyes, plant, whole


DESK = Desk(store=garden.store(vectors=False), zone=instants.zone("UTC"))
TALKS: dict[str, Callable[[str], Talk[object]]] = {
    "preview": lambda _: preview(DESK, Tags(any=["t1"])),
    "soft": lambda _: delete(DESK, Tags(any=["t1"]), operation="op"),
    "archive": lambda _: delete(DESK, Tags(any=["t1"]), operation="op", mode="archive"),
    "hard": lambda _: delete(DESK, Tags(any=["t1"]), operation="op", mode="hard"),
    "restore": lambda done: restore(DESK, done, operation="op"),
    "restore by filter": lambda _: restore(DESK, Everything(), operation="op"),
    "purge": lambda _: purge(DESK, filter=Everything(), operation="op"),
    "history": lambda _: history(DESK),
    "prepare": lambda _: prepare(DESK),
}
WRITING = [name for name in TALKS if name not in {"preview", "history"}]


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """
    A garden in which something was deleted already, and that operation.
    """
    path = plant(tmp_path_factory.mktemp("faults") / "seed.db", 9, vectors=False)
    backend = SQLite(path)
    with backend.session(write=True) as session:
        run(delete(DESK, Key(2, 3), operation="first", mode="archive"), session)
    backend.close()
    with eyes(path, vectors=False) as rows:  # so that there is something left to prepare
        rows("DROP INDEX memdelete_bin_notes_memdelete_at")

    return path, "first"


@pytest.fixture
def copies(seed: tuple[Path, str], tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """
    Fresh copies of the seed.
    """
    made: list[Path] = []

    def copy() -> Path:
        made.append(shutil.copy(seed[0], tmp_path / f"{len(made)}.db"))
        return Path(made[-1])

    return copy


def _everything(path: Path) -> object:
    with eyes(path, vectors=False) as rows:
        ours = rows(
            "SELECT name FROM sqlite_schema WHERE name LIKE 'memdelete%' AND type = 'table'"
        )
        told = {name: rows(f'SELECT * FROM "{name}"') for (name,) in ours}  # type: ignore[str-bytes-safe]

        named = rows("SELECT name FROM sqlite_schema WHERE name LIKE 'memdelete%' ORDER BY name")

    return whole(path, vectors=False, aside=()), told, named


def _follow(path: Path, talk: Talk[object], script: Script) -> object:
    backend = SQLite(path)
    try:
        with backend.session(write=True) as session:
            try:
                return run(talk, Scripted(session, script))
            except Spoiled as error:
                return error
            finally:
                # The transaction is over: another one can begin on the same connection.
                assert session.begin(write=True)
                session.rollback()
    finally:
        backend.close()


async def _follow_async(path: Path, talk: Talk[object], script: Script) -> object:
    from memdelete.backends.aiosqlite import AioSQLite

    backend = AioSQLite(path)
    try:
        async with backend.session(write=True) as session:
            scripted = AsyncScripted(session, script)
            task = asyncio.ensure_future(run_async(talk, scripted))
            scripted.asking = task  # type: ignore[assignment]
            try:
                return await task
            except (Spoiled, asyncio.CancelledError) as error:
                return error
            finally:
                assert await session.begin(write=True)
                await session.rollback()
    finally:
        await backend.close()


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", TALKS)
def test_failing_at_every_question(name, late, seed, copies) -> None:
    """
    Whatever question fails, the end is a commit or a rollback, and only a commit changes a row.
    """
    smooth, done = Script(), copies()
    _follow(done, TALKS[name](seed[1]), smooth)
    assert ["Begin", "Commit"] == [smooth.asked[0], smooth.asked[-1]]
    before = _everything(seed[0])
    writes = before != _everything(done)
    assert writes is (name in WRITING)

    for number, question in enumerate(smooth.asked):
        script = Script(fail_at=number, late=late)
        path = copies()
        got = _follow(path, TALKS[name](seed[1]), script)

        assert isinstance(got, Spoiled)
        if question != "Begin":
            assert "Rollback" == script.asked[-1]
        changed = late and question == "Commit" and writes
        assert changed is (before != _everything(path)), question


@pytest.mark.parametrize("name", TALKS)
def test_both_colours_ask_alike(name, seed, copies) -> None:
    """
    A talk asks the same questions in the same order in both colours.
    """
    require("aiosqlite")
    sync, awaited = Script(), Script()
    _follow(copies(), TALKS[name](seed[1]), sync)
    asyncio.run(_follow_async(copies(), TALKS[name](seed[1]), awaited))

    assert sync.asked == awaited.asked


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("name", WRITING)
def test_cancelling_at_every_question(name, twice, seed, copies) -> None:
    """
    Cancelled once or twice at any question, nothing is left open and nothing is half done.
    """
    require("aiosqlite")
    smooth = Script()
    asyncio.run(_follow_async(copies(), TALKS[name](seed[1]), smooth))
    before = _everything(seed[0])

    for number, question in enumerate(smooth.asked):
        path = copies()
        script = Script(cancel_at=(number, number + 1) if twice else (number,))
        got = asyncio.run(_follow_async(path, TALKS[name](seed[1]), script))

        assert isinstance(got, asyncio.CancelledError)
        committed = question == "Commit"
        if number > 0:
            assert ("Commit" if committed else "Rollback") in script.asked[-2:], question
        assert committed is ("Commit" in script.asked)
        assert committed is (before != _everything(path)), question
