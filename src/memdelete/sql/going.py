"""
How rows go: staged, copied to the bin, unhooked from what hangs on them, marked or removed.

Every statement answers the number of rows it changed, for the operation to hold against what it
expected. The bin is filled by `INSERT … SELECT`, so nothing is lost on a way through Python.
"""

from __future__ import annotations

import re

from collections.abc import Collection, Generator, Mapping
from typing import cast

from sqlglot import exp, parse_one

from memdelete.errors import StoreError, Unsupported
from memdelete.questions import (
    Append,
    ArchiveRows,
    ArchiveTie,
    CountTie,
    Mark,
    RemoveRows,
    RemoveTie,
    Rewritten,
    Site,
    Stage,
    Targets,
    tie_bin,
)
from memdelete.schema import (
    Edges,
    End,
    Flag,
    FullText,
    Ledger,
    LiveColumn,
    LiveTrigger,
    References,
    Rows,
    Vectors,
)
from memdelete.tags import JoinTable
from memdelete.times import to_micros

from .build import (
    Speech,
    across,
    column,
    counted,
    delete,
    each_of,
    hidden,
    insert,
    keys_match,
    member,
    number_in,
    picked,
    same_hash,
    say,
    select,
    staging,
    staging_name,
    table,
    tie_value,
    update,
    where,
)
from .compile import live_condition
from .ddl import META, bin_columns, staging_tables, tie_columns
from .finding import array_items, count_tie, holds_reference, memory_end, refers, row_name, tied
from .phrases import phrase
from .render import Expression, Result, Statement, identifier, parameter


__all__ = [
    "append",
    "archive_rows",
    "archive_tie",
    "differs",
    "mark",
    "own_columns",
    "remove_rows",
    "remove_tie",
    "rewritten",
    "stage",
    "unmarked",
]

Changing = Generator[Statement, Result, int]


def stage(asked: Stage, speech: Speech) -> Changing:
    """
    Remember the selected rows in a temporary table; nothing but it is written.
    """
    selection = asked.selection
    site, collection = selection.site, selection.site.collection
    yield from staging_tables(site, staging_name(site))
    relation = collection.table
    found = where(selection)
    conditions = [found.expression]
    if asked.imageless and site.has_bin:
        image = select(
            [exp.Literal.number(1)],
            table(site, site.bin),
            *keys_match(site, site.bin, relation, staged=False),
            *same_hash(site, site.bin, column(relation, collection.hash or "h")),
        )
        conditions.append(exp.not_(exp.Exists(this=image)))
    keys = [f"k{number}" for number in range(len(collection.key))]
    trees: list[Expression] = [column(relation, name) for name in collection.key]
    trees.append(column(relation, collection.hash) if collection.hash else exp.null())
    trees.append(tie_value(site, relation))
    tree = insert(
        staging(site), [*keys, "h", "r"], select(trees, table(site, relation), *conditions)
    )

    return (yield say(speech, tree, found.params)).changed


def archive_rows(asked: ArchiveRows, speech: Speech) -> Changing:
    """
    Copy the targets to the bin, each under an id that is unique over the store.
    """
    site = asked.targets.site
    relation = site.collection.table
    condition, params = member(asked.targets)
    own = [found.name for found in bin_columns(site.table)]
    rowid = hidden(site.table)
    first = yield from _reserve(asked.targets, speech)
    numbered = exp.Add(
        this=parameter("first"),
        expression=exp.Window(
            this=exp.RowNumber(),
            order=exp.Order(
                expressions=[
                    exp.Ordered(this=column(relation, key), nulls_first=True)
                    for key in site.collection.key
                ]
            ),
            over="OVER",
        ),
    )
    kept = [tag_list(site)] if isinstance(site.collection.tags, JoinTable) else []
    trees = [
        *(column(relation, name) for name in own),
        *kept,
        numbered,
        column(relation, rowid) if rowid else exp.null(),
        parameter("operation"),
        parameter("at"),
    ]
    marks = ["memdelete_tags"] * len(kept)
    marks += ["memdelete_id", "memdelete_rowid", "memdelete_operation", "memdelete_at"]
    tree = insert(
        table(site, site.bin), [*own, *marks], select(trees, table(site, relation), condition)
    )
    params |= {"first": first, "operation": asked.operation, "at": to_micros(asked.at)}
    changed = (yield say(speech, tree, params)).changed
    yield from _advance(asked.targets, speech, first + changed)

    return changed


