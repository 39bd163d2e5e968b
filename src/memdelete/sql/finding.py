"""
Looking: what is selected, what it holds, and what hangs on it. Nothing here changes a row.

Preview and delete ask these same questions of the same selection, so that they cannot drift.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import assert_never, cast

from sqlglot import exp

from memdelete.filters import Everything, Hash, Key, KeyValue
from memdelete.memories import UNKNOWN
from memdelete.questions import (
    Count,
    CountImages,
    CountTie,
    CountTies,
    CountView,
    Find,
    Found,
    Lookup,
    Referring,
    Said,
    Sample,
    Selection,
    Site,
    Staged,
    Still,
    Targets,
)
from memdelete.schema import (
    Collection,
    Edges,
    End,
    FullText,
    Ledger,
    References,
    Rows,
    Vectors,
)
from memdelete.tags import JoinTable

from .build import (
    Speech,
    binding,
    column,
    counted,
    each_of,
    hidden,
    member,
    number_in,
    ordered,
    picked,
    say,
    select,
    staging,
    table,
    where,
)
from .compile import columns_read, live_condition, tag_image
from .render import Expression, Result, Statement, identifier


__all__ = [
    "array_items",
    "count",
    "count_images",
    "count_tie",
    "count_ties",
    "count_view",
    "find",
    "holds_reference",
    "lookup",
    "referring",
    "refers",
    "row_name",
    "said",
    "sample",
    "still",
    "tied",
    "vectors_present",
]

Steps = Generator[Statement, Result, object]


def count(asked: Count, speech: Speech) -> Generator[Statement, Result, int]:
    """
    How many rows are selected.
    """
    selection = asked.selection
    found = where(selection)
    source = _table_of(selection)

    return (yield from _number(speech, counted(source, found.expression), found.params))


def count_view(asked: CountView, speech: Speech) -> Generator[Statement, Result, int]:
    """
    How many rows are in view, whatever the filter says.
    """
    seen = asked.selection
    selection = Selection(
        seen.site, Everything(), include=seen.include, scope=seen.scope, binned=seen.binned
    )
    return (yield from count(Count(selection), speech))


def find(asked: Find, speech: Speech) -> Generator[Statement, Result, Sequence[Found]]:
    """
    The targets with what the selection reads of each.
    """
    site, selection = asked.targets.site, asked.selection
    collection = site.binned if selection.binned else site.collection
    relation = collection.table
    filters = [selection.filter]
    filters += [each for each in (selection.scope, selection.protect) if each is not None]
    reads = dict.fromkeys(name for each in filters for name in columns_read(each, collection))
    trees: list[Expression] = [column(relation, name) for name in collection.key]
    trees.append(column(relation, collection.hash) if collection.hash else exp.null())
    trees += [column(relation, name) for name in reads]
    image = tag_image(collection, dialect=speech.dialect, relation=relation)
    trees += [image] if image is not None else []
    if isinstance(asked.targets, Staged):
        condition, params = member(asked.targets)
    else:
        found = where(asked.targets)
        condition, params = found.expression, dict(found.params)
    tree = select(trees, table(site, relation), condition)
    ordered(tree, [column(relation, name) for name in collection.key], speech)
    result = yield say(speech, tree, params)
    width = len(collection.key)

    return [
        Found(key_of(row[:width]), _text(row[width]), tuple(row[width + 1 :]))
        for row in result.rows
    ]


def said(asked: Said, speech: Speech) -> Generator[Statement, Result, str]:
    """
    The selection's condition as text, with its parameters' values left out.
    """
    found = where(asked.selection)
    yield from ()

    return say(speech, found.expression, found.params).sql


def lookup(
    asked: Lookup, speech: Speech
) -> Generator[Statement, Result, Sequence[tuple[KeyValue, bool]]]:
    """
    Which of the values are there within the scope, and which of them are live.
    """
    seen = asked.selection
    site, collection = seen.site, seen.site.collection
    said = [value for value in asked.values if value != ""]  # a blank is no value to ask by
    if not said:
        return []
    wanted = Hash(*map(str, said)) if asked.hashes else Key(*said, collection=collection.name)
    binned = seen.binned
    selection = Selection(site, wanted, include="all", scope=seen.scope, binned=binned)
    found = where(selection)
    relation = site.bin if binned else collection.table
    columns = [collection.hash] if asked.hashes and collection.hash else list(collection.key)
    live = live_condition(collection, dialect=speech.dialect, relation=relation)
    if binned:
        live = exp.false()
    flag = exp.Case(
        ifs=[exp.If(this=live if live is not None else exp.true(), true=exp.Literal.number(1))],
        default=exp.Literal.number(0),
    )
    tree = select(
        [*(column(relation, name) for name in columns), flag],
        table(site, relation),
        found.expression,
    )
    result = yield say(speech, tree, found.params)

    return [(key_of(row[:-1]), bool(row[-1])) for row in result.rows]


def sample(
    asked: Sample, speech: Speech
) -> Generator[Statement, Result, Sequence[Mapping[str, object]]]:
    """
    A few rows as people would want to see them.
    """
    site = asked.selection.site
    collection = site.binned if asked.selection.binned else site.collection
    relation = collection.table
    shown = dict(_shown(collection))
    found = where(asked.selection)
    tree = select(
        [column(relation, name) for name in shown.values()], table(site, relation), found.expression
    )
    ordered(tree, [column(relation, name) for name in collection.key], speech)
    result = yield say(speech, tree.limit(asked.size, copy=False), found.params)

    return [_readable(site, dict(zip(shown, row, strict=True))) for row in result.rows]


def count_tie(asked: CountTie, speech: Speech) -> Generator[Statement, Result, int]:
    """
    How many rows of a sidecar hang on the targets.
    """
    site, sidecar, targets = asked.targets.site, asked.sidecar, asked.targets
    match sidecar:
        case Vectors():
            name, key = vectors_present(site, sidecar)
            inner, params = picked(targets, "row")
            condition: Expression = each_of(column(name, key), inner)
        case FullText():
            name, key = f"{sidecar.table}_docsize", "id"
            if not site.schema.has(name):
                return (yield from _many(targets, speech))
            inner, params = picked(targets, "row")
            condition = each_of(column(name, key), inner)
        case Edges() | Rows():
            name = sidecar.table
            condition, params = tied(sidecar, targets, name)
        case References():
            name = sidecar.table
            condition, params = holds_reference(sidecar, targets, name)
        case Ledger():
            return 0
        case _:
            assert_never(sidecar)

    return (yield from _number(speech, counted(table(site, name), condition), params))


def count_ties(asked: CountTies, speech: Speech) -> Generator[Statement, Result, int]:
    """
    How many rows of a table hang on any targets, each row once.
    """
    trees: list[Expression] = []
    params: dict[str, object] = {}
    for number, (targets, sidecar) in enumerate(asked.pairs):
        condition, found = tied(sidecar, targets, sidecar.table, prefix=f"x{number}")
        trees.append(condition)
        params |= found
    first, sidecar = asked.pairs[0]
    tree = counted(table(first.site, sidecar.table), exp.or_(*trees, copy=False))

    return (yield from _number(speech, tree, params))


def count_images(asked: CountImages, speech: Speech) -> Generator[Statement, Result, int]:
    """
    How many images there are of rows with the targets' keys.
    """
    site = asked.targets.site
    inner, params = picked(asked.targets, "keys")
    keys: list[Expression] = [column(site.bin, key) for key in site.collection.key]
    value = keys[0] if len(keys) == 1 else exp.Tuple(expressions=keys)

    return (
        yield from _number(speech, counted(table(site, site.bin), each_of(value, inner)), params)
    )


def referring(asked: Referring, speech: Speech) -> Generator[Statement, Result, int]:
    """
    How many rows of an undeclared table refer to the targets.
    """
    site = asked.targets.site
    relation = site.collection.table
    condition, params = member(asked.targets)
    links = [
        exp.EQ(this=column("child", child), expression=column(relation, parent))
        for child, parent in zip(asked.columns, asked.parent_columns, strict=True)
    ]
    inner = select([exp.Literal.number(1)], table(site, relation), *links, condition)
    wheres: list[Expression] = [exp.Exists(this=inner)]
    if asked.child == relation:  # rows of the table itself: those that go along do not count
        own = hidden(site.table)
        picks, _ = picked(asked.targets, "row" if own else "keys")
        keys: list[Expression] = [column("child", key) for key in site.collection.key]
        value = column("child", own) if own else exp.Tuple(expressions=keys)
        wheres.append(exp.not_(each_of(value, picks)))
    tree = counted(table(site, asked.child, "child"), *wheres)

    return (yield from _number(speech, tree, params))


def still(asked: Still, speech: Speech) -> Generator[Statement, Result, int]:
    """
    How many targets are still there, or still live.
    """
    site = asked.targets.site
    collection = site.collection
    condition, params = member(asked.targets)
    if asked.live:
        live = live_condition(collection, dialect=speech.dialect, relation=collection.table)
        condition = exp.and_(condition, live, copy=False) if live is not None else condition

    return (yield from _number(speech, counted(table(site, collection.table), condition), params))


# --- what hangs on a memory -----------------------------------------------------------------


def tied(
    sidecar: Edges | Rows, targets: Targets, relation: str, prefix: str = "e"
) -> tuple[Expression, dict[str, object]]:
    """
    The condition, on the sidecar's table, that one of its ends is a target.
    """
    trees: list[Expression] = []
    params: dict[str, object] = {}
    for number, end in enumerate(sidecar.ends):
        inner, found = binding(end.by, targets.site, f"{prefix}{number}", targets)
        params |= found
        trees.append(
            exp.and_(
                each_of(column(relation, end.column), inner), *memory_end(end, relation), copy=False
            )
        )

    return exp.or_(*trees, copy=False), params


def memory_end(end: End, relation: str) -> Iterator[Expression]:
    """
    The condition that the end holds a memory at all, where the table says so by row.
    """
    if end.unless is None:
        return
    said_by = column(relation, end.unless)
    others = [exp.Literal.string(value) for value in end.values]
    yield exp.paren(
        exp.or_(
            exp.Is(this=said_by, expression=exp.null()),
            exp.not_(exp.In(this=said_by.copy(), expressions=others)),
        )
    )


def array_items(relation: str, name: str) -> exp.Table:
    """
    ``json_each`` over a column that may hold no JSON array, under the alias ``item``.
    """
    stored = column(relation, name)
    empty = exp.Literal.string("[]")
    kind = exp.func("json_type", stored.copy(), dialect="sqlite")
    array = exp.EQ(this=kind, expression=exp.Literal.string("array"))
    inner = exp.Case(ifs=[exp.If(this=array, true=stored.copy())], default=empty.copy())
    valid = exp.Case(
        ifs=[exp.If(this=exp.func("json_valid", stored, dialect="sqlite"), true=inner)],
        default=empty,
    )
    found = exp.Table(this=exp.Anonymous(this="json_each", expressions=[valid]))
    found.set("alias", exp.TableAlias(this=identifier("memdelete_item")))

    return found


def refers(sidecar: References, targets: Targets) -> tuple[Expression, dict[str, object]]:
    """
    The condition, on an ``item``, that it is a target: of the same class, and never NULL.
    """
    site = targets.site
    inner, params = binding(sidecar.by, site, "a", targets)
    key = site.table.column(site.collection.key[0])
    whole = sidecar.by == "key" and key is not None and "INT" in key.type.upper()
    kind = exp.Literal.string("integer" if whole else "text")
    same = exp.EQ(this=column("memdelete_item", "type"), expression=kind)

    return exp.and_(same, each_of(column("memdelete_item", "value"), inner), copy=False), params


def holds_reference(
    sidecar: References, targets: Targets, relation: str
) -> tuple[Expression, dict[str, object]]:
    """
    The condition, on the referring table, that its array has a target in it.
    """
    condition, params = refers(sidecar, targets)
    found = select([exp.Literal.number(1)], array_items(relation, sidecar.column), condition)

    return exp.Exists(this=found), params


def vectors_present(site: Site, sidecar: Vectors) -> tuple[str, str]:
    """
    Where the rowids of a vector table can be read: its inner table needs no extension loaded.
    """
    inner = f"{sidecar.table}_rowids"
    if site.schema.table(inner) is not None:
        return inner, "rowid"

    return sidecar.table, row_name(site, sidecar)


def row_name(site: Site, sidecar: Vectors | FullText) -> str:
    """
    What a virtual table calls its rowid: vec0 hides the name once a key is declared.
    """
    primary = site.schema.tables[sidecar.table].primary

    return primary[0] if primary else "rowid"


def key_of(values: Sequence[object]) -> KeyValue:
    """
    A key as receipts say it: a tuple only where the key has several columns.
    """
    key = cast("tuple[str | int, ...]", tuple(values))

    return key[0] if len(key) == 1 else key


# --- small things ---------------------------------------------------------------------------


def _number(
    speech: Speech, tree: Expression, params: Mapping[str, object]
) -> Generator[Statement, Result, int]:
    result = yield say(speech, tree, params)

    return number_in(result)


def _many(targets: Targets, speech: Speech) -> Generator[Statement, Result, int]:
    if isinstance(targets, Staged):
        return (yield from _number(speech, counted(staging(targets.site)), {}))

    return (yield from count(Count(targets), speech))


def _table_of(selection: Selection) -> exp.Table:
    site = selection.site
    return table(site, site.bin if selection.binned else site.collection.table)


def _shown(collection: Collection) -> Iterator[tuple[str, str]]:
    yield from ((f"key{n or ''}", name) for n, name in enumerate(collection.key))
    if collection.hash:
        yield "hash", collection.hash
    if collection.tags is not None and not isinstance(collection.tags, JoinTable):
        yield "tags", collection.tags.column
    if "created_at" in collection.times:
        yield "created_at", collection.times["created_at"].column
    yield from (("content", name) for name in collection.content[:1])


def _readable(site: Site, row: Mapping[str, object]) -> Mapping[str, object]:
    collection, found = site.collection, dict(row)
    if "tags" in found and collection.tags is not None:
        tags = collection.tags.decode(found["tags"])
        found["tags"] = "unreadable" if tags is UNKNOWN else ", ".join(sorted(tags))
    if "created_at" in found:
        at = collection.times["created_at"].decode(found["created_at"])
        found["created_at"] = (
            None if at is None else "unreadable" if at is UNKNOWN else at.isoformat()
        )
    if isinstance(found.get("content"), str):
        text = " ".join(str(found["content"]).split())
        found["content"] = text if len(text) <= 60 else f"{text[:59]}…"

    return found


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
