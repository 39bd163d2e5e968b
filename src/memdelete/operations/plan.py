"""
From what a user says to what is asked: sites, modes, selections, and what may not be.

Everything that can be refused without reading a row is refused here: unknown fields, ambiguous
keys, tables that do not fit, foreign keys that would reach into tables nobody declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import get_args

from attrs import field, frozen

from memdelete.errors import FilterError, Refused, StoreError
from memdelete.filters import And, Compare, Everything, Filter, Hash, Key, Tags, Untagged, leaves
from memdelete.questions import MARK, Referring, Selection, Site, Targets
from memdelete.receipts import Include, Mode
from memdelete.schema import (
    Collection,
    Edges,
    FullText,
    Ledger,
    LiveSchema,
    LiveTable,
    References,
    Rows,
    Sidecar,
    Store,
    Vectors,
)

from .talk import Talk, ask


__all__ = [
    "Desk",
    "Order",
    "going",
    "needed",
    "order",
    "refers_to_itself",
    "refuse_reach",
    "refuse_referrers",
    "refuse_unrestorable",
    "sites_of",
    "stay_with",
]


def _share(_: object, __: object, value: float | None) -> None:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (real and 0 < value <= 1):
        raise FilterError(
            f"{value!r} is no share", value=value, place="max_share", advice="give 0 < share <= 1"
        )


def _ceiling(_: object, __: object, value: int | None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (whole and value >= 0):
        raise FilterError(
            f"{value!r} is no count", value=value, place="at_most", advice="give 0 or more"
        )


@frozen(kw_only=True, eq=False)
class Desk:
    """
    What a deleter brings to each of its operations.
    """

    store: Store
    zone: tzinfo
    scope: Filter | None = None
    protect: Filter | None = None
    at_most: int | None = field(default=None, validator=_ceiling)
    max_share: float | None = field(default=None, validator=_share)
    actor: str | None = None

    def __attrs_post_init__(self) -> None:
        for word, guard in (("scope", self.scope), ("protect", self.protect)):
            for collection in self.store.collections if guard is not None else ():
                _refuse_unanswerable(guard, collection, word)


@frozen(eq=False)
class Order:
    """
    A selection for each chosen collection, all times resolved, with the mode of each.
    """

    filter: Filter
    selections: tuple[Selection, ...]
    modes: Mapping[str, Mode]
    include: Include
    at: datetime

    @property
    def sites(self) -> tuple[Site, ...]:
        """
        The sites in the order of the store.
        """
        return tuple(selection.site for selection in self.selections)


def sites_of(
    desk: Desk, schema: LiveSchema, collections: Sequence[str] | None = None
) -> tuple[Site, ...]:
    """
    The chosen collections as they are found; one that does not fit what is there is refused.
    """
    if isinstance(collections, str):
        raise StoreError(
            f"collections={collections!r} is one text where a list belongs",
            place=desk.store.name,
            advice=f"say [{collections!r}]",
        )
    if collections is not None and not isinstance(collections, Iterable):
        raise StoreError(f"collections={collections!r} is no list", place=desk.store.name)
    if collections is not None and not collections:
        raise StoreError("no collection was chosen", place=desk.store.name)
    chosen = (
        desk.store.collections
        if collections is None
        else [desk.store.collection(name) for name in dict.fromkeys(collections)]
    )
    for collection in chosen:
        _refuse_misfit(collection, schema)

    return tuple(
        Site(collection, schema, desk.store.collections.index(collection)) for collection in chosen
    )


def order(
    desk: Desk,
    sites: tuple[Site, ...],
    what: Filter,
    *,
    now: datetime,
    mode: Mode | None,
    include: Include | None,
    binned: bool = False,
) -> Order:
    """
    What is asked for, made exact: times resolved, modes and view chosen, names checked.

    With *binned*, names are also those that the bin answers.
    """
    if not isinstance(what, Filter):
        raise FilterError(
            f"{what!r} is no filter", value=what, advice="say what to forget by a filter"
        )
    if include is not None and include not in get_args(Include):
        raise FilterError(
            f"include={include!r} is no view",
            value=include,
            advice=f"known: {', '.join(get_args(Include))}",
        )
    if mode is not None and mode not in get_args(Mode):
        raise FilterError(
            f"mode={mode!r} is no mode", value=mode, advice=f"known: {', '.join(get_args(Mode))}"
        )
    filter_ = what.resolve(desk.zone, now)
    chosen = [site.binned if binned else site.collection for site in sites]
    _refuse_unknown_names(filter_, desk.store, chosen)
    modes: dict[str, Mode] = {site.collection.name: _mode(mode, site.collection) for site in sites}
    by_identity = any(True for _ in needed(filter_))
    seen: Include = include or ("all" if mode == "hard" and by_identity else "live")
    scope = desk.scope.resolve(desk.zone, now) if desk.scope is not None else None
    protect = desk.protect.resolve(desk.zone, now) if desk.protect is not None else None
    selections = tuple(
        Selection(site, filter_, include=seen, scope=scope, protect=protect) for site in sites
    )

    return Order(filter_, selections, modes, seen, now)


def needed(filter_: Filter) -> Iterator[Hash | Key]:
    """
    The Hash and Key leaves that every match needs: by themselves, or parts of the one And.
    """
    match filter_:
        case Hash() | Key():
            yield filter_
        case And(parts):
            yield from (part for part in parts if isinstance(part, Hash | Key))
        case _:
            return


def going(site: Site, mode: Mode) -> tuple[Sidecar, ...]:
    """
    The sidecars whose rows go with a memory in this mode.
    """
    ties = [tie for tie in site.collection.ties if not isinstance(tie, Ledger)]
    if mode == "soft":
        return tuple(
            tie for tie in ties if not isinstance(tie, FullText) and tie.on_soft == "remove"
        )

    return tuple(ties)


def refuse_reach(site: Site, mode: Mode) -> None:
    """
    Refuse what the schema would do by itself to tables that nobody declared.
    """
    ties = {tie.table for tie in site.collection.ties}
    touched = [site.collection.table, *(tie.table for tie in going(site, mode))]
    known = {name.lower() for name in (site.collection.table, *ties)}
    for name in dict.fromkeys(touched):
        marked = mode == "soft" and name == site.collection.table
        for trigger in site.schema.tables[name].triggers:
            # From the memories' own table a trigger would take rows that nobody selected.
            strange = trigger.deletes_from() - (known - {site.collection.table.lower()})
            if strange and trigger.fires_on("update" if marked else "delete"):
                raise StoreError(
                    f"the trigger {trigger.name} deletes from {', '.join(sorted(strange))}, "
                    "which is not declared",
                    place=site.collection.name,
                    advice="declare that table as a sidecar, so that it can be archived and restored",
                )
        for child in site.schema.tables.values() if not marked else ():
            for key in child.foreign_keys:
                acts = key.on_delete.upper() in {"CASCADE", "SET NULL", "SET DEFAULT"}
                if acts and key.parent == name and child.name not in ties:
                    raise StoreError(
                        f"{child.name} refers to {key.parent} with ON DELETE {key.on_delete}, "
                        "and is not declared",
                        place=site.collection.name,
                        advice="declare it as a sidecar, so that it can be archived and restored",
                    )


def refuse_unrestorable(site: Site) -> None:
    """
    Refuse, before a row moves, what an undo could not give back.
    """
    columns = {column.name for column in site.table.columns}
    for tie in site.collection.ties:
        if not isinstance(tie, FullText):
            continue
        live = site.schema.tables[tie.table]
        options = live.options
        filled = any(
            trigger.fires_on("insert") and trigger.inserts_into(tie.table)
            for trigger in site.table.triggers
        )
        strange = {column.name for column in live.columns} - columns
        content = options.get("content", site.collection.table)
        sized = site.schema.has(f"{tie.table}_docsize")
        if (
            "content" in options
            and not filled
            and (strange or not sized or content.lower() != site.collection.table.lower())
        ):
            raise StoreError(
                f"the index keeps no text of its own, and what it holds "
                f"({', '.join(column.name for column in live.columns)}) cannot be read again from "
                f"{site.collection.table}",
                place=tie.table,
                advice="say mode='hard', or fill the index by an insert trigger",
            )


def refers_to_itself(site: Site) -> bool:
    """
    Whether the table has a foreign key to itself.
    """
    return any(key.parent == site.collection.table for key in site.table.foreign_keys)


def refuse_referrers(targets: Targets) -> Talk[None]:
    """
    Refuse to remove rows that undeclared tables refer to by a foreign key.
    """
    site = targets.site
    declared = {tie.table for tie in site.collection.ties}
    for child in site.schema.tables.values():
        for key in child.foreign_keys:
            if key.parent != site.collection.table or child.name in declared:
                continue
            parents = key.parent_columns or site.table.primary
            number = yield from ask(Referring(targets, child.name, key.columns, parents))
            if number:
                raise Refused(
                    f"{number} rows of {child.name} still refer to what would go",
                    guard="foreign_key",
                    limit=0,
                    found=number,
                    advice=f"delete those rows of {child.name} first",
                )


def stay_with(
    desk: Desk, found: int, view: int, at_most: int | None, max_share: float | None
) -> None:
    """
    Hold the ceilings: more matches than they allow are refused, never capped.
    """
    _ceiling(None, None, at_most)
    _share(None, None, max_share)
    for limit in (at_most, desk.at_most):
        if limit is not None and found > limit:
            raise Refused(
                f"{found} {'memory matches' if found == 1 else 'memories match'}, at most {limit} may go; nothing was deleted",
                guard="at_most",
                limit=limit,
                found=found,
                advice="narrow the filter or raise at_most",
            )
    for share in (max_share, desk.max_share):
        if share is not None and view and found > share * view:
            raise Refused(
                f"{found} of {view} memories in view match, more than the share {share:g} that "
                "may go; nothing was deleted",
                guard="max_share",
                limit=share,
                found=found / view,
                advice="narrow the filter or raise max_share",
            )


# --- what does not fit ----------------------------------------------------------------------


def _mode(mode: Mode | None, collection: Collection) -> Mode:
    if mode is None:
        return "soft" if collection.tombstone else "archive"
    if mode == "soft" and collection.tombstone is None:
        raise StoreError(
            "soft needs a tombstone, and none is declared",
            place=collection.name,
            advice="say mode='archive': it can be undone too",
        )

    return mode


def _refuse_misfit(collection: Collection, schema: LiveSchema) -> None:
    live = schema.table(collection.table)
    if live is None:
        raise StoreError(
            f"there is no table {collection.table!r}",
            place=collection.name,
            advice=f"there are: {', '.join(sorted(schema.tables)) or 'none'}",
            candidates=sorted(schema.tables),
        )
    if live.kind != "table":
        raise StoreError(
            f"{collection.table!r} is a {live.kind}, and memories are deleted from tables",
            place=collection.name,
            advice="declare the table behind it",
        )
    absent = [name for name in collection.columns if live.column(name) is None]
    if absent:
        raise StoreError(
            f"the table {collection.table!r} has no column {', '.join(map(repr, absent))}",
            place=collection.name,
            advice=f"it has: {', '.join(column.name for column in live.columns)}",
        )
    for tie in collection.ties:
        if schema.table(tie.table) is None:
            raise StoreError(
                f"there is no table {tie.table!r}, declared as {type(tie).__name__}",
                place=collection.name,
            )
    ours = [column.name for column in live.columns if column.name.lower().startswith(MARK)]
    if ours:
        raise StoreError(
            f"the column {ours[0]!r} has a name that memdelete keeps for itself",
            place=collection.name,
            advice="rename it",
        )
    if schema.dialect == "sqlite":  # the other engines' indexes are not all read yet
        _refuse_keys(collection, schema, live)


def _refuse_keys(collection: Collection, schema: LiveSchema, live: LiveTable) -> None:
    if collection.schema not in (None, "main"):
        raise StoreError(
            f"the schema {collection.schema!r} is another database file",
            place=collection.name,
            advice="open that file itself: one transaction over two files cannot be promised",
        )
    for tie in collection.ties:
        _refuse_tie(collection, tie, schema.tables[tie.table])
    unique = [index.columns for index in live.indexes if index.unique and not index.partial]
    keyed = set(collection.key)
    if keyed not in ({*live.primary}, *({*columns} for columns in unique)):
        raise StoreError(
            f"the key {', '.join(collection.key)} is neither PRIMARY KEY nor UNIQUE",
            place=collection.name,
            advice="declare what tells each row from all others",
        )
    hashed = (collection.hash,)
    if collection.hash and hashed not in unique and live.primary != hashed:
        raise StoreError(
            f"the hash column {collection.hash!r} is not UNIQUE",
            place=collection.name,
            advice="declare it as a field instead",
        )


def _refuse_tie(collection: Collection, tie: Sidecar, live: LiveTable) -> None:
    match tie:
        case Vectors():
            keyed = [column for column in live.columns if column.primary]
            if any("INT" not in column.type.upper() for column in keyed):
                raise StoreError(
                    f"{tie.table} is keyed by text, and vectors are tied by number",
                    place=collection.name,
                    advice="key it by the memory's own number",
                )
        case References(_, key, column):
            unique = [index.columns for index in live.indexes if index.unique and not index.partial]
            if live.column(key) is None or live.column(column) is None:
                raise StoreError(
                    f"{tie.table} has no column {key!r} or {column!r}", place=collection.name
                )
            if live.primary != (key,) and (key,) not in unique:
                raise StoreError(
                    f"{tie.table}.{key} does not tell each row from all others",
                    place=collection.name,
                    advice="give the key by which its rows are known",
                )
        case Edges() | Rows():
            absent = [end.column for end in tie.ends if live.column(end.column) is None]
            if absent:
                raise StoreError(
                    f"{tie.table} has no column {', '.join(map(repr, absent))}",
                    place=collection.name,
                )
        case _:
            return


def _refuse_unknown_names(filter_: Filter, store: Store, chosen: Sequence[Collection]) -> None:
    for leaf in leaves(filter_):
        if isinstance(leaf, Key):
            if leaf.collection is not None:
                store.collection(leaf.collection)
            elif len(store.collections) > 1:
                names = [collection.name for collection in store.collections]
                raise StoreError(
                    f"{leaf!r} does not say of which collection",
                    place=store.name,
                    advice=f"say collection=…, one of: {', '.join(names)}",
                    candidates=names,
                )
        if not any(_answers(leaf, collection) for collection in chosen):
            known = sorted({name for collection in chosen for name in collection.names})
            raise StoreError(
                f"no chosen collection can answer {leaf!r}",
                place=store.name,
                advice=f"fields and times there are: {', '.join(known) or 'none'}",
                candidates=known,
            )


def _refuse_unanswerable(guard: Filter | None, collection: Collection, word: str) -> None:
    for leaf in leaves(guard) if guard is not None else ():
        if not _answers(leaf, collection) or (
            isinstance(leaf, Key) and leaf.collection not in (None, collection.name)
        ):
            raise StoreError(
                f"the {word} asks {leaf!r}, which this collection cannot answer",
                place=collection.name,
                advice="every collection must answer it: leave the collection out of the store",
            )


def _answers(leaf: Filter, collection: Collection) -> bool:
    match leaf:
        case Hash():
            return collection.hash is not None
        case Tags() | Untagged():
            return collection.tags is not None
        case Compare(name):
            return name in collection.names
        case Key() | Everything():
            return True
        case _:
            return getattr(leaf, "on", None) in collection.times