def archive_tie(asked: ArchiveTie, speech: Speech) -> Changing:
    """
    Copy what hangs on the targets to the sidecar's own bin.
    """
    site, sidecar = asked.targets.site, asked.sidecar
    marks: dict[str, object] = {"operation": asked.operation, "at": to_micros(asked.at)}
    match sidecar:
        case Vectors() | FullText():
            if not tie_columns(site, sidecar):
                return 0
            return (yield from _archive_by_row(asked, sidecar, speech, marks))
        case Edges() | Rows():
            return (yield from _archive_edges(asked, sidecar, speech, marks))
        case References():
            return (yield from _archive_references(asked, sidecar, speech, marks))
        case Ledger():
            return 0


def remove_tie(asked: RemoveTie, speech: Speech) -> Changing:
    """
    Remove what hangs on the targets. A full-text entry goes while its text can still be read.
    """
    site, sidecar, targets = asked.targets.site, asked.sidecar, asked.targets
    match sidecar:
        case Vectors():
            inner, params = picked(targets, "row")
            tied_by = column(sidecar.table, row_name(site, sidecar))
            tree = delete(table(site, sidecar.table), each_of(tied_by, inner))
            held = yield from count_tie(CountTie(targets, sidecar), speech)
            yield say(speech, tree, params)
            left = yield from count_tie(CountTie(targets, sidecar), speech)
            return held - left  # virtual tables do not count their own changes reliably
        case FullText():
            return (yield from _remove_text(targets, sidecar, speech))
        case Edges() | Rows():
            condition, params = tied(sidecar, targets, sidecar.table)
            tree = delete(table(site, sidecar.table), condition)
            return (yield say(speech, tree, params)).changed
        case References():
            return (yield from _remove_references(targets, sidecar, speech))
        case Ledger():
            return 0


def mark(asked: Mark, speech: Speech) -> Changing:
    """
    Set the tombstone and the touched times, each in its own encoding.
    """
    site, collection = asked.targets.site, asked.targets.site.collection
    condition, params = member(asked.targets)
    values: dict[str, object] = {each.column: each.encode(asked.at) for each in collection.touch}
    match collection.tombstone:
        case None:
            raise StoreError(
                "the collection has no tombstone",
                place=collection.name,
                advice="mode='archive' can be undone too",
            )
        case Flag(name, _, dead):
            values[name] = dead
        case encoding:
            values[encoding.column] = encoding.encode(asked.at)
    params |= {f"v{number}": value for number, value in enumerate(values.values())}
    sets = {name: parameter(f"v{number}") for number, name in enumerate(values)}
    tree = update(table(site, collection.table), sets, condition)

    return (yield say(speech, tree, params)).changed


def remove_rows(asked: RemoveRows, speech: Speech) -> Changing:
    """
    Remove the targets' rows.
    """
    site = asked.targets.site
    condition, params = member(asked.targets)
    tree = delete(table(site, site.collection.table), condition)

    return (yield say(speech, tree, params)).changed


def rewritten(asked: Rewritten, speech: Speech) -> Changing:
    """
    How many marked rows differ from their image in more than the marks: a trigger rewrote them.
    """
    site = asked.targets.site
    relation = site.collection.table
    condition, params = member(asked.targets)
    image = select(
        [exp.Literal.number(1)],
        table(site, site.bin, "image"),
        *keys_match(site, "image", relation, staged=False),
        exp.EQ(this=column("image", "memdelete_operation"), expression=parameter("operation")),
        exp.not_(differs(site, relation, "image", unmarked(asked.targets))),
    )
    tree = counted(table(site, relation), condition, exp.not_(exp.Exists(this=image)))
    result = yield say(speech, tree, params | {"operation": asked.operation})

    return number_in(result)


def append(asked: Append, speech: Speech) -> Changing:
    """
    Append the product's own events, as the store's data spells them.
    """
    site, ledger = asked.targets.site, asked.ledger
    relation = site.collection.table
    values = ledger.deleted if asked.event == "deleted" else ledger.restored
    if not values:
        return 0
    condition, params = member(asked.targets)
    active = _spelled(ledger.active, speech)
    trees = [_spelled(text, speech) for text in values.values()]
    tree = insert(
        table(site, ledger.table),
        list(values),
        select(trees, table(site, relation), condition, exp.paren(active)),
    )
    now = {"now": to_micros(asked.at) / 1_000_000}
    changed = (yield say(speech, tree, params | now)).changed
    for text in ledger.also if changed else ():
        yield say(speech, _spelled(text, speech), now)

    return changed


def differs(site: Site, left: str, right: str, passed: Collection[str] = frozenset()) -> Expression:
    """
    Whether two rows differ, in value or class, in any column but those *passed* over.
    """
    kept = site.schema.tables[site.bin]
    trees: list[Expression] = []
    for found in site.table.columns:
        # A column that came since the image was taken tells nothing of a change.
        if found.name in passed or found.generated or kept.column(found.name) is None:
            continue
        sides = [column(left, found.name), column(right, found.name)]
        trees.append(
            exp.NullSafeNEQ(this=_exact(found, sides[0]), expression=_exact(found, sides[1]))
        )
        kinds = [exp.func("typeof", side.copy(), dialect="sqlite") for side in sides]
        trees.append(exp.NEQ(this=kinds[0], expression=kinds[1]))

    return exp.paren(exp.or_(*trees, copy=False))


