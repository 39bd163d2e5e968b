"""
SQLite for asyncio, beside or without `aiosqlite`.

A path is driven by a sync session in a thread of its own, whichever module can read the store. A
connection of aiosqlite's, the host's or one that a factory lends, is driven by the mirror below:
the words of `sqlite`, awaited. Every call is waited for to its end, since a cancelled one would
run on in the connection's thread while we look at its transaction.
"""

from __future__ import annotations

import asyncio
import os

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from datetime import datetime
from types import ModuleType
from typing import Any, TypeVar, cast

import aiosqlite

from memdelete.errors import BackendError, StoreError

from .abc import AsyncBackend, AsyncSession, Clock, Result, Statement, host_clock
from .embedded import BEGIN, CHANGED, GIVEN, LACKS_VEC, mark, no_transaction, told
from .files import vec_path
from .sqlite import SQLite, loads_extensions
from .threads import Threaded, finished


__all__ = ["AioSQLite"]

T = TypeVar("T")

_FAILURES = (aiosqlite.Error, aiosqlite.Warning, OverflowError, UnicodeError, ValueError)
"""`ValueError` is how aiosqlite says that a connection is closed."""

Factory = Callable[[], Awaitable[aiosqlite.Connection]]
Target = str | os.PathLike[str] | aiosqlite.Connection | Factory
Borrowing = Callable[[], AbstractAsyncContextManager[aiosqlite.Connection]]


