"""
Purging: deleted rows that need not come back go for good, by the time of their *deletion*.

Tombstones leave the table with all that hangs on them, images leave the bin. Nothing live is
ever touched, and nothing is purged in passing.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from memdelete import instants
from memdelete.errors import FilterError, Unverified
from memdelete.filters import And, Before, Everything, Filter, OlderThan
from memdelete.questions import (
    Clear,
    Discard,
    Found,
    Listed,
    Look,
    Now,
    Selection,
    Stage,
    StageBin,
    Staged,
    Still,
)
from memdelete.receipts import Receipt
from memdelete.schema import Flag

from .delete import remove, unclaimed
from .digest import Digest
from .journal import journal_sites, journalled, remembered, write_down
from .plan import Desk, order, refuse_reach, refuse_referrers, sites_of, stay_with
from .preview import Survey
from .talk import Talk, ask, transaction


__all__ = ["purge"]


def purge(
    desk: Desk,
    *,
    operation: str,
    older_than: object = None,
    deleted_before: object = None,
    filter: Filter | None = None,
    retention: object = "30d",
    only_bin: bool = False,
    collections: Sequence[str] | None = None,
    at_most: int | None = None,
    reason: str | None = None,
) -> Talk[Receipt]:
    """
    Remove for good what was deleted long enough ago, or what *filter* selects of the deleted.

    Without a word, the bin alone is held to its *retention*.
    """
    said = older_than is not None or deleted_before is not None or filter is not None
    bound = _bound(older_than if said else retention, deleted_before)
    what = And(*(part for part in (filter, bound) if part is not None))

    def body(ours: bool) -> Talk[Receipt]:  # noqa: FBT001 - told by `transaction`
        now = yield from ask(Now())
        sites = sites_of(desk, (yield from ask(Look())), collections)
        if filter is not None:
            order(desk, sites, filter, now=now, mode=None, include="deleted", binned=True)
        wanted = order(desk, sites, Everything(), now=now, mode=None, include="deleted")
        sites = yield from journal_sites(desk, wanted, ours, bins=False)
        resolved = what.resolve(desk.zone, now)
        found: dict[str, Sequence[Found]] = {}
        tables: dict[str, int] = {}
        for selection, site in zip(wanted.selections, sites, strict=True):
            here = attrs.evolve(selection, site=site, filter=resolved)
            rows: list[Found] = []
            aged = _has_age(here, filter)
            if said and not only_bin and aged:
                rows += yield from _tombstones(here, tables)
            rows += yield from _images(here, tables, absent=not (aged or only_bin))
            found[site.collection.name] = rows
        yield from unclaimed(desk, sites[0].schema, tables)
        digest = Digest()
        for name, each in found.items():
            digest.add(name, each)
        stay_with(desk, digest.count, 0, at_most, None)
        seen = Survey(found, digest)
        receipt = Receipt(
            operation=operation,
            verb="purge",
            mode={},
            matched=digest.count,
            removed=digest.count,
            hashes=seen.hashes,
            keys=seen.keys,
            tables=tables,
            durable=ours,
            digest=str(digest),
            filter=(yield from remembered(desk, sites[0], resolved)),
            actor=desk.actor,
            reason=reason,
            started_at=now,
            finished_at=(yield from ask(Now())),
        )
        yield from ask(Clear(sites))
        report = journalled(receipt)
        yield from write_down(desk, sites[0], operation, "purge", report, at=now)
        return receipt

    return (yield from transaction(body, write=True, operation=operation))


def _bound(older_than: object, deleted_before: object) -> Filter | None:
    if older_than is not None and deleted_before is not None:
        raise FilterError(
            "older_than and deleted_before were both given",
            place="purge",
            advice="give one of them: both say when the deletion was",
        )
    if older_than is not None:
        return OlderThan(instants.age(older_than, "older_than"), "deleted_at")
    if deleted_before is not None:
        return Before(instants.moment(deleted_before, "deleted_before"), "deleted_at")

    return None


def _has_age(selection: Selection, filter_: Filter | None) -> bool:
    # A flag tells that a row was deleted and not when: only a filter can select such rows.
    tombstone = selection.site.collection.tombstone

    return not isinstance(tombstone, Flag) or filter_ is not None


def _tombstones(selection: Selection, tables: dict[str, int]) -> Talk[Sequence[Found]]:
    site = selection.site
    if site.collection.tombstone is None or not (yield from ask(Stage(selection))):
        return ()
    refuse_reach(site, "hard")
    rows = yield from ask(Listed(site))
    target = Staged(site)
    yield from refuse_referrers(target)
    lost = yield from remove(site, target, "hard", len(rows))
    lost[site.collection.table] = len(rows)
    if site.has_bin:
        lost[site.bin] = yield from ask(Discard(site, of_table=True, scope=selection.scope))
    left = yield from ask(Still(target))
    if left:
        raise Unverified(
            f"{left} rows of {site.collection.table} are still there; everything was rolled back",
            remains={site.collection.table: left},
        )
    for table, number in lost.items():
        if number:
            tables[table] = tables.get(table, 0) + number

    return rows


def _images(selection: Selection, tables: dict[str, int], *, absent: bool) -> Talk[Sequence[Found]]:
    site = selection.site
    if not site.has_bin or not (
        yield from ask(StageBin(attrs.evolve(selection, binned=True), absent=absent))
    ):
        return ()
    rows = yield from ask(Listed(site))
    lost = {site.bin: (yield from ask(Discard(site)))}
    for table, number in lost.items():
        if number:
            tables[table] = tables.get(table, 0) + number

    return rows