def unmarked(targets: Targets) -> frozenset[str]:
    """
    The columns that a soft delete sets.
    """
    collection = targets.site.collection
    marks = [each.column for each in collection.touch]
    marks += [collection.tombstone.column] if collection.tombstone else []

    return frozenset(marks)


def own_columns(columns: tuple[LiveColumn, ...]) -> list[str]:
    """
    The columns that can be written: all but generated ones.
    """
    return [found.name for found in columns if not found.generated]


# --- how each sidecar is copied -------------------------------------------------------------


def _archive_by_row(
    asked: ArchiveTie, sidecar: Vectors | FullText, speech: Speech, marks: dict[str, object]
) -> Changing:
    site = asked.targets.site
    own = [found.name for found in tie_columns(site, sidecar)]
    source_table, side = sidecar.table, column("side", row_name(site, sidecar))
    values: list[Expression] = [column("side", name) for name in own]
    if own == ["memdelete_indexed"]:
        source_table, side = f"{sidecar.table}_docsize", column("side", "id")
        values = [exp.Literal.number(1)]
    inner, params = picked(asked.targets, "row")
    # The targets lead the join, so that each vector is a point look-up and not a scan.
    source = exp.Subquery(this=inner)
    source.set("alias", exp.TableAlias(this=identifier("target")))
    trees = [
        *values,
        side,
        parameter("operation"),
        parameter("at"),
    ]
    row = (
        "r"
        if not inner.expressions or inner.expressions[0].name == "r"
        else inner.expressions[0].name
    )
    tree = exp.Select(expressions=trees).from_(source, copy=False)
    across(tree, table(site, source_table, "side"))
    tree.where(exp.EQ(this=side.copy(), expression=column("target", row)), copy=False)
    written = insert(table(site, tie_bin(sidecar)), [*own, *_marks()], tree)

    return (yield say(speech, written, params | marks)).changed


def _archive_edges(
    asked: ArchiveTie, sidecar: Edges | Rows, speech: Speech, marks: dict[str, object]
) -> Changing:
    site = asked.targets.site
    live = site.schema.tables[sidecar.table]
    own = [found.name for found in live.columns]
    relation = sidecar.table
    rowid = hidden(live)
    condition, params = tied(sidecar, asked.targets, relation)
    # What an edge needs at its ends to come back is what it had when it went.
    ends = [_flag(_end_there(asked.targets, end, relation, speech)) for end in sidecar.ends]
    trees = [
        *(column(relation, name) for name in own),
        *ends,
        exp.Literal.number(0),
        column(relation, rowid) if rowid else exp.null(),
        parameter("operation"),
        parameter("at"),
    ]
    flags = [f"memdelete_end_{number}" for number in range(len(ends))]
    tree = insert(
        table(site, tie_bin(sidecar)),
        [*own, *flags, "memdelete_held", *_marks()],
        select(trees, table(site, relation), condition),
    )

    return (yield say(speech, tree, params | marks)).changed


def _end_there(targets: Targets, end: End, relation: str, speech: Speech) -> Expression:
    site, collection = targets.site, targets.site.collection
    held = collection.hash if end.by == "hash" else collection.key[0]
    live = live_condition(collection, dialect=speech.dialect, relation="there")
    found = select(
        [exp.Literal.number(1)],
        table(site, collection.table, "there"),
        exp.EQ(this=column("there", held or ""), expression=column(relation, end.column)),
        *([live] if live is not None else []),
    )

    return exp.and_(exp.Exists(this=found), *memory_end(end, relation), copy=False)


def _flag(condition: Expression) -> Expression:
    return exp.Case(
        ifs=[exp.If(this=condition, true=exp.Literal.number(1))], default=exp.Literal.number(0)
    )


def _archive_references(
    asked: ArchiveTie, sidecar: References, speech: Speech, marks: dict[str, object]
) -> Changing:
    site, targets = asked.targets.site, asked.targets
    relation = sidecar.table
    rowid = hidden(site.schema.tables[relation])
    condition, params = holds_reference(sidecar, targets, relation)
    target, _ = refers(sidecar, targets)
    trees = [
        column(relation, sidecar.key),
        column(relation, sidecar.column),
        _array_of(relation, sidecar.column, exp.not_(target)),
        _array_of(relation, sidecar.column, target.copy()),
        column(relation, rowid) if rowid else exp.null(),
        parameter("operation"),
        parameter("at"),
    ]
    own = [sidecar.key, "memdelete_before", "memdelete_after", "memdelete_taken"]
    tree = insert(
        table(site, tie_bin(sidecar)),
        [*own, *_marks()],
        select(trees, table(site, relation), condition),
    )

    return (yield say(speech, tree, params | marks)).changed


