"""
What the adapters of SQLite share, whichever module drives it.

Which connection an operation gets, which transaction is whose, and what an error code means in a
sentence. No driver is imported here; `sqlite`, `apsw` and `aiosqlite` visit.
"""

from __future__ import annotations

import os

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from memdelete.errors import BackendError

from .abc import Backend, Clock, Session, host_clock
from .files import immutable_allowed, read_uri, write_uri


__all__ = [
    "BEGIN",
    "CHANGED",
    "GIVEN",
    "LACKS_VEC",
    "EmbeddedBackend",
    "EmbeddedSession",
    "mark",
    "no_transaction",
    "told",
]

GIVEN = "the given connection"
"""Where an error happened, when no path of ours says it."""

BEGIN = {True: "BEGIN IMMEDIATE", False: "BEGIN"}
"""A writer takes its lock at once, so that it never has to upgrade one and fail halfway."""
CHANGED = "SELECT changes()"
LACKS_VEC = """
    SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE rootpage = 0 AND sql LIKE '%vec0%')
       AND NOT EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'vec0')
"""
"""Is there a vector table, but not yet what it takes to read one?"""

_BUSY, _LOCKED, _READ_ONLY, _CANNOT_OPEN = 5, 6, 8, 14
_SENTENCES = {
    _READ_ONLY: ("the database is read-only", "check who owns the file and its folder"),
    10: ("the disk failed while the database was read or written", "check the disk"),
    11: ("the database file is damaged", "restore a backup, or try sqlite3's .recover"),
    13: ("the disk is full", "make room first; nothing was changed"),
    _CANNOT_OPEN: (
        "the database cannot be opened",
        "check that the file is there and that it and its folder can be read",
    ),
    26: ("this is no SQLite database, or it is encrypted", "check the path"),
}


class Closing(Protocol):
    """
    As much as is asked of a connection here.
    """

    def close(self) -> object: ...


C = TypeVar("C", bound=Closing)


# --- connections ----------------------------------------------------------------------------


