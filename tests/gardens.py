"""
Gardens on disk: real SQLite files with one of everything, and eyes that look at them.
"""

from __future__ import annotations

import sqlite3

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memdelete.testing import garden, wholeness
from tests.conftest import require


def plant(path: Path, count: int = 20, *, vectors: bool = True) -> Path:
    """
    Make a garden at *path*; with vectors it takes apsw, and sqlite-vec.
    """
    with eyes(path, vectors=vectors) as rows:
        for statement in (*garden.SCHEMA, *([garden.VECTORS] if vectors else [])):
            rows(statement)
        rows("BEGIN")
        for statement, values in garden.planting(count, vectors=vectors):
            rows(statement, values)
        rows("COMMIT")

    return path


@contextmanager
def eyes(
    path: Path, *, vectors: bool = True
) -> Iterator[Callable[..., Sequence[tuple[object, ...]]]]:
    """
    Somebody else's connection, to look with and to meddle with.
    """
    if vectors:
        apsw, sqlite_vec = require("apsw"), require("sqlite_vec")
        connection = apsw.Connection(str(path))
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
    else:
        connection = sqlite3.connect(path, isolation_level=None)

    def rows(statement: str, values: Sequence[object] = ()) -> Sequence[tuple[object, ...]]:
        return list(connection.cursor().execute(statement, tuple(values)))

    try:
        yield rows
    finally:
        connection.close()


def whole(path: Path, *, vectors: bool = True, aside: Sequence[str] = ("events",)) -> object:
    """
    All that the store holds, to compare before with after.
    """
    with eyes(path, vectors=vectors) as rows:
        return wholeness.dump(rows, aside=aside)


def checks(path: Path, *, vectors: bool = True) -> dict[str, object]:
    """
    The engine's own integrity checks.
    """
    with eyes(path, vectors=vectors) as rows:
        return dict(wholeness.integrity(rows))


def counts(path: Path, *, vectors: bool = True) -> dict[str, int]:
    """
    How many rows each table of the garden has.
    """
    names = ["notes", "links", "chunks", "events", *(["vectors"] if vectors else [])]
    with eyes(path, vectors=vectors) as rows:
        return {name: int(rows(f"SELECT count(*) FROM {name}")[0][0]) for name in names}  # type: ignore[call-overload]
