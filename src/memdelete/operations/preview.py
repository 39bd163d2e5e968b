"""
Looking before doing: the same selection, the same digest, and nothing written.

`survey` is what preview and delete share; what a delete adds to it lies in `delete`.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from attrs import frozen

from memdelete.filters import Filter, Hash, Key, KeyValue
from memdelete.questions import (
    Count,
    CountImages,
    CountTie,
    CountTies,
    CountView,
    Find,
    Found,
    Look,
    Lookup,
    Now,
    Said,
    Sample,
    Selection,
    Targets,
)
from memdelete.receipts import Include, Mode, Preview
from memdelete.schema import Collection, Edges, Rows

from .digest import Digest
from .plan import Desk, Order, going, needed, order, sites_of
from .talk import Talk, ask, transaction


__all__ = ["Survey", "losses", "missing_values", "preview", "survey"]


@frozen(eq=False)
class Survey:
    """
    What is selected: the rows found for each site, and their digest.
    """

    found: dict[str, Sequence[Found]]
    digest: Digest

    @property
    def hashes(self) -> tuple[str, ...]:
        """
        The hashes of all rows that have one.
        """
        return tuple(
            row.hash for rows in self.found.values() for row in rows if row.hash is not None
        )

    @property
    def keys(self) -> dict[str, tuple[KeyValue, ...]]:
        """
        The keys by collection, for the collections that lose any.
        """
        return {name: tuple(row.key for row in rows) for name, rows in self.found.items() if rows}


def preview(
    desk: Desk,
    what: Filter,
    *,
    mode: Mode | None = None,
    collections: Sequence[str] | None = None,
    include: Include | None = None,
    binned: bool = False,
) -> Talk[Preview]:
    """
    Show what a delete with the same words would take; or, *binned*, what lies in the bin.
    """

    def body(_: bool) -> Talk[Preview]:  # noqa: FBT001 - nothing is written, so nothing lasts
        now = yield from ask(Now())
        sites = sites_of(desk, (yield from ask(Look())), collections)
        wanted = order(desk, sites, what, now=now, mode=mode, include=include, binned=binned)
        if binned:
            there = [each for each in wanted.selections if each.site.has_bin]
            images = tuple(attrs.evolve(each, binned=True) for each in there)
            wanted = attrs.evolve(wanted, selections=images, modes={}, include="deleted")
        return (yield from _look(desk, wanted))

    return (yield from transaction(body, write=False))


def survey(wanted: Order, targets: Sequence[Targets]) -> Talk[Survey]:
    """
    Read the targets of every site, in the order of their keys, and digest them.
    """
    found: dict[str, Sequence[Found]] = {}
    digest = Digest()
    for selection, target in zip(wanted.selections, targets, strict=True):
        name = selection.site.collection.name
        rows = yield from ask(Find(target, selection))
        digest.add(name, rows)
        found[name] = [Found(row.key, row.hash) for row in rows]  # what they held is not kept

    return Survey(found, digest)


def losses(wanted: Order, targets: Sequence[Targets]) -> Talk[dict[str, int]]:
    """
    How many rows each table would lose or change.
    """
    counts: dict[str, int] = {}
    shared: dict[str, list[tuple[Targets, Edges | Rows]]] = {}
    for target in targets:
        site = target.site
        mode = wanted.modes[site.collection.name]
        for tie in going(site, mode):
            if isinstance(tie, Edges | Rows):  # one row may hang on several collections
                shared.setdefault(tie.table, []).append((target, tie))
            else:
                counts[tie.table] = yield from ask(CountTie(target, tie))
        if mode == "hard" and site.has_bin:
            counts[site.bin] = yield from ask(CountImages(target))
    for table, pairs in shared.items():
        counts[table] = yield from ask(CountTies(tuple(pairs)))

    return {table: number for table, number in counts.items() if number}


def missing_values(
    wanted: Order,
) -> Talk[tuple[tuple[KeyValue, ...], tuple[KeyValue, ...]]]:
    """
    Of the hashes and keys that every match needs: those not there, and those already deleted.
    """
    absent: dict[KeyValue, None] = {}
    already: dict[KeyValue, None] = {}
    for leaf in needed(wanted.filter) if wanted.modes else ():
        there: dict[KeyValue, bool] = {}
        binned: set[KeyValue] = set()
        for selection in wanted.selections:
            asked = _holds(selection.site.collection, leaf)
            for value, live in (
                (yield from ask(Lookup(selection, leaf.values, isinstance(leaf, Hash))))
                if asked
                else ()
            ):
                there[value] = there.get(value, False) or live
            if asked and selection.site.has_bin:
                in_bin = attrs.evolve(selection, binned=True)
                lookup = Lookup(in_bin, leaf.values, isinstance(leaf, Hash))
                binned.update(value for value, _ in (yield from ask(lookup)))
        gone = {value for value, live in there.items() if not live and wanted.include == "live"}
        gone |= binned - there.keys()
        absent.update(dict.fromkeys(v for v in leaf.values if v not in there and v not in binned))
        already.update(dict.fromkeys(value for value in leaf.values if value in gone))

    return tuple(absent), tuple(already)


def _look(desk: Desk, wanted: Order) -> Talk[Preview]:
    seen = yield from survey(wanted, wanted.selections)
    absent, already = yield from missing_values(wanted)
    tables = {
        _table(selection): len(seen.found[selection.site.collection.name])
        for selection in wanted.selections
    }
    tables = {table: number for table, number in tables.items() if number}
    if wanted.modes:
        tables |= yield from losses(wanted, wanted.selections)
    view = unknown = protected = 0
    sample: list[object] = []
    said: dict[str, str] = {}
    for selection in wanted.selections:
        bare = attrs.evolve(selection, protect=None)
        here = yield from ask(CountView(bare))
        true = yield from ask(Count(bare))
        false = yield from ask(Count(attrs.evolve(bare, outcome="false")))
        view += here
        unknown += here - true - false
        protected += true - len(seen.found[selection.site.collection.name])
        sample += (yield from ask(Sample(selection))) if len(sample) < 5 else ()
        said[selection.site.collection.name] = yield from ask(Said(selection))

    return Preview(
        matched=seen.digest.count,
        hashes=seen.hashes,
        keys=seen.keys,
        not_found=absent,
        already=already,
        unknown=unknown,
        protected=protected,
        view=view,
        tables=tables,
        sample=tuple(sample[:5]),  # type: ignore[arg-type]
        filter=wanted.filter,
        sql=said,
        digest=str(seen.digest),
        mode=wanted.modes,
        include=wanted.include,
        collections=tuple(said),
        at=wanted.at,
        scope=desk.scope,
        protect=desk.protect,
        fingerprints=seen.digest.fingerprints,
    )


def _holds(collection: Collection, leaf: Hash | Key) -> bool:
    match leaf:
        case Hash():
            return collection.hash is not None
        case Key(_, name):
            return name in (None, collection.name)


def _table(selection: Selection) -> str:
    return selection.site.bin if selection.binned else selection.site.collection.table
