"""
PostgreSQL by way of psycopg 3.

An address gets a connection of its own; a connection of the caller's is used as it is, within a
savepoint where it is in a transaction. The server's clock tells the time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any, cast

import psycopg

from psycopg import conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from memdelete.errors import BackendError, StoreError

from .abc import Backend, Clock, Result, Session, Statement


__all__ = ["Psycopg"]

_GIVEN = "the given connection"
_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE")
_SNAPSHOT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LOCKED = {
    "40001": "another transaction changed the same rows",
    "40P01": "another transaction waits for the same rows",
    "55P03": "another transaction holds the rows",
    "55006": "another connection uses the object",
}
_UNKNOWN = {"08007", "40003"}  # transaction_resolution_unknown, statement_completion_unknown
_FAILURES = (psycopg.Error, OverflowError, UnicodeError)


class Psycopg(Backend):
    """
    A store in PostgreSQL, by its conninfo or URL, or behind a `psycopg.Connection` of yours.

    A transaction that reads sees one snapshot from its beginning to its end.
    """

    def __init__(
        self, target: str | psycopg.Connection[Any], *, clock: Clock | None = None
    ) -> None:
        self._clock = clock
        self._conninfo: str | None = None
        self._connection: psycopg.Connection[Any] | None = None
        match target:
            case str():
                self._conninfo = target
            case psycopg.Connection():
                self._connection = target
            case _:
                raise StoreError(
                    f"a {type(target).__name__} is no conninfo and no psycopg.Connection",
                    advice="pass one of these",
                )

    @contextmanager
    def session(self, *, write: bool) -> Iterator[Session]:
        """
        The connection, for one operation.
        """
        session = _Session(self._open(), self._place, self._clock)
        try:
            yield session
        finally:
            session.close()

    def close(self) -> None:
        """
        Close the connection that this backend opened; yours stays open.
        """
        if self._conninfo is not None and self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _place(self) -> str:
        if self._conninfo is None:
            return _GIVEN
        try:
            said = conninfo.conninfo_to_dict(self._conninfo)
        except psycopg.Error:
            return "the given conninfo"  # which may hold a password, so it is not repeated
        said.pop("password", None)

        return conninfo.make_conninfo("", **said) or "the default server"

    def _open(self) -> psycopg.Connection[Any]:
        if self._conninfo is not None and (self._connection is None or self._connection.closed):
            with _translating(self._place):
                self._connection = psycopg.connect(self._conninfo, autocommit=True)

        return cast("psycopg.Connection[Any]", self._connection)


class _Session(Session):
    """
    One operation on a psycopg connection.

    *marks* holds what is open of ours, outermost first: an empty text for a transaction, a name
    for a savepoint.
    """

    dialect = "postgres"
    paramstyle = "pyformat"

    def __init__(
        self, connection: psycopg.Connection[Any], place: str, clock: Clock | None
    ) -> None:
        self._connection = connection
        self._place = place
        self._clock = clock
        self._marks: list[str] = []
        self._numbers = count()
        self._entered = connection.info.transaction_status

    def execute(self, statement: Statement) -> Result:
        """
        Run one statement.
        """
        with _translating(self._place), self._plain_cursor() as found:
            found.execute(cast("Any", statement.sql), statement.params)
            rows = found.fetchall() if found.description else []
            verb = (found.statusmessage or "").partition(" ")[0]
            changed = found.rowcount if verb in _CHANGES else 0
            # Without autocommit psycopg opens a transaction before any statement.
            if not self._marks and self._entered == TransactionStatus.IDLE:
                self._connection.commit()

        return Result(rows, changed)

    def stream(
        self, statement: Statement, size: int = 1000
    ) -> Generator[Sequence[tuple[Any, ...]], None, None]:
        """
        The rows of a big SELECT, *size* at a time, by a cursor of the server's within a transaction.
        """
        if not self._marks:
            raise BackendError("rows are streamed within a transaction only", place=self._place)
        with _translating(self._place):
            found = psycopg.ServerCursor(
                self._connection, f"memdelete_{next(self._numbers)}", row_factory=tuple_row
            )
            found.execute(cast("Any", statement.sql), statement.params)
        try:
            while True:
                with _translating(self._place):
                    some = found.fetchmany(size)
                if not some:
                    return
                yield some
        finally:
            if self._status == TransactionStatus.INTRANS:
                found.close()

    def begin(self, *, write: bool) -> bool:
        """
        Open a transaction, or a savepoint within the one that is open.
        """
        match self._status:
            case TransactionStatus.IDLE:
                name, command = "", self._opening(write=write)
            case TransactionStatus.INERROR:
                raise BackendError(
                    "the transaction of the connection has failed already",
                    place=self._place,
                    advice="roll it back first",
                )
            case _:
                name = f"memdelete_{len(self._marks)}"
                command = f"SAVEPOINT {name}"
        self._command(command)
        self._marks.append(name)

        return not self._marks[0]

    def commit(self) -> None:
        """
        Make it last, or give it to the transaction around it.
        """
        if not self._marks:
            raise BackendError("there is no transaction of ours to commit", place=self._place)
        name = self._marks[-1]
        if name:
            self._command(f"RELEASE {name}")
        elif self._status == TransactionStatus.INERROR:
            # The server would answer COMMIT with a silent ROLLBACK.
            raise BackendError("the transaction has failed, so nothing was kept", place=self._place)
        else:
            with _translating(self._place, committing=self._connection):
                self._connection.commit()
        self._marks.pop()

    def rollback(self) -> None:
        """
        Undo what is ours, where it is still there to undo.
        """
        if self._connection.closed or self._status == TransactionStatus.IDLE:
            self._marks.clear()
        if not self._marks:
            return
        name = self._marks.pop()
        if name:
            self._command(f"ROLLBACK TO {name}")
            self._command(f"RELEASE {name}")
        else:
            with _translating(self._place):
                self._connection.rollback()

    def now(self) -> datetime:
        """
        The server's time, which moves on within a transaction.
        """
        if self._clock is not None:
            return self._clock()
        ((found,),) = self.execute(Statement("SELECT clock_timestamp()")).rows

        return cast("datetime", found).astimezone(UTC)

    def close(self) -> None:
        """
        Roll back whatever an operation left open.
        """
        while self._marks:
            self.rollback()
        idle = self._status == TransactionStatus.IDLE
        if self._entered == TransactionStatus.IDLE and not idle and not self._connection.closed:
            self._connection.rollback()  # a statement of ours that failed outside `begin`

    @property
    def _status(self) -> TransactionStatus:
        return self._connection.info.transaction_status

    def _opening(self, *, write: bool) -> str:
        # Without autocommit psycopg says BEGIN itself, before any statement.
        match write, self._connection.autocommit:
            case True, True:
                return "BEGIN"
            case True, False:
                return "SELECT 1"
            case False, True:
                return f"BEGIN {_SNAPSHOT}"
            case _:
                return f"SET TRANSACTION {_SNAPSHOT}"

    def _command(self, sql: str) -> None:
        with _translating(self._place), self._plain_cursor() as found:
            found.execute(cast("Any", sql))

    def _plain_cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        """
        A cursor that the factories of the connection's owner do not reach.
        """
        return psycopg.Cursor(self._connection, row_factory=tuple_row)


@contextmanager
def _translating(
    place: str, *, committing: psycopg.Connection[Any] | None = None
) -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        state = getattr(error, "sqlstate", None)
        problem = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        # A connection that breaks while it commits takes the answer with it.
        lost = committing is not None and (committing.closed or state in _UNKNOWN)
        locked = _LOCKED.get(state or "")
        raise BackendError(
            f"{locked} ({problem})" if locked else problem,
            place=place,
            advice="try again when it is done; nothing was changed" if locked else "",
            locked=locked is not None and not lost,
            in_doubt=lost,
        ) from error
