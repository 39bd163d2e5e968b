"""
From whatever you have to a deleter: a path, a URL or a connection.

The schema is looked at first, read-only, so that an adapter is chosen which can do what the store
needs, and nothing is touched where nobody knows the product. Drivers are imported only when they
are chosen.
"""

from __future__ import annotations

import asyncio
import os
import re

from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .errors import StoreError
from .schema import LiveSchema, Store, Vectors


if TYPE_CHECKING:
    from .backends.abc import AsyncBackend, Backend
    from .deleter import AsyncDeleter, Deleter
    from .filters import Filter


__all__ = ["open", "open_async"]

_URL = re.compile(r"(?P<dialect>[A-Za-z0-9]+)(?:\+\w+)?://(?P<rest>.*)", re.DOTALL)
_ACCEPTED = (
    "a path, a URL (sqlite:///, duckdb:///, postgresql://) or an open connection of sqlite3, "
    "pysqlite3, sqlean, apsw, duckdb or psycopg"
)


def open(
    target: str | os.PathLike[str] | Any,
    *,
    store: Store | None = None,
    zone: str = "UTC",
    scope: Filter | None = None,
    protect: Filter | None = None,
    at_most: int | None = None,
    max_share: float | None = None,
    actor: str | None = None,
    retention: str | timedelta = "30d",
) -> Deleter:
    """
    A deleter for *target*: a path, a URL or a DB-API connection.

    Without *store* the product is recognised by its schema; exactly one must match. Nothing is
    written. A path or URL gets connections of its own, closed with the deleter; a connection of
    yours stays yours.
    """
    from .deleter import Deleter  # noqa: PLC0415 - heavy, and not needed to say what is wrong

    backend, found = _chosen(target, store)

    try:
        return Deleter(
            backend,
            found,
            zone=zone,
            scope=scope,
            protect=protect,
            at_most=at_most,
            max_share=max_share,
            actor=actor,
            retention=retention,
        )
    except BaseException:
        backend.close()  # nobody else could
        raise


async def open_async(
    target: str | os.PathLike[str] | Any,
    *,
    store: Store | None = None,
    zone: str = "UTC",
    scope: Filter | None = None,
    protect: Filter | None = None,
    at_most: int | None = None,
    max_share: float | None = None,
    actor: str | None = None,
    retention: str | timedelta = "30d",
) -> AsyncDeleter:
    """
    `open` for asyncio: a path or a URL, which is worked on in a thread of its own.

    A connection that you share with us needs more words than this has: see
    `backends.aiosqlite.AioSQLite` and its *lock*.
    """
    from .deleter import AsyncDeleter  # noqa: PLC0415 - as above

    backend, found = await _chosen_async(target, store)

    try:
        return AsyncDeleter(
            backend,
            found,
            zone=zone,
            scope=scope,
            protect=protect,
            at_most=at_most,
            max_share=max_share,
            actor=actor,
            retention=retention,
        )
    except BaseException:
        await backend.close()  # nobody else could
        raise


# --- from a target to a backend and a store -------------------------------------------------


def _chosen(target: object, store: Store | None) -> tuple[Backend, Store]:
    match _placed(target):
        case Path() as path:
            return _file(path, store)
        case placed:
            backend = _backend(placed)
    try:
        return backend, store or _recognised(backend.introspect())
    except BaseException:
        backend.close()
        raise


async def _chosen_async(target: object, store: Store | None) -> tuple[AsyncBackend, Store]:
    from .backends.threads import Threaded  # noqa: PLC0415 - with the backend that it serves

    match _placed(target):
        case Path() as path:
            inner, found = await asyncio.to_thread(_file, path, store)
            return Threaded(inner), found
        case _URLTarget() as placed:
            backend: AsyncBackend = Threaded(_backend(placed))
        case placed:
            backend = _async_backend(placed)
    try:
        return backend, store or _recognised(await backend.introspect())
    except BaseException:
        await backend.close()
        raise


class _URLTarget(str):
    """
    What a URL names that is no SQLite file.
    """

    __slots__ = ()


def _placed(target: object) -> object:
    """
    A path of a SQLite file as a `Path`, another URL as such; anything else as it is.
    """
    match target:
        case os.PathLike():
            return Path(os.fsdecode(target))
        case str() if found := _URL.match(target):
            return _from_url(found["dialect"].lower(), found["rest"], target)
        case str() if not target.strip():
            raise StoreError("an empty text names no file", place=repr(target))
        case ":memory:":
            raise StoreError(
                "a database in memory belongs to its connection",
                place=repr(target),
                advice="pass that connection",
            )
        case str():
            return Path(target)
        case _:
            return target