class AioSQLite(AsyncBackend):
    """
    A store in a SQLite file, or behind aiosqlite: a factory of connections, or yours.

    A *path* gets connections of its own, in a thread of its own; *module* names another SQLite
    than the standard library's, and APSW has `AsyncAPSW`. A *factory* is awaited for each
    operation, and its connection is closed afterwards.

    A *connection* that others use too needs the *lock* which they hold around their own
    transactions; it must not be held when an operation begins. Or say ``transaction=True``: you
    hold a transaction right now, nobody else comes in between, and memdelete works in a savepoint.
    """

    def __init__(
        self,
        target: Target,
        *,
        lock: asyncio.Lock | None = None,
        transaction: bool = False,
        module: ModuleType | None = None,
        extensions: Sequence[str] = (),
        busy_timeout: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or host_clock
        self._own: Threaded | None = None
        self._borrow: Borrowing | None = None
        self._transaction = transaction
        self._turn = lock or asyncio.Lock()
        match target:
            case str() | os.PathLike():
                backend = SQLite(
                    target,
                    module=module,
                    extensions=extensions,
                    busy_timeout=busy_timeout,
                    clock=clock,
                )
                self._own = Threaded(backend)
            case aiosqlite.Connection():
                if lock is None and not transaction:
                    raise StoreError(
                        "a shared aiosqlite connection needs to know whose turn it is",
                        advice="pass lock=, the asyncio.Lock that you hold around your own "
                        "transactions, or transaction=True while you hold one, or the path",
                    )
                if transaction:
                    self._turn = asyncio.Lock()
                self._borrow = lambda: nullcontext(target)
            case _ if callable(target):
                self._borrow = lambda: _lent(target)
            case _:
                raise StoreError(
                    f"a {type(target).__name__} is no path, no aiosqlite connection and no "
                    "factory of them",
                    advice="pass one of these",
                )

    @asynccontextmanager
    async def session(self, *, write: bool) -> AsyncIterator[AsyncSession]:
        """
        The connection, for one operation; other tasks wait for their turn.
        """
        async with AsyncExitStack() as stack:
            if self._own is not None:
                yield await stack.enter_async_context(self._own.session(write=write))
                return
            borrow = cast("Borrowing", self._borrow)
            await stack.enter_async_context(self._turn)
            with _Translating():
                connection = await stack.enter_async_context(borrow())
                session = _Session(connection, self._clock)
                stack.push_async_callback(session.close)
                await session.open(transaction=self._transaction)
            yield session

    async def close(self) -> None:
        """
        Close what this backend opened; a connection of yours stays open.
        """
        if self._own is not None:
            await self._own.close()


class _Session(AsyncSession):
    """
    One operation on an aiosqlite connection: the async mirror of `sqlite.SQLiteSession`.
    """

    dialect = "sqlite"
    paramstyle = "named"

    def __init__(self, connection: aiosqlite.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._marks: list[str] = []
        self._entered_inside = connection.in_transaction
        self._opened: aiosqlite.Cursor | None = None
        # Texts are texts; and what its owner sees afterwards is what its owner set.
        self._text_factory = connection.text_factory
        connection.text_factory = str

    async def open(self, *, transaction: bool) -> None:
        """
        Get a cursor, and vec0 where it is needed and its owner permits it.
        """
        if transaction and not self._entered_inside:
            raise BackendError(
                "transaction=True, but the connection holds no transaction",
                place=GIVEN,
                advice="begin yours first, or pass lock=",
            )
        self._opened = await self._plain_cursor()
        ((lacks_vec,),) = (await self.execute(Statement(LACKS_VEC))).rows
        if lacks_vec and loads_extensions() and (vec := vec_path()):
            try:
                await finished(self._connection.load_extension(vec))
            except aiosqlite.OperationalError:
                return  # "not authorized", which only its owner may change

    async def execute(self, statement: Statement) -> Result:
        """
        Run one statement. Of DDL, the number of changes is nothing to rely on.
        """
        with _Translating():
            before = self._connection.total_changes
            rows = await self._run(statement)
            changed = 0
            if self._connection.total_changes != before:
                ((changed,),) = await self._run(Statement(CHANGED))
            # Older connections open a transaction before a change, without being asked.
            if not self._marks and not self._entered_inside and self._connection.in_transaction:
                await self._run(Statement("COMMIT"))

        return Result(rows, changed)

    async def stream(
        self, statement: Statement, size: int = 1000
    ) -> AsyncIterator[Sequence[tuple[Any, ...]]]:
        """
        The rows of a big SELECT, *size* at a time.
        """
        with _Translating():
            rows = await self._plain_cursor()
        try:
            with _Translating():
                await finished(rows.execute(statement.sql, cast("Any", statement.params)))
            while True:
                with _Translating():
                    some = cast("list[tuple[Any, ...]]", await finished(rows.fetchmany(size)))
                if not some:
                    return
                yield some
        finally:
            await finished(rows.close())

    async def begin(self, *, write: bool) -> bool:
        """
        Open a transaction, or a savepoint within the one that is open.
        """
        name = mark(len(self._marks)) if self._connection.in_transaction else ""
        # Noted first: a cancellation is raised after the statement has run.
        self._marks.append(name)
        try:
            await self._command(f"SAVEPOINT {name}" if name else BEGIN[write])
        except BackendError:
            self._marks.pop()
            raise

        return not self._marks[0]

    async def commit(self) -> None:
        """
        Make it last, or give it to the transaction around it.
        """
        if not self._marks:
            raise no_transaction(GIVEN)
        name = self._marks.pop()
        try:
            await self._command(f"RELEASE {name}" if name else "COMMIT")
        except BackendError:
            self._marks.append(name)
            raise

    async def rollback(self) -> None:
        """
        Undo what is ours, where it is still there to undo.
        """
        if not self._connection.in_transaction:
            self._marks.clear()
        if not self._marks:
            return
        name = self._marks.pop()
        undo = f"ROLLBACK TO {name}" if name else "ROLLBACK"
        await finished(self._all_of([undo, f"RELEASE {name}"] if name else [undo]))

    async def now(self) -> datetime:
        """
        The host's time: the engine lives in it.
        """
        return self._clock()

    async def close(self) -> None:
        """
        Roll back whatever an operation left open, and leave the connection as it was found.
        """
        await finished(self._close())

    async def _close(self) -> None:
        try:
            while self._marks:
                await self.rollback()
            if self._opened is not None:
                await self._opened.close()
        finally:
            self._connection.text_factory = self._text_factory

    async def _plain_cursor(self) -> aiosqlite.Cursor:
        found = await finished(_cursor_of(self._connection))
        found.row_factory = None

        return found

    async def _run(self, statement: Statement) -> list[tuple[Any, ...]]:
        found = cast("aiosqlite.Cursor", self._opened)
        await finished(found.execute(statement.sql, cast("Any", statement.params)))

        return cast("list[tuple[Any, ...]]", await finished(found.fetchall()))

    async def _command(self, sql: str) -> None:
        with _Translating():
            await self._run(Statement(sql))

    async def _all_of(self, commands: Sequence[str]) -> None:
        for sql in commands:
            await self._command(sql)


class _Translating:
    """
    The driver's errors as ours. A class, because a generator would be closed by a cancellation.
    """

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _FAILURES) and not isinstance(error, StoreError | BackendError):
            raise told(str(error), getattr(error, "sqlite_errorcode", 0), GIVEN) from error


async def _cursor_of(connection: aiosqlite.Connection) -> aiosqlite.Cursor:
    return await connection.cursor()


@asynccontextmanager
async def _lent(factory: Factory) -> AsyncIterator[aiosqlite.Connection]:
    lending = asyncio.ensure_future(factory())
    try:
        yield await finished(lending)
    finally:
        # Cancelled while it was being lent, it is open all the same.
        if lending.exception() is None:
            await finished(lending.result().close())
