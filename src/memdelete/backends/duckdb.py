"""
DuckDB by way of its own module.

A file is opened read-only until something is to be written. DuckDB has no savepoints, so within
the caller's own transaction memdelete refuses to work.
"""

from __future__ import annotations

import os

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import duckdb

from memdelete.errors import BackendError, StoreError, Unsupported

from .abc import Backend, Clock, Result, Session, Statement, host_clock


__all__ = ["DuckDB"]

_GIVEN = "the given connection"
_CHANGES = {
    duckdb.StatementType.INSERT,
    duckdb.StatementType.UPDATE,
    duckdb.StatementType.DELETE,
    duckdb.StatementType.MERGE_INTO,
}
_FAILURES = (duckdb.Error, OverflowError, UnicodeError)


class DuckDB(Backend):
    """
    A store in a DuckDB file, or behind an open connection of yours.

    A result of yours that waits to be fetched from that connection is gone afterwards: that is
    how DuckDB's connections are.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | duckdb.DuckDBPyConnection,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or host_clock
        self._path: Path | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._writable = False
        match target:
            case str() | os.PathLike():
                self._path = Path(target).absolute()
            case duckdb.DuckDBPyConnection():
                self._connection = target
            case _:
                raise StoreError(
                    f"a {type(target).__name__} is no path and no duckdb connection",
                    advice="pass one of these",
                )

    @contextmanager
    def session(self, *, write: bool) -> Iterator[Session]:
        """
        The connection, for one operation.
        """
        session = _Session(self._open(write=write), self._place, self._clock)
        try:
            yield session
        finally:
            session.rollback()

    def close(self) -> None:
        """
        Close the connection that this backend opened; yours stays open.
        """
        if self._path is not None and self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _place(self) -> str:
        return str(self._path) if self._path else _GIVEN

    def _open(self, *, write: bool) -> duckdb.DuckDBPyConnection:
        # One file cannot be open twice in a process, once to read and once to write.
        if self._path is not None and write and not self._writable:
            self.close()
        if self._connection is None:
            if not cast("Path", self._path).is_file():
                raise StoreError(
                    "there is no such file", place=self._place, advice="check the path"
                )
            with _translating(self._place):
                self._connection = duckdb.connect(self._place, read_only=not write)
            self._writable = write

        return self._connection


class _Session(Session):
    """
    One operation on a DuckDB connection.
    """

    dialect = "duckdb"
    paramstyle = "dollar"

    def __init__(self, connection: duckdb.DuckDBPyConnection, place: str, clock: Clock) -> None:
        self._connection = connection
        self._place = place
        self._clock = clock
        self._open = False

    def execute(self, statement: Statement) -> Result:
        """
        Run one statement.
        """
        with _translating(self._place):
            (parsed,) = self._connection.extract_statements(statement.sql)
            found = self._connection.execute(parsed, statement.params or None)
            rows = found.fetchall()
            if parsed.type not in _CHANGES:
                return Result(rows)
            # A change without RETURNING is answered with one row, the number of changes.
            plain = found.rowcount >= 0

        return Result([], rows[0][0]) if plain else Result(rows, len(rows))

    def stream(
        self, statement: Statement, size: int = 1000
    ) -> Generator[Sequence[tuple[Any, ...]], None, None]:
        """
        The rows of a big SELECT, *size* at a time; no other statement may come in between.
        """
        with _translating(self._place):
            found = self._connection.execute(statement.sql, statement.params or None)
        while True:
            with _translating(self._place):
                some = found.fetchmany(size)
            if not some:
                return
            yield some

    def begin(self, *, write: bool) -> bool:
        """
        Open a transaction; within the caller's own it is refused.
        """
        with _translating(self._place):
            # Asking by BEGIN would break the caller's transaction: DuckDB aborts it for the error.
            if self._number() == self._number():
                raise Unsupported(
                    "a savepoint within your transaction",
                    self.dialect,
                    advice="commit yours first",
                )
            self._connection.execute("BEGIN TRANSACTION")
        self._open = True

        return True

    def commit(self) -> None:
        """
        Make it last.
        """
        if not self._open:
            raise BackendError("there is no transaction of ours to commit", place=self._place)
        # DuckDB ends the transaction even where it fails to commit it, and then all is undone.
        self._open = False
        with _translating(self._place):
            self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """
        Undo what is ours, where it is still there to undo.
        """
        if not self._open:
            return
        self._open = False
        with _translating(self._place):
            self._connection.execute("ROLLBACK")

    def now(self) -> datetime:
        """
        The host's time: the engine lives in it.
        """
        return self._clock()

    def _number(self) -> object:
        """
        The number of the transaction: another one each time, where each statement has its own.
        """
        return self._connection.execute("SELECT txid_current()").fetchall()


@contextmanager
def _translating(place: str) -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        locked = "lock" in problem.lower() and isinstance(error, duckdb.IOException)
        conflict = isinstance(error, duckdb.TransactionException) and "onflict" in problem
        raise BackendError(
            problem,
            place=place,
            advice="try again when the other is done" if locked or conflict else "",
            locked=locked or conflict,
        ) from error
