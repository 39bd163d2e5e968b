"""
Any sync backend for asyncio, in one thread of its own.

Calls run in the order in which they were made, so that the rollback after a cancelled statement
always finds that statement done. The adapters of embedded engines visit.
"""

from __future__ import annotations

import asyncio

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from .abc import AsyncBackend, AsyncSession, Backend, Result, Session, Statement


__all__ = ["Threaded", "ThreadedSession", "finished"]

T = TypeVar("T")


async def finished(work: Awaitable[T]) -> T:
    """
    Wait for *work* to its very end; a cancellation, once or twice, is raised only after it.

    You would want it wherever half of it would be worse than late: commit, rollback, clean-up.
    """
    future = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not future.cancelled():
            future.exception()  # seen: the cancellation outranks it
        raise cancelled

    return future.result()


class Threaded(AsyncBackend):
    """
    *backend*, run in a thread that starts with the first operation; one operation at a time.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._turn = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None

    @asynccontextmanager
    async def session(self, *, write: bool) -> AsyncIterator[AsyncSession]:
        """
        The connection, for one operation; other tasks wait for their turn.
        """
        async with self._turn:
            open_there = ExitStack()
            enter = partial(open_there.enter_context, self._backend.session(write=write))
            try:
                session = await finished(self.call(enter))
                yield ThreadedSession(session, self)
            finally:
                await finished(self.call(open_there.close))

    async def close(self) -> None:
        """
        Close what was opened, in the thread that opened it, and end the thread.
        """
        async with self._turn:
            thread, self._thread = self._thread, None
            if thread is None:
                return
            loop = asyncio.get_running_loop()
            try:
                await finished(loop.run_in_executor(thread, self._backend.close))
            finally:
                thread.shutdown()

    def call(self, function: Callable[[], T]) -> Awaitable[T]:
        """
        Queue *function* for the thread. Cancelling the wait does not stop what has begun.
        """
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="memdelete")

        return asyncio.get_running_loop().run_in_executor(self._thread, function)


class ThreadedSession(AsyncSession):
    """
    A session whose statements run in the backend's thread.
    """

    def __init__(self, session: Session, backend: Threaded) -> None:
        self._session = session
        self._call = backend.call
        # What an engine speaks is told by its sync session.
        self.dialect = session.dialect
        self.paramstyle = session.paramstyle

    async def execute(self, statement: Statement) -> Result:
        """
        Run one statement.
        """
        return await self._call(partial(self._session.execute, statement))

    async def stream(
        self, statement: Statement, size: int = 1000
    ) -> AsyncIterator[Sequence[tuple[Any, ...]]]:
        """
        The rows of a big SELECT, *size* at a time.
        """
        rows = self._session.stream(statement, size)
        try:
            while (some := await self._call(partial(next, rows, None))) is not None:
                yield some
        finally:
            await finished(self._call(rows.close))

    async def begin(self, *, write: bool) -> bool:
        """
        Open a transaction, or a savepoint within the one that is open.
        """
        return await finished(self._call(partial(self._session.begin, write=write)))

    async def commit(self) -> None:
        """
        Make it last; a cancellation waits until that is settled.
        """
        await finished(self._call(self._session.commit))

    async def rollback(self) -> None:
        """
        Undo what is ours; a cancellation waits until that is settled.
        """
        await finished(self._call(self._session.rollback))

    async def now(self) -> datetime:
        """
        The time as the store sees it.
        """
        return await self._call(self._session.now)
