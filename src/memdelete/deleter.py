"""
The front door, in both colours: the same verbs with the same arguments.

A deleter is a store, a backend and its guards; each verb starts a talk and lets the backend's
session answer it. No logic lives here, so that the two colours cannot differ.
"""

from __future__ import annotations

import inspect
import uuid

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from . import instants
from .driving import run, run_async
from .errors import FilterError, StoreError
from .operations.delete import delete as _delete
from .operations.history import history as _history
from .operations.history import prepare as _prepare
from .operations.plan import Desk
from .operations.preview import preview as _preview
from .operations.purge import purge as _purge
from .operations.restore import restore as _restore
from .operations.talk import Talk


if TYPE_CHECKING:
    from datetime import timedelta

    from .backends.abc import AsyncBackend, Backend
    from .filters import Filter
    from .instants import Moment
    from .receipts import Entry, Include, Mode, Preview, Receipt, Restoration
    from .schema import Store

__all__ = ["AsyncBin", "AsyncDeleter", "Bin", "Deleter"]

T = TypeVar("T")


class _Run(Protocol):
    def __call__(self, talk: Talk[T], *, write: bool) -> T: ...


class _RunAsync(Protocol):
    async def __call__(self, talk: Talk[T], *, write: bool) -> T: ...


def _refuse_no_text(word: str, said: object) -> None:
    if said is not None and not isinstance(said, str):
        raise FilterError(f"{said!r} is no text", value=said, place=word)


def _refuse_no_backend(backend: object, kind: str, other: str) -> None:
    # Told apart by what they can do, since backends of other people's need no class of ours.
    closes = getattr(backend, "close", None)
    wants_await = kind == "AsyncDeleter"
    if callable(getattr(backend, "session", None)) and (
        inspect.iscoroutinefunction(closes) is wants_await
    ):
        return
    name = type(backend).__name__
    if callable(getattr(backend, "session", None)):
        raise StoreError(f"{name} is of the other colour", place=kind, advice=f"give it to {other}")
    way = "open_async" if wants_await else "open"
    raise StoreError(
        f"a {name} is no backend", place=kind, advice=f"memdelete.{way}(it, store=…) finds the one"
    )


class _Front:
    def __init__(
        self,
        store: Store,
        *,
        zone: str = "UTC",
        scope: Filter | None = None,
        protect: Filter | None = None,
        at_most: int | None = None,
        max_share: float | None = None,
        actor: str | None = None,
        retention: str | timedelta = "30d",
    ) -> None:
        _refuse_no_text("actor", actor)
        self.store = store
        self.retention = instants.age(retention, "retention")
        self._desk = Desk(
            store=store,
            zone=instants.zone(zone),
            scope=scope,
            protect=protect,
            at_most=at_most,
            max_share=max_share,
            actor=actor,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store.name!r})"


