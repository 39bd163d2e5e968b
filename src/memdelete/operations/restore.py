"""
Taking back: each row whole, with its sidecars and old key, or refused with its reason.

Rows come from the bin by operation or by filter; a filter also finds what the product itself had
tombstoned. The rest comes back when some cannot, unless `strict` asks for all or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from attrs import define, field, frozen

from memdelete.errors import FilterError, Refused, StoreError, Unverified
from memdelete.filters import Everything, Filter, KeyValue
from memdelete.questions import (
    MARK,
    Append,
    Clear,
    CountTie,
    Discard,
    Found,
    Listed,
    Look,
    Lookup,
    Now,
    PutBackRows,
    PutBackTie,
    Recall,
    Refuse,
    Revive,
    Selection,
    Site,
    Stage,
    StageBin,
    Staged,
    Tell,
    Unlike,
)
from memdelete.receipts import Entry, Reason, Receipt, Refusal, Restoration
from memdelete.schema import FullText, Ledger, LiveTable, Vectors

from .journal import journal_sites, remembered_scope, write_down
from .plan import Desk, Order, order, sites_of
from .talk import Talk, ask, transaction


__all__ = ["changed_columns", "restore"]

_BEFORE: tuple[Reason, ...] = (
    "ambiguous",
    "key_taken",
    "changed_since",
    "unique_taken",
    "live_twin",
)


@define(eq=False)
class _Tale:
    came: dict[str, Sequence[Found]] = field(factory=dict)
    refused: list[Refusal] = field(factory=list)
    incomplete: dict[str, int] = field(factory=dict)
    tables: dict[str, int] = field(factory=dict)

    def refuse(self, site: Site, told: Sequence[Tell]) -> None:
        name = site.collection.name
        self.refused += [
            Refusal(collection=name, key=tell.key, reason=tell.reason, detail=tell.detail)
            for tell in told
        ]

    def count(self, table: str, number: int) -> None:
        if number:
            self.tables[table] = self.tables.get(table, 0) + number

    def wait(self, name: str, number: int) -> None:
        if number:
            self.incomplete[name] = self.incomplete.get(name, 0) + number


@frozen(eq=False)
class _Wish:
    filter: Filter
    operation: str | None = None
    keys: Mapping[str, Sequence[KeyValue]] | None = None
    foreign: bool = False


def restore(
    desk: Desk,
    what: Receipt | str | Filter,
    *,
    operation: str,
    collections: Sequence[str] | None = None,
    strict: bool = False,
    only_bin: bool = False,
    reason: str | None = None,
) -> Talk[Restoration]:
    """
    Give back what an operation took, or what a filter selects among the deleted.
    """

    def body(ours: bool) -> Talk[Restoration]:  # noqa: FBT001 - told by `transaction`
        now = yield from ask(Now())
        sites = sites_of(desk, (yield from ask(Look())), collections)
        wish = yield from _wish(desk, what, sites[0])
        wanted = order(desk, sites, wish.filter, now=now, mode=None, include="deleted", binned=True)
        sites = yield from journal_sites(desk, wanted, ours, bins=False)
        tale = _Tale()
        for selection, site in zip(wanted.selections, sites, strict=True):
            here = attrs.evolve(selection, site=site, protect=None)
            yield from _from_bin(here, wish, tale, now)
            if wish.operation is None and not only_bin:
                yield from _from_tombstones(here, tale, now)
        if strict and tale.refused:
            raise _all_or_none(tale)
        yield from ask(Clear(sites))
        done = yield from _told(desk, wanted, tale, operation, ours=ours, reason=reason)
        yield from write_down(
            desk, sites[0], operation, "restore", attrs.evolve(done, durable=True).to_dict(), at=now
        )
        return done

    return (yield from transaction(body, write=True, operation=operation))


def changed_columns(table: LiveTable, bin_: LiveTable) -> str:
    """
    The columns that changed since the bin took its rows, so that they no longer fit; or ``""``.
    """
    kept = {column.name: column for column in bin_.columns if not column.name.startswith(MARK)}
    told = [f"{name} is gone" for name in kept if table.column(name) is None]
    for column in table.columns:
        before = kept.get(column.name)
        if before is None:
            if column.not_null and column.default is None and not column.generated:
                told.append(f"{column.name} is new and needs a value")
        elif before.type.upper() != column.type.upper():
            told.append(
                f"{column.name} was {before.type or 'untyped'}, is {column.type or 'untyped'}"
            )

    return ", ".join(told)


# --- what is wished for ---------------------------------------------------------------------


def _wish(desk: Desk, what: Receipt | str | Filter, site: Site) -> Talk[_Wish]:
    match what:
        case Filter():
            return _Wish(what)
        case Receipt(operation=operation):
            return (yield from _operation(desk, operation, site, what))
        case str():
            return (yield from _operation(desk, what, site, None))
        case _:
            raise FilterError(
                f"a {type(what).__name__} is nothing to restore",
                advice="give a receipt, an operation's id, or a filter",
            )


def _operation(desk: Desk, operation: str, site: Site, receipt: Receipt | None) -> Talk[_Wish]:
    entries: Sequence[Entry] = yield from ask(Recall(site, desk.store.name, operation))
    entry = next(iter(entries), None)
    scope = None if entry is None else (yield from remembered_scope(desk, site))
    if entry is None or (scope is not None and entry.scope not in (None, scope)):
        raise StoreError(
            f"there is no operation {operation!r}",
            place=desk.store.name,
            advice="history() lists them",
        )
    if entry.verb != "delete":
        raise StoreError(
            f"operation {operation} was a {entry.verb}, and only a delete is taken back",
            place=desk.store.name,
        )
    modes = entry.report.get("mode")
    if isinstance(modes, Mapping) and modes and set(modes.values()) == {"hard"}:
        raise Refused(f"operation {operation} was hard: nothing was kept of it", guard="mode")
    foreign = entry.scope != scope
    if receipt is not None:
        return _Wish(Everything(), operation, receipt.keys, foreign)

    return _Wish(Everything(), operation, None if foreign else _keys(entry), foreign)


def _keys(entry: Entry) -> dict[str, list[KeyValue]]:
    said = entry.report.get("keys")
    if not isinstance(said, Mapping):
        return {}

    return {
        str(name): [tuple(key) if isinstance(key, list) else key for key in keys]
        for name, keys in said.items()
    }


# --- the steps ------------------------------------------------------------------------------


def _from_bin(selection: Selection, wish: _Wish, tale: _Tale, now: datetime) -> Talk[None]:
    site = selection.site
    asked: Sequence[Found] = ()
    if site.has_bin:
        yield from ask(StageBin(attrs.evolve(selection, binned=True), wish.operation))
        asked = yield from ask(Listed(site))
    if wish.keys is not None:
        yield from _tell_absent(selection, wish, {row.key for row in asked}, tale)
    if not asked:
        return
    changed = changed_columns(site.table, site.schema.tables[site.bin])
    if changed:
        tale.refuse(site, (yield from ask(Refuse(site, "schema_changed", detail=changed))))
        return
    for ground in _BEFORE:
        tale.refuse(site, (yield from ask(Refuse(site, ground))))
    yield from _put_back(site, tale, now)


def _put_back(site: Site, tale: _Tale, now: datetime) -> Talk[None]:
    changed = yield from ask(PutBackRows(site))
    tale.refuse(site, (yield from ask(Refuse(site, "unique_taken", absent=True))))
    rows = yield from ask(Listed(site))
    if changed != len(rows):
        raise _unlike(site.collection.table, len(rows), changed)
    if not rows:
        return
    rewritten = yield from ask(Unlike(site))
    unlike = (yield from ask(Unlike(site, untouched=True))) if rewritten else 0
    for touched in site.collection.touch if rewritten else ():
        # A trigger of the product's sets this time at each update, at that of an undo too.
        tale.wait(f"{site.collection.table}.{touched.column}", rewritten)
    if unlike:
        raise Unverified(
            f"a trigger rewrote {unlike} rows of {site.collection.table} as they came back; "
            "everything was rolled back",
            remains={site.collection.table: unlike},
            advice="declare what it sets as touch=…, or drop the trigger while restoring",
        )
    tale.came[site.collection.name] = rows
    tale.count(site.collection.table, len(rows))
    for tie in site.collection.ties:
        came, waiting = yield from ask(PutBackTie(site, tie))
        tale.count(tie.table, came)
        tale.wait(tie.table, waiting)
    taken = yield from ask(Discard(site))
    if taken != len(rows):
        raise _unlike(site.bin, len(rows), taken)
    yield from _tell_ledgers(site, now)


def _from_tombstones(selection: Selection, tale: _Tale, now: datetime) -> Talk[None]:
    site = selection.site
    if site.collection.tombstone is None:
        return
    yield from ask(Stage(selection, imageless=True))
    for ground in ("unique_taken", "live_twin"):
        tale.refuse(site, (yield from ask(Refuse(site, ground, in_place=True))))
    rows = yield from ask(Listed(site))
    if not rows:
        return
    vectors = None
    for tie in site.collection.ties:
        if isinstance(tie, Ledger | FullText) or tie.on_soft == "keep":
            continue
        held = yield from ask(CountTie(Staged(site), tie))
        vectors = tie if isinstance(tie, Vectors) else vectors
        # What the product threw away is not known by number: at least one of each is missing.
        tale.wait(tie.table, max(len(rows) - held, 0))
    revived = yield from ask(Revive(site, vectors))
    if revived != len(rows):
        raise _unlike(site.collection.table, len(rows), revived)
    tale.came[site.collection.name] = (*tale.came.get(site.collection.name, ()), *rows)
    tale.count(site.collection.table, len(rows))
    yield from _tell_ledgers(site, now)


def _tell_ledgers(site: Site, now: datetime) -> Talk[None]:
    for tie in site.collection.ties:
        if isinstance(tie, Ledger):
            yield from ask(Append(Staged(site), tie, "restored", now))


def _tell_absent(
    selection: Selection, wish: _Wish, staged: set[KeyValue], tale: _Tale
) -> Talk[None]:
    site, name = selection.site, selection.site.collection.name
    absent = tuple(key for key in (wish.keys or {}).get(name, ()) if key not in staged)
    if not absent:
        return
    there = dict((yield from ask(Lookup(selection, absent, hashes=False))))
    for key in absent:
        if there.get(key):
            tell = Tell(key, "key_taken", "a live row has this key already")
        elif wish.foreign:
            tell = Tell(key, "not_found")
        else:
            tell = Tell(key, "purged", "the bin holds it no longer, or under another operation")
        tale.refuse(site, [tell])


def _told(
    desk: Desk,
    wanted: Order,
    tale: _Tale,
    operation: str,
    *,
    ours: bool,
    reason: str | None,
) -> Talk[Restoration]:
    return Restoration(
        operation=operation,
        restored=sum(map(len, tale.came.values())),
        hashes=tuple(row.hash for rows in tale.came.values() for row in rows if row.hash),
        keys={name: tuple(row.key for row in rows) for name, rows in tale.came.items()},
        refused=tuple(tale.refused),
        incomplete=tale.incomplete,
        tables=tale.tables,
        durable=ours,
        actor=desk.actor,
        reason=reason,
        started_at=wanted.at,
        finished_at=(yield from ask(Now())),
    )


def _unlike(table: str, expected: int, found: int) -> Unverified:
    return Unverified(
        f"{table}: {expected} rows were to come back and {found} did; everything was rolled back",
        remains={table: expected - found},
    )


def _all_or_none(tale: _Tale) -> Refused:
    first = tale.refused[0]

    return Refused(
        f"{len(tale.refused)} rows cannot come back (the first: {first.collection} {first.key!r}, "
        f"{first.reason}), and strict asks for all or none",
        guard="strict",
        limit=0,
        found=len(tale.refused),
        advice="restore without strict to get the rest",
    )