class EmbeddedBackend(Backend, Generic[C]):
    """
    A file, read by one connection and written by another, or the caller's own connection.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | C,
        *,
        extensions: Sequence[str] = (),
        busy_timeout: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        self.extensions = tuple(extensions)
        self.busy_timeout = busy_timeout
        self.clock = clock or host_clock
        self.path: Path | None = None
        self._given: C | None = None
        if isinstance(target, str | os.PathLike):
            self.path = Path(target).absolute()
        else:
            self._given = target
        self._reader: C | None = None
        self._writer: C | None = None
        self._busy = False

    @property
    def place(self) -> str:
        """
        Where an error happened, for people.
        """
        return str(self.path) if self.path else GIVEN

    @contextmanager
    def session(self, *, write: bool) -> Iterator[Session]:
        """
        The connection, for one operation; not for two at once.
        """
        if self._busy:
            raise BackendError(
                "this backend is in the middle of another operation",
                place=self.place,
                advice="finish that one first, or make another backend",
            )
        session = self.speak(self._connection(write=write))
        self._busy = True
        try:
            yield session
        finally:
            self._busy = False
            session.close()

    def close(self) -> None:
        """
        Close the connections that this backend opened; yours stays open.
        """
        opened, self._reader, self._writer = (self._reader, self._writer), None, None
        for connection in opened:
            if connection is not None:
                connection.close()

    @abstractmethod
    def connect(self, uri: str, *, write: bool) -> C:
        """
        Open *uri*, ready for use; whatever fails is raised as ours.
        """

    @abstractmethod
    def speak(self, connection: C) -> EmbeddedSession:
        """
        An operation's session on *connection*.
        """

    @abstractmethod
    def code(self, error: BaseException | None) -> int:
        """
        The result code of a driver's error, 0 where it has none.
        """

    def translated(self, error: Exception) -> BackendError:
        """
        The driver's error as ours.
        """
        return told(str(error), self.code(error), self.place)

    def _connection(self, *, write: bool) -> C:
        if self.path is None:
            assert self._given is not None  # noqa: S101 - either is set, see __init__
            return self._given
        if write:
            if self._writer is None:
                self._writer = self.connect(write_uri(self.path), write=True)
            return self._writer
        if self._reader is None:
            self._reader = self._open_reader(self.path)
        return self._reader

    def _open_reader(self, path: Path) -> C:
        try:
            return self.connect(read_uri(path), write=False)
        except BackendError as error:
            primary = self.code(error.__cause__) & 0xFF
            if primary not in {_READ_ONLY, _CANNOT_OPEN} or not immutable_allowed(path):
                raise

        return self.connect(read_uri(path, immutable=True), write=False)


# --- transactions ---------------------------------------------------------------------------


def mark(depth: int) -> str:
    """
    The name of a savepoint; the innermost of a name counts, so a caller's own is never met.
    """
    return f"memdelete_{depth}"


class EmbeddedSession(Session):
    """
    Transactions as SQLite has them, over a driver that can run a command.

    *marks* holds what is open of ours, outermost first: an empty text for a transaction, a name
    for a savepoint.
    """

    dialect = "sqlite"
    paramstyle = "named"

    def __init__(self, backend: EmbeddedBackend[Any]) -> None:
        self.place = backend.place
        self.translated = backend.translated
        self.marks: list[str] = []
        self._clock = backend.clock

    @property
    @abstractmethod
    def inside(self) -> bool:
        """
        Is a transaction open, whosesoever?
        """

    @abstractmethod
    def command(self, sql: str) -> None:
        """
        Run a statement that has neither parameters nor rows.
        """

    def now(self) -> datetime:
        """
        The host's time: the engine lives in it.
        """
        return self._clock()

    def begin(self, *, write: bool) -> bool:
        """
        Open a transaction, or a savepoint within the one that is open.
        """
        name = mark(len(self.marks)) if self.inside else ""
        self.command(f"SAVEPOINT {name}" if name else BEGIN[write])
        self.marks.append(name)

        return not self.marks[0]

    def commit(self) -> None:
        """
        Make it last, or give it to the transaction around it.
        """
        # After a failure the transaction is open still, or was rolled back by the engine: its
        # outcome is never in doubt, since the engine lives in this very process.
        if not self.marks:
            raise no_transaction(self.place)
        name = self.marks[-1]
        self.command(f"RELEASE {name}" if name else "COMMIT")
        self.marks.pop()

    def rollback(self) -> None:
        """
        Undo what is ours, where it is still there to undo.
        """
        if not self.inside:  # the engine has done it already, on a full disk for example
            self.marks.clear()
        if not self.marks:
            return
        name = self.marks.pop()
        self.command(f"ROLLBACK TO {name}" if name else "ROLLBACK")
        if name:
            self.command(f"RELEASE {name}")

    def close(self) -> None:
        """
        Roll back whatever an operation left open.
        """
        while self.marks:
            self.rollback()


# --- errors ---------------------------------------------------------------------------------


def told(problem: str, code: int | None, place: str) -> BackendError:
    """
    What the engine's result *code* means, in a sentence.
    """
    primary = (code or 0) & 0xFF
    module = problem.partition("no such module: ")[2].strip()
    if module == "vec0":
        return BackendError(
            "the vectors need the extension vec0, which is not loaded",
            place=place,
            advice="load sqlite-vec into your connection, or give the path (what reads it: pip "
            "install memdelete[vec]) or a connection of apsw",
        )
    if module:
        return BackendError(
            f"the virtual-table module {module} is not loaded",
            place=place,
            advice="name its library in extensions=, or load it into your connection",
        )
    if primary in {_BUSY, _LOCKED}:
        return BackendError(
            f"another connection holds the store ({problem})",
            place=place,
            advice="try again when it is done; nothing was changed",
            locked=True,
        )
    if primary in _SENTENCES:
        sentence, advice = _SENTENCES[primary]
        return BackendError(f"{sentence} ({problem})", place=place, advice=advice)

    return BackendError(problem, place=place)


def no_transaction(place: str) -> BackendError:
    """
    There is nothing of ours to commit: the caller's own transaction is never touched.
    """
    return BackendError("there is no transaction of ours to commit", place=place)