def _from_url(dialect: str, rest: str, url: str) -> object:
    match dialect:
        case "sqlite":
            return Path(_path_of(rest, url))
        case "duckdb":
            return _URLTarget(f"duckdb:{_path_of(rest, url)}")
        case "postgresql" | "postgres":
            # SQLAlchemy names the driver too, which libpq does not understand.
            return _URLTarget(f"postgresql://{rest}")
        case _:
            raise StoreError(
                f"nobody here speaks {dialect}", place=f"{dialect}://…", advice=f"pass {_ACCEPTED}"
            )


def _path_of(rest: str, url: str) -> str:
    """
    Three slashes begin a relative path, four an absolute one.
    """
    host, _, path = rest.partition("/")
    if host or not path or path == ":memory:":
        raise StoreError("this URL names no file", place=url, advice="write sqlite:///memory.db")
    if "?" in path or "#" in path:
        raise StoreError(
            "this URL says more than where the file is",
            place=url,
            advice="leave the query out, and write %3F and %23 for ? and # in a name",
        )

    return unquote(path)


def _backend(target: object) -> Backend:
    match _driver(target):
        case "duckdb:":
            from .backends.duckdb import DuckDB  # noqa: PLC0415

            return DuckDB(str(target).removeprefix("duckdb:"))
        case "duckdb":
            from .backends.duckdb import DuckDB  # noqa: PLC0415

            return DuckDB(_known(target))
        case "postgresql:":
            from .backends.psycopg import Psycopg  # noqa: PLC0415

            return Psycopg(str(target))
        case "psycopg":
            from .backends.psycopg import Psycopg  # noqa: PLC0415

            return Psycopg(_known(target))
        case "apsw":
            from .backends.apsw import APSW  # noqa: PLC0415

            return APSW(_known(target))
        case "sqlite3" | "pysqlite3" | "sqlean":
            from .backends.sqlite import SQLite  # noqa: PLC0415

            return SQLite(target)
        case "aiosqlite":
            raise StoreError(
                "an aiosqlite connection is async", advice="use open_async or AsyncDeleter"
            )
        case _:
            raise StoreError(
                f"nobody here knows what a {type(target).__name__} is", advice=f"pass {_ACCEPTED}"
            )


def _async_backend(target: object) -> AsyncBackend:
    if _driver(target) == "aiosqlite":
        from .backends.aiosqlite import AioSQLite  # noqa: PLC0415

        return AioSQLite(_known(target))  # which says what it needs

    raise StoreError(
        f"a {type(target).__name__} cannot be shared with asyncio",
        advice="pass a path or a URL, or use open in the thread that holds the connection",
    )


def _driver(target: object) -> str:
    """
    The package whose connection it is, or the beginning of a URL.
    """
    if isinstance(target, _URLTarget):
        return f"{target.partition(':')[0]}:"
    known = {"sqlite3", "pysqlite3", "sqlean", "apsw", "duckdb", "psycopg", "aiosqlite"}
    packages = (each.__module__.partition(".")[0].lstrip("_") for each in type(target).__mro__)

    return next((package for package in packages if package in known), "")


def _known(target: object) -> Any:
    """
    *target*, whose package has been looked at; its class is checked where it is imported.
    """
    return target


# --- SQLite files ---------------------------------------------------------------------------


def _file(path: Path, store: Store | None) -> tuple[Backend, Store]:
    from .backends.files import checked  # noqa: PLC0415 - only for files
    from .backends.sqlite import SQLite  # noqa: PLC0415

    plain = SQLite(checked(path))
    try:
        live = plain.introspect()
        found = store or _recognised(live)
    finally:
        plain.close()  # and opened again by whoever works with it, in its own thread

    return (_with_vec(path) if _needs_vec(found, live) else plain), found


def _recognised(live: LiveSchema) -> Store:
    from .stores import recognise  # noqa: PLC0415 - a given store needs no catalogue

    return recognise(live)


def _needs_vec(store: Store, live: LiveSchema) -> bool:
    tables = (
        live.table(sidecar.table)
        for collection in store.collections
        for sidecar in collection.sidecars
        if isinstance(sidecar, Vectors)
    )

    return any(table is not None and table.module == "vec0" for table in tables)


def _with_vec(path: Path) -> Backend:
    """
    The first adapter at hand that can load vec0.
    """
    from .backends.files import vec_path  # noqa: PLC0415 - only for vectors

    make = next(_able(), None)
    if make is None or vec_path() is None:
        raise StoreError(
            "the store has vectors, and nothing here can read them",
            place=str(path),
            advice="install memdelete[vec]",
        )

    return make(path)


def _able() -> Iterator[Callable[[Path], Backend]]:
    from .backends.sqlite import SQLite, imported, loads_extensions  # noqa: PLC0415

    if loads_extensions():
        yield SQLite
    if find_spec("apsw"):
        from .backends.apsw import APSW  # noqa: PLC0415

        yield APSW
    for name in ("pysqlite3", "sqlean"):
        if find_spec(name) and loads_extensions(module := imported(name)):
            yield lambda path, module=module: SQLite(path, module=module)  # type: ignore[misc]