class Deleter(_Front):
    """
    Preview, delete, restore and purge memories of one store, within its guards.

    *scope* binds every verb to the rows of which it is certainly true; *protect* keeps the rows
    of which it is not certainly false. *at_most* and *max_share* are ceilings: more is refused,
    never capped. *zone* reads naive times and bare dates. Not shared between threads.
    """

    def __init__(
        self,
        backend: Backend,
        store: Store,
        *,
        zone: str = "UTC",
        scope: Filter | None = None,
        protect: Filter | None = None,
        at_most: int | None = None,
        max_share: float | None = None,
        actor: str | None = None,
        retention: str | timedelta = "30d",
    ) -> None:
        _refuse_no_backend(backend, "Deleter", "AsyncDeleter")
        super().__init__(
            store,
            zone=zone,
            scope=scope,
            protect=protect,
            at_most=at_most,
            max_share=max_share,
            actor=actor,
            retention=retention,
        )
        self.backend = backend

    def preview(
        self,
        what: Filter,
        *,
        mode: Mode | None = None,
        collections: Sequence[str] | None = None,
        include: Include | None = None,
    ) -> Preview:
        """
        Show exactly what `delete` with the same words would take. Writes nothing.
        """
        talk = _preview(self._desk, what, mode=mode, collections=collections, include=include)

        return self._run(talk, write=False)

    def delete(
        self,
        what: Filter | Preview,
        *,
        mode: Mode | None = None,
        collections: Sequence[str] | None = None,
        include: Include | None = None,
        at_most: int | None = None,
        max_share: float | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """
        Delete what a filter selects, or exactly what a preview showed.

        *mode* is ``soft`` where the store has a tombstone, else ``archive``: both can be undone;
        ``hard`` cannot. Raises `Refused` above a ceiling and `PreviewStale` when the preview no
        longer holds; nothing is changed then.
        """
        talk = _delete(
            self._desk,
            what,
            operation=uuid.uuid4().hex,
            mode=mode,
            collections=collections,
            include=include,
            at_most=at_most,
            max_share=max_share,
            reason=reason,
        )

        return self._run(talk, write=True)

    def restore(
        self,
        what: Receipt | str | Filter,
        *,
        collections: Sequence[str] | None = None,
        strict: bool = False,
        reason: str | None = None,
    ) -> Restoration:
        """
        Give back what a receipt, an operation or a filter over the deleted names.

        Rows that cannot come back are refused one by one, each with its reason, and the rest
        returns; with *strict* it is all or none.
        """
        talk = _restore(
            self._desk,
            what,
            operation=uuid.uuid4().hex,
            collections=collections,
            strict=strict,
            reason=reason,
        )

        return self._run(talk, write=True)

    def purge(
        self,
        *,
        older_than: str | timedelta | None = None,
        deleted_before: str | Moment | None = None,
        filter: Filter | None = None,
        collections: Sequence[str] | None = None,
        at_most: int | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """
        Remove for good what was *deleted* long enough ago, from the store and from the bin.

        Age is always the time of deletion, and the cutoff is strict. Without arguments the bin
        alone is held to its retention.
        """
        talk = _purge(
            self._desk,
            operation=uuid.uuid4().hex,
            older_than=older_than,
            deleted_before=deleted_before,
            filter=filter,
            retention=self.retention,
            collections=collections,
            at_most=at_most,
            reason=reason,
        )

        return self._run(talk, write=True)

    def history(self, operation: str | None = None, *, limit: int = 100) -> Sequence[Entry]:
        """
        The journal, newest first; with *operation*, that one if it happened, else nothing.
        """
        return self._run(_history(self._desk, operation=operation, limit=limit), write=False)

    def prepare(self, *, dry_run: bool = False) -> Sequence[str]:
        """
        Make the journal and the bins beforehand; with *dry_run* only tell the statements.
        """
        return self._run(_prepare(self._desk, dry_run=dry_run), write=not dry_run)

    @property
    def bin(self) -> Bin:
        """
        The bin by itself: what lies in it can be purged without touching the store's tombstones.
        """
        return Bin(self._desk, self._run, self.retention)

    def close(self) -> None:
        """
        Give up the backend's own connections; a connection of yours stays open.
        """
        self.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, talk: Talk[T], *, write: bool) -> T:
        with self.backend.session(write=write) as session:
            return run(talk, session)


class AsyncDeleter(_Front):
    """
    `Deleter`, awaited: the same verbs with the same arguments.
    """

    def __init__(
        self,
        backend: AsyncBackend,
        store: Store,
        *,
        zone: str = "UTC",
        scope: Filter | None = None,
        protect: Filter | None = None,
        at_most: int | None = None,
        max_share: float | None = None,
        actor: str | None = None,
        retention: str | timedelta = "30d",
    ) -> None:
        _refuse_no_backend(backend, "AsyncDeleter", "Deleter")
        super().__init__(
            store,
            zone=zone,
            scope=scope,
            protect=protect,
            at_most=at_most,
            max_share=max_share,
            actor=actor,
            retention=retention,
        )
        self.backend = backend

    async def preview(
        self,
        what: Filter,
        *,
        mode: Mode | None = None,
        collections: Sequence[str] | None = None,
        include: Include | None = None,
    ) -> Preview:
        """
        Show exactly what `delete` with the same words would take. Writes nothing.
        """
        talk = _preview(self._desk, what, mode=mode, collections=collections, include=include)

        return await self._run(talk, write=False)

    async def delete(
        self,
        what: Filter | Preview,
        *,
        mode: Mode | None = None,
        collections: Sequence[str] | None = None,
        include: Include | None = None,
        at_most: int | None = None,
        max_share: float | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """
        Delete what a filter selects, or exactly what a preview showed.
        """
        talk = _delete(
            self._desk,
            what,
            operation=uuid.uuid4().hex,
            mode=mode,
            collections=collections,
            include=include,
            at_most=at_most,
            max_share=max_share,
            reason=reason,
        )

        return await self._run(talk, write=True)

    async def restore(
        self,
        what: Receipt | str | Filter,
        *,
        collections: Sequence[str] | None = None,
        strict: bool = False,
        reason: str | None = None,
    ) -> Restoration:
        """
        Give back what a receipt, an operation or a filter over the deleted names.
        """
        talk = _restore(
            self._desk,
            what,
            operation=uuid.uuid4().hex,
            collections=collections,
            strict=strict,
            reason=reason,
        )

        return await self._run(talk, write=True)

    async def purge(
        self,
        *,
        older_than: str | timedelta | None = None,
        deleted_before: str | Moment | None = None,
        filter: Filter | None = None,
        collections: Sequence[str] | None = None,
        at_most: int | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """
        Remove for good what was *deleted* long enough ago, from the store and from the bin.
        """
        talk = _purge(
            self._desk,
            operation=uuid.uuid4().hex,
            older_than=older_than,
            deleted_before=deleted_before,
            filter=filter,
            retention=self.retention,
            collections=collections,
            at_most=at_most,
            reason=reason,
        )

        return await self._run(talk, write=True)

    async def history(self, operation: str | None = None, *, limit: int = 100) -> Sequence[Entry]:
        """
        The journal, newest first; with *operation*, that one if it happened, else nothing.
        """
        talk = _history(self._desk, operation=operation, limit=limit)

        return await self._run(talk, write=False)

    async def prepare(self, *, dry_run: bool = False) -> Sequence[str]:
        """
        Make the journal and the bins beforehand; with *dry_run* only tell the statements.
        """
        return await self._run(_prepare(self._desk, dry_run=dry_run), write=not dry_run)

    @property
    def bin(self) -> AsyncBin:
        """
        The bin by itself: what lies in it can be purged without touching the store's tombstones.
        """
        return AsyncBin(self._desk, self._run, self.retention)

    async def close(self) -> None:
        """
        Give up the backend's own connections; a connection of yours stays open.
        """
        await self.backend.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, talk: Talk[T], *, write: bool) -> T:
        async with self.backend.session(write=write) as session:
            return await run_async(talk, session)


class Bin:
    """
    The bin of a deleter: what was deleted and can come back.
    """

    def __init__(self, desk: Desk, run: _Run, retention: instants.Age) -> None:
        self._desk = desk
        self._run = run
        self._retention = retention

    def preview(self, what: Filter, *, collections: Sequence[str] | None = None) -> Preview:
        """
        What of the bin the filter selects; ``deleted_at`` is the time of deletion there.
        """
        talk = _preview(self._desk, what, collections=collections, binned=True)

        return self._run(talk, write=False)

    def restore(
        self,
        what: Filter,
        *,
        collections: Sequence[str] | None = None,
        strict: bool = False,
        reason: str | None = None,
    ) -> Restoration:
        """
        Give back what the filter selects in the bin; tombstones of the product's own stay.
        """
        talk = _restore(
            self._desk,
            what,
            operation=uuid.uuid4().hex,
            collections=collections,
            strict=strict,
            only_bin=True,
            reason=reason,
        )

        return self._run(talk, write=True)

    def purge(
        self,
        *,
        older_than: str | timedelta | None = None,
        deleted_before: str | Moment | None = None,
        filter: Filter | None = None,
        collections: Sequence[str] | None = None,
        at_most: int | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """
        Remove for good from the bin alone; what is only marked in the store stays marked.
        """
        talk = _purge(
            self._desk,
            operation=uuid.uuid4().hex,
            older_than=older_than,
            deleted_before=deleted_before,
            filter=filter,
            retention=self._retention,
            only_bin=True,
            collections=collections,
            at_most=at_most,
            reason=reason,
        )

        return self._run(talk, write=True)


class AsyncBin:
    """
    `Bin`, awaited.
    """

    def __init__(self, desk: Desk, run: _RunAsync, retention: instants.Age) -> None:
        self._desk = desk
        self._run = run
        self._retention = retention

    async def preview(self, what: Filter, *, collections: Sequence[str] | None = None) -> Preview:
        """
        What of the bin the filter selects; ``deleted_at`` is the time of deletion there.
        """
        talk = _preview(self._desk, what, collections=collections, binned=True)

        return await self._run(talk, write=False)

    async def restore(
        self,
        what: Filter,
        *,
        collections: Sequence[str] | None = None,
        strict: bool = False,
        reason: str | None = None,
    ) -> Restoration:
        """
        Give back what the filter selects in the bin; tombstones of the product's own stay.
        """
        talk = _restore(
            self._desk,
            what,
            operation=uuid.uuid4().hex,
            collections=collections,
            strict=strict,
            only_bin=True,
            reason=reason,
        )

        return await self._run(talk, write=True)

    async def purge(
        self,
        *,
        older_than: str | timedelta | None = None,
        deleted_before: str | Moment | None = None,
        filter: Filter | None = None,
        collections: Sequence[str] | None = None,
        at_most: int | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """
        Remove for good from the bin alone; what is only marked in the store stays marked.
        """
        talk = _purge(
            self._desk,
            operation=uuid.uuid4().hex,
            older_than=older_than,
            deleted_before=deleted_before,
            filter=filter,
            retention=self._retention,
            only_bin=True,
            collections=collections,
            at_most=at_most,
            reason=reason,
        )

        return await self._run(talk, write=True)