def _remove_references(targets: Targets, sidecar: References, speech: Speech) -> Changing:
    site, relation = targets.site, sidecar.table
    condition, params = holds_reference(sidecar, targets, relation)
    target, _ = refers(sidecar, targets)
    kept = _array_of(relation, sidecar.column, exp.not_(target))
    tree = update(table(site, relation), {sidecar.column: kept}, condition)

    return (yield say(speech, tree, params)).changed


def tag_list(site: Site) -> Expression:
    """
    The tags of a row in a table of their own, as a JSON array.
    """
    collection, tags = site.collection, cast("JoinTable", site.collection.tags)
    held = collection.hash if tags.by == "hash" and collection.hash else collection.key[0]
    name = column("tagged", tags.tag)
    if tags.names is not None:
        name = column("named", tags.names.name)
    found = select(
        [exp.JSONArrayAgg(this=name)],
        table(site, tags.table, "tagged"),
        exp.EQ(this=column("tagged", tags.memory), expression=column(collection.table, held)),
    )
    if tags.names is not None:
        across(found, table(site, tags.names.table, "named"))
        key = exp.EQ(this=column("named", tags.names.key), expression=column("tagged", tags.tag))
        found.where(key, copy=False)

    return exp.Subquery(this=found)


def _array_of(relation: str, name: str, condition: Expression) -> Expression:
    # An item that is no text goes back as the JSON that stood there: json_each would give truths
    # as numbers, and cut numbers that are too long.
    value, kind = column("memdelete_item", "value"), column("memdelete_item", "type")
    stored, key = column(relation, name), column("memdelete_item", "key")
    raw = phrase("sqlite", "json(:stored -> :key)", stored=stored, key=key)
    text = exp.EQ(this=kind, expression=exp.Literal.string("text"))
    grouped = exp.JSONArrayAgg(this=exp.Case(ifs=[exp.If(this=text, true=value)], default=raw))
    found = select([grouped], array_items(relation, name), condition)

    return exp.Subquery(this=found)


def _remove_text(targets: Targets, sidecar: FullText, speech: Speech) -> Changing:
    site = targets.site
    live = site.schema.tables[sidecar.table]
    held = yield from count_tie(CountTie(targets, sidecar), speech)
    if _cares_for_itself(site.table.triggers, sidecar.table):
        return held  # its trigger hands the old text to the index when the row goes
    if _contentless(live.options):
        raise Unsupported(
            f"removing single entries of the contentless index {sidecar.table!r}",
            speech.dialect,
            advice="create it with contentless_delete=1",
        )
    inner, params = picked(targets, "row")
    tree = delete(table(site, sidecar.table), each_of(column(sidecar.table, "rowid"), inner))
    yield say(speech, tree, params)

    return held


def _cares_for_itself(triggers: tuple[LiveTrigger, ...], text_table: str) -> bool:
    return any(
        trigger.fires_on("delete")
        and trigger.inserts_into(text_table)
        and re.search(r"\(\s*'delete'", trigger.sql, re.IGNORECASE)
        for trigger in triggers
    )


def _contentless(options: Mapping[str, str]) -> bool:
    return options.get("content") == "" and options.get("contentless_delete") != "1"


# --- small things ---------------------------------------------------------------------------


def _reserve(targets: Targets, speech: Speech) -> Changing:
    tree = select(
        [column(META, "value")],
        table(targets.site, META),
        exp.EQ(this=column(META, "key"), expression=exp.Literal.string("last_id")),
    )
    result = yield say(speech, tree)

    return number_in(result)


def _advance(targets: Targets, speech: Speech, last: int) -> Generator[Statement, Result, None]:
    counter = exp.EQ(this=column(META, "key"), expression=exp.Literal.string("last_id"))
    tree = update(table(targets.site, META), {"value": parameter("last")}, counter)
    yield say(speech, tree, {"last": last})


def _marks() -> list[str]:
    return ["memdelete_rowid", "memdelete_operation", "memdelete_at"]


def _exact(found: LiveColumn, side: Expression) -> Expression:
    if found.collation in (None, "BINARY"):
        return side

    return exp.Collate(this=side, expression=exp.Var(this="BINARY"))


def _spelled(text: str, speech: Speech) -> Expression:
    return parse_one(text, dialect=speech.dialect)
