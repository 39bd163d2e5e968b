"""
What every backend promises, in both colours; the async half mirrors the sync one word for word.

A session is one operation's connection. It runs statements and hands back plain values; what
they mean is decided elsewhere. This is the one room of backends that looks into `sql`, where
questions become statements. Each driver's file visits, and the front door.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar, cast

from memdelete.questions import Begin, Commit, Look, Now, Question, Rollback
from memdelete.schema import LiveSchema
from memdelete.sql.statements import Paramstyle, Result, Statement, answer


__all__ = [
    "AsyncBackend",
    "AsyncSession",
    "Backend",
    "Clock",
    "Paramstyle",
    "Result",
    "Session",
    "Statement",
    "host_clock",
]

T = TypeVar("T")

Clock = Callable[[], datetime]
"""Tells the time as an aware datetime."""
Steps = Generator[Statement, Result, T]


def host_clock() -> datetime:
    """
    The time of this machine, for engines that live in it.
    """
    return datetime.now(UTC)


class Session(ABC):
    """
    One operation's connection, its own for that time; used by the thread that opened it.
    """

    dialect: str
    paramstyle: Paramstyle

    @abstractmethod
    def execute(self, statement: Statement) -> Result:
        """
        Run one statement; all rows are fetched. Outside `begin` it commits by itself.
        """

    @abstractmethod
    def stream(
        self, statement: Statement, size: int = 1000
    ) -> Generator[Sequence[tuple[Any, ...]], None, None]:
        """
        The rows of a big SELECT, *size* at a time, in constant memory.
        """

    @abstractmethod
    def begin(self, *, write: bool) -> bool:
        """
        Open a transaction. False: there was one already, the caller's, and this is a savepoint.
        """

    @abstractmethod
    def commit(self) -> None:
        """
        Commit, or release the savepoint. A failure whose outcome is unknown is ``in_doubt``.
        """

    @abstractmethod
    def rollback(self) -> None:
        """
        Undo all since `begin`. Nothing happens where nothing is open any more.
        """

    @abstractmethod
    def now(self) -> datetime:
        """
        The time as the store sees it, aware.
        """

    def answer(self, question: Question[T]) -> T:
        """
        What came of one question of an operation.
        """
        found: object
        match question:
            case Begin(write):
                found = self.begin(write=write)
            case Commit():
                self.commit()
                found = None
            case Rollback():
                self.rollback()
                found = None
            case Now():
                found = self.now()
            case _:
                found = self.drive(answer(question, self))

        return cast("T", found)

    def drive(self, steps: Steps[T]) -> T:
        """
        Run a generator of statements to its end; an error is thrown into it, to handle or let fly.
        """
        step: Callable[[], Statement] = partial(next, steps)
        while True:
            try:
                statement = step()
            except StopIteration as end:
                return cast("T", end.value)
            try:
                result = self.execute(statement)
            except BaseException as error:  # noqa: BLE001 - the generator decides
                step = partial(steps.throw, error)
            else:
                step = partial(steps.send, result)


class Backend(ABC):
    """
    Where sessions come from: a file, an address, or a connection of yours.
    """

    @abstractmethod
    def session(self, *, write: bool) -> AbstractContextManager[Session]:
        """
        A connection for one operation. What is still open when it ends is rolled back.
        """

    def introspect(self) -> LiveSchema:
        """
        What is there, without changing a byte of it.
        """
        with self.session(write=False) as session:
            return session.answer(Look())

    @abstractmethod
    def close(self) -> None:
        """
        Close what this backend opened itself; a connection of yours stays open.
        """


class AsyncSession(ABC):
    """
    A `Session`, awaited; used by one task at a time.
    """

    dialect: str
    paramstyle: Paramstyle

    @abstractmethod
    async def execute(self, statement: Statement) -> Result:
        """
        Run one statement; all rows are fetched. Outside `begin` it commits by itself.
        """

    @abstractmethod
    def stream(
        self, statement: Statement, size: int = 1000
    ) -> AsyncIterator[Sequence[tuple[Any, ...]]]:
        """
        The rows of a big SELECT, *size* at a time, in constant memory.
        """

    @abstractmethod
    async def begin(self, *, write: bool) -> bool:
        """
        Open a transaction. False: there was one already, the caller's, and this is a savepoint.
        """

    @abstractmethod
    async def commit(self) -> None:
        """
        Commit, or release the savepoint. A failure whose outcome is unknown is ``in_doubt``.
        """

    @abstractmethod
    async def rollback(self) -> None:
        """
        Undo all since `begin`. Nothing happens where nothing is open any more.
        """

    @abstractmethod
    async def now(self) -> datetime:
        """
        The time as the store sees it, aware.
        """

    async def answer(self, question: Question[T]) -> T:
        """
        What came of one question of an operation.
        """
        found: object
        match question:
            case Begin(write):
                found = await self.begin(write=write)
            case Commit():
                await self.commit()
                found = None
            case Rollback():
                await self.rollback()
                found = None
            case Now():
                found = await self.now()
            case _:
                found = await self.drive(answer(question, self))

        return cast("T", found)

    async def drive(self, steps: Steps[T]) -> T:
        """
        Run a generator of statements to its end; an error is thrown into it, to handle or let fly.
        """
        step: Callable[[], Statement] = partial(next, steps)
        while True:
            try:
                statement = step()
            except StopIteration as end:
                return cast("T", end.value)
            try:
                result = await self.execute(statement)
            except BaseException as error:  # noqa: BLE001 - the generator decides
                step = partial(steps.throw, error)
            else:
                step = partial(steps.send, result)


class AsyncBackend(ABC):
    """
    A `Backend`, awaited. Tasks that share one take turns, an operation at a time.
    """

    @abstractmethod
    def session(self, *, write: bool) -> AbstractAsyncContextManager[AsyncSession]:
        """
        A connection for one operation. What is still open when it ends is rolled back.
        """

    async def introspect(self) -> LiveSchema:
        """
        What is there, without changing a byte of it.
        """
        async with self.session(write=False) as session:
            return await session.answer(Look())

    @abstractmethod
    async def close(self) -> None:
        """
        Close what this backend opened itself; a connection of yours stays open.
        """
