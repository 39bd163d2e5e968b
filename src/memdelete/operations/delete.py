"""
Deleting, told aloud: begin, select, refuse if too many, archive, unhook, mark or remove, look
again, write it down, commit. Nothing is reported that was not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from attrs import frozen

from memdelete.errors import FilterError, PreviewStale, Refused, StoreError, Unverified
from memdelete.filters import Filter
from memdelete.questions import (
    Append,
    ArchiveRows,
    ArchiveTie,
    Clear,
    CountTie,
    CountView,
    Discard,
    DiscardTie,
    Found,
    Look,
    Mark,
    Now,
    RemoveRows,
    RemoveTie,
    Rewritten,
    Selection,
    Site,
    Stage,
    Staged,
    Still,
    Targets,
    tie_bin,
)
from memdelete.receipts import Include, Mode, Preview, Receipt
from memdelete.schema import FullText, Ledger, LiveSchema, Sidecar

from .journal import journal_sites, journalled, remembered, write_down
from .plan import (
    Desk,
    Order,
    going,
    order,
    refers_to_itself,
    refuse_reach,
    refuse_referrers,
    refuse_unrestorable,
    sites_of,
    stay_with,
)
from .preview import Survey, losses, missing_values, survey
from .talk import Talk, ask, transaction


__all__ = ["delete", "remove", "unclaimed"]


@frozen(eq=False)
class _Doing:
    operation: str
    ours: bool
    reason: str | None


def delete(
    desk: Desk,
    what: Filter | Preview,
    *,
    operation: str,
    mode: Mode | None = None,
    collections: Sequence[str] | None = None,
    include: Include | None = None,
    at_most: int | None = None,
    max_share: float | None = None,
    reason: str | None = None,
) -> Talk[Receipt]:
    """
    Delete what the filter, or exactly what the preview, says.
    """
    shown = what if isinstance(what, Preview) else None
    if shown is not None:
        _refuse_other_words(desk, shown, mode, collections, include)

    def body(ours: bool) -> Talk[Receipt]:  # noqa: FBT001 - told by `transaction`
        doing = _Doing(operation, ours, reason)
        now = yield from ask(Now())
        names = shown.collections if shown is not None else collections
        sites = sites_of(desk, (yield from ask(Look())), names)
        filter_ = shown.filter if shown is not None else what
        said = shown.include if shown is not None else include
        wanted = order(desk, sites, filter_, now=now, mode=mode, include=said)  # type: ignore[arg-type]
        if shown is not None:
            wanted = _as_shown(wanted, shown)
        targets = yield from _choose(wanted)
        seen = yield from survey(wanted, targets)
        if shown is not None:
            _refuse_stale(shown, seen)
        view = 0
        for selection in wanted.selections if _asks_share(desk, max_share) else ():
            view += yield from ask(CountView(selection))
        stay_with(desk, seen.digest.count, view, at_most, max_share)
        if seen.digest.count:
            wanted = yield from _with_tables(desk, wanted, doing)
            targets = _within(wanted, targets)
        receipt = yield from _go(desk, wanted, targets, seen, doing)
        yield from ask(Clear(wanted.sites))
        return receipt

    return (yield from transaction(body, write=True, operation=operation))


def remove(site: Site, targets: Targets, mode: Mode, expected: int) -> Talk[dict[str, int]]:
    """
    Unhook and remove (or leave to be marked) the targets; answers what each table lost.
    """
    lost: dict[str, int] = {}
    for tie in going(site, mode):
        held = yield from ask(CountTie(targets, tie))
        if not held:
            continue
        yield from ask(RemoveTie(targets, tie))
        lost[tie.table] = lost.get(tie.table, 0) + held
    if mode != "soft":
        gone = yield from ask(RemoveRows(targets))
        if gone != expected:
            raise _short(site.collection.table, expected, gone)
    for tie in going(site, mode):  # an index that its own trigger keeps loses entries only now
        left = yield from ask(CountTie(targets, tie)) if tie.table in lost else _nothing()
        if left:
            raise Unverified(
                f"{left} rows of {tie.table} are still there after their removal; "
                "everything was rolled back",
                remains={tie.table: left},
            )

    return lost


def unclaimed(desk: Desk, schema: LiveSchema, lost: dict[str, int]) -> Talk[None]:
    """
    Take out of the sidecars' bins what no image of any collection claims any more.
    """
    shared: dict[str, list[tuple[Site, Sidecar]]] = {}
    for site in sites_of(desk, schema):
        for tie in site.collection.ties:
            shared.setdefault(tie_bin(tie), []).append((site, tie))
    for name, pairs in shared.items():
        number = yield from ask(DiscardTie(tuple(pairs)))
        if number:
            lost[name] = lost.get(name, 0) + number


def _nothing() -> Talk[int]:
    yield from ()

    return 0


# --- the steps ------------------------------------------------------------------------------


def _with_tables(desk: Desk, wanted: Order, doing: _Doing) -> Talk[Order]:
    bins = any(mode != "hard" for mode in wanted.modes.values())
    sites = yield from journal_sites(desk, wanted, doing.ours, bins=bins)
    selections = tuple(
        attrs.evolve(selection, site=site)
        for selection, site in zip(wanted.selections, sites, strict=True)
    )

    return attrs.evolve(wanted, selections=selections)


def _choose(wanted: Order) -> Talk[tuple[Targets, ...]]:
    targets: list[Targets] = []
    for selection in wanted.selections:
        site = selection.site
        plain = not (site.collection.ties or site.has_bin or refers_to_itself(site))
        if wanted.modes[site.collection.name] == "hard" and plain:
            targets.append(selection)  # one statement does it: the predicate goes into the DELETE
            continue
        yield from ask(Stage(selection))
        targets.append(Staged(site))

    return tuple(targets)


def _within(wanted: Order, targets: Sequence[Targets]) -> tuple[Targets, ...]:
    # The same targets, at the sites as they are now that journal and bins are there.
    return tuple(
        Staged(selection.site) if isinstance(target, Staged) else selection
        for selection, target in zip(wanted.selections, targets, strict=True)
    )


def _go(
    desk: Desk, wanted: Order, targets: Sequence[Targets], seen: Survey, doing: _Doing
) -> Talk[Receipt]:
    absent, already = yield from missing_values(wanted)
    tables: dict[str, int] = {}
    copies: dict[str, int] = {}
    expected = yield from losses(wanted, targets)
    for selection, target in zip(wanted.selections, targets, strict=True):
        site = target.site
        count = len(seen.found[site.collection.name])
        mode = wanted.modes[site.collection.name]
        if not count:
            continue
        tables[site.collection.table] = count
        refuse_reach(site, mode)
        if mode != "soft":
            yield from refuse_referrers(target)
        if mode != "hard":
            refuse_unrestorable(site)
            _refuse_unnameable(site, seen.found[site.collection.name])
            yield from _archive(site, target, mode, count, doing=doing, at=wanted.at)
            copies[site.bin] = count
        yield from _tell_ledgers(site, target, wanted.at, copies)
        for table, number in (yield from remove(site, target, mode, count)).items():
            tables[table] = tables.get(table, 0) + number
        if mode == "hard" and site.has_bin:
            tables |= yield from _forget(desk, selection)
        if mode == "soft":
            yield from _mark(site, target, count, doing, wanted.at)
        left = yield from ask(Still(target, live=mode == "soft"))
        if left:
            raise _short(site.collection.table, count, count - left)
    _refuse_surprise(expected, tables, [site.collection.table for site in wanted.sites])
    first = wanted.sites[0]
    receipt = Receipt(
        operation=doing.operation,
        verb="delete",
        mode=wanted.modes,
        matched=seen.digest.count,
        removed=seen.digest.count,
        hashes=seen.hashes,
        keys=seen.keys,
        not_found=absent,
        already=already,
        tables=tables,
        durable=doing.ours,
        digest=str(seen.digest),
        filter=(yield from remembered(desk, first, wanted.filter)),
        actor=desk.actor,
        reason=doing.reason,
        started_at=wanted.at,
        finished_at=(yield from ask(Now())),
        copies_left=copies,
    )
    if seen.digest.count:  # where nothing happened there is nothing to write down
        report = journalled(receipt)
        yield from write_down(desk, first, doing.operation, "delete", report, at=wanted.at)

    return receipt


def _forget(desk: Desk, selection: Selection) -> Talk[dict[str, int]]:
    # Gone is gone: no image of an earlier soft delete or archive may bring the row back.
    site = selection.site
    images = yield from ask(Discard(site, of_table=True, scope=selection.scope))
    if not images:
        return {}
    yield from unclaimed(desk, site.schema, {})

    return {site.bin: images}


def _refuse_unnameable(site: Site, rows: Sequence[Found]) -> None:
    for row in rows:
        parts = row.key if isinstance(row.key, tuple) else (row.key,)
        if not all(isinstance(part, str | int | float) for part in parts):
            raise StoreError(
                f"a row has the key {row.key!r}, by which no undo could find it",
                place=site.collection.name,
                advice="say mode='hard', or give the row a key",
            )


def _archive(
    site: Site, target: Targets, mode: Mode, count: int, *, doing: _Doing, at: datetime
) -> Talk[None]:
    kept = yield from ask(ArchiveRows(target, doing.operation, at))
    if kept != count:
        raise _short(site.bin, count, kept)
    marked = [
        tie
        for tie in site.collection.ties
        if isinstance(tie, FullText) and "content" in site.schema.tables[tie.table].options
    ]
    for tie in dict.fromkeys([*going(site, mode), *marked]):
        held = yield from ask(CountTie(target, tie))
        kept = yield from ask(ArchiveTie(target, tie, doing.operation, at))
        if kept != held and not isinstance(tie, FullText):
            raise _short(tie.table, held, kept)


def _mark(site: Site, target: Targets, count: int, doing: _Doing, at: datetime) -> Talk[None]:
    marked = yield from ask(Mark(target, at))
    if marked != count:
        raise _short(site.collection.table, count, marked)
    rewritten = yield from ask(Rewritten(target, doing.operation))
    if rewritten:
        raise Unverified(
            f"a trigger rewrote {rewritten} rows of {site.collection.table} beyond their "
            "tombstone; everything was rolled back",
            remains={site.collection.table: rewritten},
            advice="declare what it sets as touch=…, or use mode='archive'",
        )


def _tell_ledgers(site: Site, target: Targets, at: datetime, copies: dict[str, int]) -> Talk[None]:
    for tie in site.collection.ties:
        if isinstance(tie, Ledger):
            told = yield from ask(Append(target, tie, "deleted", at))
            if told:
                copies[tie.table] = told


# --- what goes wrong ------------------------------------------------------------------------


def _short(table: str, expected: int, found: int) -> Unverified:
    return Unverified(
        f"{table}: {expected} rows were to change and {found} did; everything was rolled back",
        remains={table: expected - found},
        advice="a trigger may have vetoed or rewritten the change",
    )


def _refuse_surprise(
    expected: Mapping[str, int], tables: Mapping[str, int], own: Sequence[str]
) -> None:
    for table, number in expected.items():
        if tables.get(table, 0) != number and table not in own:
            raise _short(table, number, tables.get(table, 0))


def _asks_share(desk: Desk, max_share: float | None) -> bool:
    return desk.max_share is not None or max_share is not None


def _refuse_other_words(
    desk: Desk,
    shown: Preview,
    mode: Mode | None,
    collections: Sequence[str] | None,
    include: Include | None,
) -> None:
    if not shown.mode:
        raise FilterError(
            "this preview is of the bin",
            advice="bin.purge(filter=…) removes it from there for good",
        )
    if (desk.scope, desk.protect) != (shown.scope, shown.protect):
        raise Refused(
            "the preview was made under another scope or protect",
            guard="preview",
            advice="preview again with this deleter",
        )
    words = (
        ("mode", mode and {mode}, {frozenset(shown.mode.values())}),
        ("include", include, {shown.include}),
        ("collections", collections and set(collections), {frozenset(shown.collections)}),
    )
    for word, given, was in words:
        if given is not None and was is not None and given not in was:
            raise FilterError(
                f"{word}={given!r} differs from the preview's",
                value=given,
                advice="a delete of a preview takes its words from it",
            )


def _as_shown(wanted: Order, shown: Preview) -> Order:
    return attrs.evolve(wanted, modes=dict(shown.mode), include=shown.include)


def _refuse_stale(shown: Preview, seen: Survey) -> None:
    if shown.digest == str(seen.digest):
        return
    before, after = shown.fingerprints or {}, seen.digest.fingerprints or {}
    named = shown.fingerprints is not None and seen.digest.fingerprints is not None
    came: dict[str, list[object]] = {}
    gone: dict[str, list[object]] = {}
    changed: dict[str, list[object]] = {}
    for group, rows in (
        (came, after.keys() - before.keys()),
        (gone, before.keys() - after.keys()),
        (changed, {row for row in after.keys() & before.keys() if after[row] != before[row]}),
    ):
        for name, key in sorted(rows, key=repr) if named else ():
            group.setdefault(name, []).append(key)

    raise PreviewStale(
        came=came, gone=gone, changed=changed, expected=shown.matched, found=seen.digest.count
    )
