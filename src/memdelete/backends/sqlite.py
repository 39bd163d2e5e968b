"""
SQLite by way of the standard library's `sqlite3`, or of `pysqlite3` or `sqlean`, its twins.

Files are read through a read-only connection that changes no byte, and written through another,
opened when first needed. A connection of the caller's is used as it is: its factories, its
transaction and its settings are left as they were found.
"""

from __future__ import annotations

import importlib
import os
import sqlite3

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from memdelete.errors import StoreError

from .abc import Clock, Result, Statement
from .embedded import CHANGED, LACKS_VEC, EmbeddedBackend, EmbeddedSession
from .files import vec_path


__all__ = ["SQLite", "SQLiteSession", "failures", "imported", "loads_extensions", "module_of"]

_TWINS = ("sqlite3", "pysqlite3", "sqlean")
_PLAIN = {int, float, str, bytes, type(None)}


def module_of(connection: object) -> ModuleType | None:
    """
    Which of the three modules made *connection*, or the class it inherits from; else None.
    """
    for ancestor in type(connection).__mro__:
        package = ancestor.__module__.partition(".")[0]
        # The classes of the standard library say `sqlite3`, of the others `pysqlite3.dbapi2`.
        if package in _TWINS and ancestor.__name__ == "Connection":
            return imported(package)

    return None


def imported(package: str) -> ModuleType:
    """
    The interface of one of the three; a missing one is an ImportError.
    """
    return importlib.import_module(f"{package}.dbapi2")


def loads_extensions(module: ModuleType = sqlite3) -> bool:
    """
    Was this module compiled with loadable extensions? Many a Python's own was not.
    """
    return hasattr(module.Connection, "enable_load_extension")


def failures(module: ModuleType) -> tuple[type[Exception], ...]:
    """
    What the module raises: its own errors, and Python's for values that SQLite cannot hold.
    """
    return (module.Error, module.Warning, OverflowError, UnicodeError)


class SQLite(EmbeddedBackend[Any]):
    """
    A store in a SQLite file, or behind an open connection of yours.

    Use it, and what it opens, in one thread. *busy_timeout* is how many seconds to wait for
    others who hold the file. vec0 is loaded by itself where a store has vectors; *extensions* are
    further libraries to load.

    A connection of yours must hand out values as they are stored: not opened with
    ``detect_types=``.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | Any,
        *,
        module: ModuleType | None = None,
        extensions: Sequence[str] = (),
        busy_timeout: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(target, extensions=extensions, busy_timeout=busy_timeout, clock=clock)
        found = module or (sqlite3 if self.path else module_of(target))
        if found is None:
            raise StoreError(
                f"a {type(target).__name__} is no path and no connection of {', '.join(_TWINS)}",
                advice="pass a path, or use the backend of its driver",
            )
        self._module = found

    def connect(self, uri: str, *, write: bool) -> Any:
        """
        Open *uri* in autocommit, so that every transaction is one that we began.
        """
        connection = None
        try:
            connection = self._module.connect(
                uri, uri=True, timeout=self.busy_timeout, isolation_level=None
            )
            self._load(connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, failures(self._module)):
                raise self.translated(error) from error
            raise

        return connection

    def speak(self, connection: Any) -> SQLiteSession:
        """
        An operation's session on *connection*.
        """
        try:
            if self.path is None:
                self._load_permitted(connection)
            return SQLiteSession(connection, self, given=self.path is None)
        except failures(self._module) as error:
            raise self.translated(error) from error

    def code(self, error: BaseException | None) -> int:
        """
        The extended result code of an error of the module's.
        """
        return int(getattr(error, "sqlite_errorcode", 0))

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """
        What the module raises.
        """
        return failures(self._module)

    def _load(self, connection: Any) -> None:
        # Asked even where nothing is loaded: a file is only opened by its first statement.
        ((lacks_vec,),) = connection.execute(LACKS_VEC)
        wanted = list(self.extensions)
        can = loads_extensions(self._module)
        if wanted and not can:
            raise StoreError(
                f"{self._module.__name__} was compiled without loadable extensions",
                place=self.place,
                advice="use backends.apsw.APSW, or pass module=pysqlite3",
            )
        if lacks_vec and can and (vec := vec_path()):
            wanted.append(vec)
        if not wanted:
            return
        connection.enable_load_extension(True)  # noqa: FBT003 - its signature
        try:
            for library in wanted:
                connection.load_extension(library)
        finally:
            connection.enable_load_extension(False)  # noqa: FBT003 - its signature

    def _load_permitted(self, connection: Any) -> None:
        """
        Load vec0 where the owner permits it; where not, the statement that needs it says so.
        """
        found = connection.cursor()
        found.row_factory = None
        ((lacks_vec,),) = found.execute(LACKS_VEC).fetchall()
        found.close()
        if lacks_vec and loads_extensions(self._module) and (vec := vec_path()):
            try:
                connection.load_extension(vec)
            except self._module.OperationalError:
                return  # "not authorized", which only its owner may change


class SQLiteSession(EmbeddedSession):
    """
    One operation on a connection of the three modules.
    """

    def __init__(self, connection: Any, backend: SQLite, *, given: bool) -> None:
        super().__init__(backend)
        self._connection = connection
        self._failures = backend.failures
        self._given = given
        self._entered_inside = bool(connection.in_transaction)
        self._cursor = self._plain_cursor()
        # Texts are texts; and what its owner sees afterwards is what its owner set.
        self._text_factory, connection.text_factory = connection.text_factory, str

    @property
    def inside(self) -> bool:
        """
        Is a transaction open, whosesoever?
        """
        return bool(self._connection.in_transaction)

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
            before = self._connection.total_changes
            rows = self._cursor.execute(statement.sql, statement.params).fetchall()
            changed = 0
            # cursor.rowcount is wrong after RETURNING in pysqlite3 and sqlean, and after WITH.
            if self._connection.total_changes != before:
                ((changed,),) = self._cursor.execute(CHANGED).fetchall()
            # Older connections open a transaction before a change, without being asked.
            if not self.marks and not self._entered_inside and self.inside:
                self._cursor.execute("COMMIT")
        self._check(rows)

        return Result(rows, changed)

    def stream(
        self, statement: Statement, size: int = 1000
    ) -> Generator[Sequence[tuple[Any, ...]], None, None]:
        """
        The rows of a big SELECT, *size* at a time.
        """
        rows = self._plain_cursor()
        try:
            with self._translating():
                rows.execute(statement.sql, statement.params)
            while True:
                with self._translating():
                    some = rows.fetchmany(size)
                if not some:
                    return
                self._check(some)
                yield some
        finally:
            rows.close()

    def close(self) -> None:
        """
        Roll back whatever an operation left open, and leave the connection as it was found.
        """
        try:
            super().close()
            self._cursor.close()
        finally:
            self._connection.text_factory = self._text_factory

    def _plain_cursor(self) -> Any:
        found = self._connection.cursor()
        found.row_factory = None

        return found

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            raise self.translated(error) from error

    def _check(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """
        Refuse a connection that converts: dates in the place of texts would match nothing.
        """
        if self._given and any(type(value) not in _PLAIN for row in rows for value in row):
            raise StoreError(
                "this connection converts what is stored",
                place=self.place,
                advice="open it without detect_types=, or pass the path",
            )
