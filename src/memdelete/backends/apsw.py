"""
SQLite by way of APSW, which carries an SQLite of its own and can always load extensions.

Like `sqlite` it reads files through a read-only connection and leaves a connection of the
caller's as it was found, its tracers undisturbed. `AsyncAPSW` runs the same in a thread.
"""

from __future__ import annotations

import os

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import apsw

from memdelete.errors import StoreError

from .abc import Clock, Result, Statement
from .embedded import CHANGED, LACKS_VEC, EmbeddedBackend, EmbeddedSession
from .files import vec_path
from .threads import Threaded


__all__ = ["APSW", "APSWSession", "AsyncAPSW"]

_FAILURES = (apsw.Error, OverflowError, UnicodeError)


class APSW(EmbeddedBackend[apsw.Connection]):
    """
    A store in a SQLite file, or behind an open `apsw.Connection` of yours.

    You would want it where Python's own sqlite3 cannot load vec0, or for a current SQLite. Use
    it, and what it opens, in one thread. *busy_timeout* is how many seconds to wait for others
    who hold the file; *extensions* are further libraries to load.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | apsw.Connection,
        *,
        extensions: Sequence[str] = (),
        busy_timeout: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(target, extensions=extensions, busy_timeout=busy_timeout, clock=clock)
        if not isinstance(target, str | os.PathLike | apsw.Connection):
            raise StoreError(
                f"a {type(target).__name__} is no path and no apsw.Connection",
                advice="pass a path, or use the backend of its driver",
            )

    def connect(self, uri: str, *, write: bool) -> apsw.Connection:
        """
        Open *uri*; vec0 and the extensions are loaded where they are needed.
        """
        kind = apsw.SQLITE_OPEN_READWRITE if write else apsw.SQLITE_OPEN_READONLY
        connection = None
        try:
            connection = apsw.Connection(uri, flags=kind | apsw.SQLITE_OPEN_URI)
            connection.set_busy_timeout(int(self.busy_timeout * 1000))
            self._load(connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, _FAILURES):
                raise self.translated(error) from error
            raise

        return connection

    def speak(self, connection: apsw.Connection) -> APSWSession:
        """
        An operation's session on *connection*.
        """
        try:
            if self.path is None:
                self._load_permitted(connection)
            return APSWSession(connection, self)
        except _FAILURES as error:
            raise self.translated(error) from error

    def code(self, error: BaseException | None) -> int:
        """
        The extended result code of an error of APSW's.
        """
        return int(getattr(error, "extendedresult", 0))

    def _load(self, connection: apsw.Connection) -> None:
        # Asked even where nothing is loaded: a file is only opened by its first statement.
        wanted = list(self.extensions)
        if _lacks_vec(connection) and (vec := vec_path()):
            wanted.append(vec)
        if not wanted:
            return
        connection.enable_load_extension(True)  # noqa: FBT003 - its signature
        try:
            for library in wanted:
                connection.load_extension(library)
        finally:
            connection.enable_load_extension(False)  # noqa: FBT003 - its signature

    @staticmethod
    def _load_permitted(connection: apsw.Connection) -> None:
        """
        Load vec0 where the owner permits it; where not, the statement that needs it says so.
        """
        permitted = connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, -1)
        if permitted and _lacks_vec(connection) and (vec := vec_path()):
            connection.load_extension(vec)


class APSWSession(EmbeddedSession):
    """
    One operation on an `apsw.Connection`.
    """

    def __init__(self, connection: apsw.Connection, backend: APSW) -> None:
        super().__init__(backend)
        self._connection = connection
        self._cursor = _plain_cursor(connection)

    @property
    def inside(self) -> bool:
        """
        Is a transaction open, whosesoever?
        """
        return self._connection.in_transaction

    def command(self, sql: str) -> None:
        """
        Run a statement that has neither parameters nor rows.
        """
        with self._translating():
            self._cursor.execute(sql)

    def execute(self, statement: Statement) -> Result:
        """
        Run one statement. Of DDL, the number of changes is nothing to rely on.
        """
        with self._translating():
            before = self._connection.total_changes()
            rows = self._cursor.execute(statement.sql, cast("Any", statement.params)).fetchall()
            changed: Any = 0
            if self._connection.total_changes() != before:
                ((changed,),) = self._cursor.execute(CHANGED).fetchall()

        return Result(rows, changed)

    def stream(
        self, statement: Statement, size: int = 1000
    ) -> Generator[Sequence[tuple[Any, ...]], None, None]:
        """
        The rows of a big SELECT, *size* at a time.
        """
        rows = _plain_cursor(self._connection)
        try:
            with self._translating():
                rows.execute(statement.sql, cast("Any", statement.params))
            while True:
                with self._translating():
                    some = [row for _, row in zip(range(size), rows, strict=False)]
                if not some:
                    return
                yield some
        finally:
            rows.close(True)  # noqa: FBT003 - force: half a result is fine

    def close(self) -> None:
        """
        Roll back whatever an operation left open.
        """
        super().close()
        self._cursor.close()

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            raise self.translated(error) from error


class AsyncAPSW(Threaded):
    """
    `APSW` on a path, for asyncio: everything runs in one thread of its own.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        extensions: Sequence[str] = (),
        busy_timeout: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        if not isinstance(target, str | os.PathLike):
            raise StoreError(
                f"a {type(target).__name__} belongs to the thread that uses it",
                advice="pass the path, or use the sync APSW where you hold the connection",
            )
        super().__init__(
            APSW(target, extensions=extensions, busy_timeout=busy_timeout, clock=clock)
        )


def _plain_cursor(connection: apsw.Connection) -> apsw.Cursor:
    """
    A cursor that the tracers and the cursor factory of the connection's owner do not reach.
    """
    found = apsw.Cursor(connection)
    found.exec_trace = None
    found.row_trace = None

    return found


def _lacks_vec(connection: apsw.Connection) -> bool:
    return bool(_plain_cursor(connection).execute(LACKS_VEC).get)
