"""
SQLite's files: what they are, how to address them without touching them, where vec0 comes from.

No driver is imported here and nothing is written. The adapters of SQLite visit, and the front
door, which asks `checked` about a path.
"""

from __future__ import annotations

import os

from pathlib import Path

from memdelete.errors import StoreError


__all__ = ["checked", "immutable_allowed", "read_uri", "vec_path", "write_uri"]

_MAGIC = b"SQLite format 3\x00"


def checked(path: Path) -> Path:
    """
    *path*, if it is a file that begins as SQLite databases do; one clear sentence if not.

    Looks at 16 bytes and writes nothing.
    """
    place = str(path)
    if path.is_dir():
        raise StoreError("this is a folder, not a database", place=place, advice="name the file")
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        raise StoreError("there is no such file", place=place, advice="check the path") from None
    except OSError as error:
        raise StoreError(f"the file cannot be read ({error.strerror})", place=place) from error
    if not head:
        raise StoreError("the file is empty, so it holds no memories", place=place)
    if head[8:12] == b"DUCK":
        raise StoreError(
            "this is a DuckDB file",
            place=place,
            advice="pass duckdb:/// before its path, or backends.duckdb.DuckDB",
        )
    if head != _MAGIC:
        raise StoreError(
            "this is no SQLite database, or it is encrypted", place=place, advice="check the path"
        )

    return path


def read_uri(path: Path, *, immutable: bool = False) -> str:
    """
    The file's address for reading: nothing is ever written, not even a checkpoint on close.
    """
    # as_uri quotes the letters that mean something in an address: `?`, `#`, `%`.
    return f"{path.absolute().as_uri()}?{'immutable=1' if immutable else 'mode=ro'}"


def write_uri(path: Path) -> str:
    """
    The file's address for writing; a missing file is an error and not created.
    """
    return f"{path.absolute().as_uri()}?mode=rw"


def immutable_allowed(path: Path) -> bool:
    """
    May the file be read as if nobody could ever change it?

    A file in WAL mode on a read-only medium can be read in no other way. It would be wrong where
    a log holds newer pages, and where somebody can write beside us.
    """
    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists() and log.stat().st_size > 0

    return not has_log and not os.access(path.absolute().parent, os.W_OK)


def vec_path() -> str | None:
    """
    The loadable vec0 extension, where `sqlite_vec` is installed.
    """
    try:
        import sqlite_vec  # noqa: PLC0415 - only stores with vectors need it
    except ImportError:
        return None

    return str(sqlite_vec.loadable_path())
