"""
How rows come back: staged from the bin, held against what is there now, and given back whole.

What cannot come back is taken out of the staging with its reason; the rest returns with its own
rowid, its vectors, edges and references, and leaves the bin.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from sqlglot import exp

from memdelete.codec import write_json
from memdelete.filters import Everything
from memdelete.questions import (
    Discard,
    DiscardTie,
    Found,
    Listed,
    PutBackRows,
    PutBackTie,
    Revive,
    Selection,
    Site,
    StageBin,
    Staged,
    Unlike,
    tie_bin,
)
from memdelete.schema import (
    Edges,
    Flag,
    FullText,
    Ledger,
    References,
    Rows,
    Sidecar,
    Vectors,
)

from .build import (
    Speech,
    across,
    alias,
    column,
    counted,
    delete,
    each_of,
    hidden,
    insert,
    keys_match,
    number_in,
    ordered,
    same_hash,
    say,
    select,
    staging,
    staging_name,
    table,
    update,
    where,
)
from .compile import live_condition
from .ddl import keeps_text, staging_tables, tie_columns
from .finding import key_of, memory_end, vectors_present
from .going import differs, own_columns, unmarked
from .references import put_back_references
from .refusing import imaged
from .render import Expression, Result, Statement, identifier, parameter


__all__ = [
    "discard",
    "discard_tie",
    "listed",
    "put_back_rows",
    "put_back_tie",
    "revive",
    "stage_bin",
    "unlike",
]

Changing = Generator[Statement, Result, int]

_ONE = exp.Literal.number(1)


def stage_bin(asked: StageBin, speech: Speech) -> Changing:
    """
    Remember rows of the bin, each with the operation that put it there.
    """
    selection = asked.selection
    site, collection = selection.site, selection.site.collection
    yield from staging_tables(site, staging_name(site))
    found = where(selection)
    conditions, params = [found.expression], dict(found.params)
    if asked.operation is not None:
        conditions.append(
            exp.EQ(this=column(site.bin, "memdelete_operation"), expression=parameter("operation"))
        )
        params["operation"] = asked.operation
    if asked.absent:
        there = select(
            [_ONE.copy()],
            table(site, collection.table),
            *keys_match(site, collection.table, site.bin, staged=False),
        )
        conditions.append(exp.not_(exp.Exists(this=there)))
    keys = [f"k{number}" for number in range(len(collection.key))]
    tie = "memdelete_rowid" if hidden(site.table) else collection.key[0]
    trees: list[Expression] = [column(site.bin, name) for name in collection.key]
    trees.append(column(site.bin, collection.hash) if collection.hash else exp.null())
    trees += [column(site.bin, name) for name in (tie, "memdelete_id", "memdelete_operation")]
    tree = insert(
        staging(site),
        [*keys, "h", "r", "b", "o"],
        select(trees, table(site, site.bin), *conditions),
    )

    return (yield say(speech, tree, params)).changed


def listed(asked: Listed, speech: Speech) -> Generator[Statement, Result, Sequence[Found]]:
    """
    The staged rows by key and hash.
    """
    site, name = asked.site, staging_name(asked.site)
    keys = [column(name, f"k{number}") for number in range(len(site.collection.key))]
    tree = select([*keys, column(name, "h")], staging(site))
    rows = (yield say(speech, ordered(tree, keys, speech))).rows

    return [Found(key_of(row[:-1]), row[-1] if isinstance(row[-1], str) else None) for row in rows]


def put_back_rows(asked: PutBackRows, speech: Speech) -> Changing:
    """
    Unmark the staged rows that are still in place, insert the others with their old rowid.
    """
    site = asked.site
    relation = site.collection.table
    unmarked_count = 0
    marks = sorted(unmarked(Staged(site)))
    if marks:
        in_place = each_of_keys(site, relation)
        sets = {mark: exp.Subquery(this=_imaged(site, relation, mark)) for mark in marks}
        tree = update(table(site, relation), sets, in_place)
        unmarked_count = (yield say(speech, tree)).changed
    kept = site.schema.tables[site.bin]
    own = [name for name in own_columns(site.table.columns) if kept.column(name) is not None]
    rowid = hidden(site.table)
    spare = rowid if rowid and rowid != alias(site.table) and alias(site.table) is None else None
    trees: list[Expression] = [column("image", name) for name in own]
    trees += [_free_rowid(site, relation, spare, "image")] if spare else []
    absent = exp.not_(
        exp.Exists(
            this=select(
                [_ONE.copy()],
                table(site, relation, "there"),
                *keys_match(site, "there", "image", staged=False),
            )
        )
    )
    picked = each_of(
        column("image", "memdelete_id"), select([column(staging_name(site), "b")], staging(site))
    )
    source = select(trees, table(site, site.bin, "image"), picked, absent)
    ordered(source, [column("image", key) for key in site.collection.key], speech)
    written = insert(table(site, relation), [*own, *([spare] if spare else [])], source)
    # Unique indexes over expressions or some rows only are not asked beforehand.
    written.set("conflict", exp.OnConflict(action=exp.Var(this="DO NOTHING")))

    return unmarked_count + (yield say(speech, written)).changed


def unlike(asked: Unlike, speech: Speech) -> Changing:
    """
    How many staged rows are not, in every column, what their image says.
    """
    site = asked.site
    relation = site.collection.table
    passed = {each.column for each in site.collection.touch} if asked.untouched else set()
    whole = differs(site, relation, "image", passed)
    image = select(
        [_ONE.copy()],
        table(site, relation),
        *keys_match(site, relation, "staged", staged=True),
        exp.not_(whole),
    )
    across(image, table(site, site.bin, "image"))
    image.where(*imaged(), copy=False)
    tree = counted(staging(site, "staged"), exp.not_(exp.Exists(this=image)))

    return number_in((yield say(speech, tree)))


def put_back_tie(
    asked: PutBackTie, speech: Speech
) -> Generator[Statement, Result, tuple[int, int]]:
    """
    Give back what hung on the staged rows; answers how much came and how much waits.
    """
    site, sidecar = asked.site, asked.sidecar
    if site.schema.table(tie_bin(sidecar)) is None and not isinstance(sidecar, FullText):
        return 0, 0
    match sidecar:
        case Vectors():
            return (yield from _put_back_vectors(site, sidecar, speech))
        case FullText():
            return (yield from _put_back_text(site, sidecar, speech))
        case Edges() | Rows():
            return (yield from _put_back_edges(site, sidecar, speech))
        case References():
            return (yield from put_back_references(site, sidecar, speech))
        case Ledger():
            return 0, 0


def revive(asked: Revive, speech: Speech) -> Changing:
    """
    Clear the tombstones of staged rows; those without their vector are set as the store says.
    """
    site, collection = asked.site, asked.site.collection
    relation = collection.table
    in_place = each_of_keys(site, relation)
    match collection.tombstone:
        case None:
            return 0
        case Flag(name, live, _):
            sets = {name: exp.convert(live)}
        case encoding:
            sets = {encoding.column: exp.null()}
    tree = update(table(site, relation), sets, in_place)
    changed = (yield say(speech, tree)).changed
    if asked.vectors is not None and collection.revive:
        name, key = vectors_present(site, asked.vectors)
        lacking = exp.not_(
            each_of(
                column(relation, hidden(site.table) or collection.key[0]),
                select([column(name, key)], table(site, name)),
            )
        )
        sets = {each: exp.convert(value) for each, value in collection.revive.items()}
        both = exp.and_(each_of_keys(site, relation), lacking, copy=False)
        yield say(speech, update(table(site, relation), sets, both))

    return changed


def discard(asked: Discard, speech: Speech) -> Changing:
    """
    Take rows out of the bin: the staged ones, or the images of staged table rows.
    """
    site = asked.site
    name = staging_name(site)
    condition: Expression
    params: dict[str, object] = {}
    if asked.of_table:
        condition = exp.Exists(
            this=select(
                [_ONE.copy()],
                staging(site),
                *keys_match(site, site.bin, name, staged=True),
                *same_hash(site, site.bin, column(name, "h")),
            )
        )
        if asked.scope is not None:
            within = Selection(site, Everything(), scope=asked.scope, binned=True)
            found = where(within)
            condition, params = (
                exp.and_(condition, found.expression, copy=False),
                dict(found.params),
            )
    else:
        picked = select([column(name, "b")], staging(site))
        condition = each_of(column(site.bin, "memdelete_id"), picked)

    return (yield say(speech, delete(table(site, site.bin), condition), params)).changed


def discard_tie(asked: DiscardTie, speech: Speech) -> Changing:
    """
    Take out of a sidecar's bin what no row in the bin claims any more.
    """
    first, sidecar = asked.pairs[0]
    name = tie_bin(sidecar)
    if first.schema.table(name) is None:
        return 0
    claims = [claim for site, tie in asked.pairs for claim in _claims(site, tie)]
    condition = exp.and_(*(exp.not_(exp.Exists(this=claim)) for claim in claims), copy=False)

    return (yield say(speech, delete(table(first, name), condition))).changed


def _claims(site: Site, sidecar: Sidecar) -> Iterator[exp.Select]:
    name = tie_bin(sidecar)
    if not site.has_bin:
        return
    same = exp.EQ(
        this=column(site.bin, "memdelete_operation"), expression=column(name, "memdelete_operation")
    )
    claims: list[list[Expression]]
    match sidecar:
        case Vectors() | FullText():
            tie = "memdelete_rowid" if hidden(site.table) else site.collection.key[0]
            row = exp.EQ(this=column(site.bin, tie), expression=column(name, "memdelete_rowid"))
            claims = [[row, same]]
        case Edges() | Rows():
            # What waits for its other end is claimed by that end, whichever operation took it.
            held = exp.EQ(this=column(name, "memdelete_held"), expression=_ONE.copy())
            either = exp.paren(exp.or_(same, held, copy=False))
            claims = [
                [
                    exp.EQ(
                        this=column(site.bin, _tie_column(site, end.by)),
                        expression=column(name, end.column),
                    ),
                    either.copy(),
                ]
                for end in sidecar.ends
            ]
        case _:
            claims = [[same]]
    for claim in claims:
        yield select([_ONE.copy()], table(site, site.bin), *claim)


# --- how each thing comes back --------------------------------------------------------------


def each_of_keys(site: Site, relation: str) -> Expression:
    """
    The condition, on the site's table, that a row's key is staged.
    """
    return exp.Exists(
        this=select(
            [_ONE.copy()],
            staging(site, "staged"),
            *keys_match(site, relation, "staged", staged=True),
        )
    )


def _imaged(site: Site, relation: str, name: str) -> exp.Select:
    found = select([column("image", name)], staging(site, "staged"))
    across(found, table(site, site.bin, "image"))

    return found.where(*imaged(), *keys_match(site, relation, "staged", staged=True), copy=False)


def _free_rowid(site: Site, name: str, rowid: str, relation: str) -> Expression:
    taken = select(
        [_ONE.copy()],
        table(site, name, "holder"),
        exp.EQ(this=column("holder", rowid), expression=column(relation, "memdelete_rowid")),
    )

    return exp.Case(
        ifs=[exp.If(this=exp.Exists(this=taken), true=exp.null())],
        default=column(relation, "memdelete_rowid"),
    )


def _put_back_vectors(
    site: Site, sidecar: Vectors, speech: Speech
) -> Generator[Statement, Result, tuple[int, int]]:
    live = site.schema.tables[sidecar.table]
    own = [found.name for found in tie_columns(site, sidecar)]
    trees: list[Expression] = [column("image", "memdelete_rowid")]
    trees += [_vector(found.type, column("image", found.name)) for found in live.columns]
    inner, key = vectors_present(site, sidecar)

    return (
        yield from _put_back_by_row(site, sidecar, (trees, ["rowid", *own]), (inner, key), speech)
    )


def _put_back_by_row(
    site: Site,
    sidecar: Vectors | FullText,
    what: tuple[list[Expression], list[str]],
    present: tuple[str, str],
    speech: Speech,
) -> Generator[Statement, Result, tuple[int, int]]:
    # Somebody may have put another entry where ours was: theirs stays, ours waits in the bin.
    name, (trees, columns), (inner, key) = tie_bin(sidecar), what, present
    there = select(
        [_ONE.copy()],
        table(site, inner, "there"),
        exp.EQ(this=column("there", key), expression=column("image", "memdelete_rowid")),
    )
    ours = _staged_row(site, "image")
    taken = select(
        [column("image", "rowid")], table(site, name, "image"), ours, exp.Exists(this=there)
    )
    waiting = [row[0] for row in (yield say(speech, taken)).rows]
    number = counted(table(site, name, "image"), ours.copy())
    came = number_in((yield say(speech, number))) - len(waiting)
    source = select(
        trees, table(site, name, "image"), ours.copy(), exp.not_(exp.Exists(this=there.copy()))
    )
    yield say(speech, insert(table(site, sidecar.table), columns, source))
    gone = _staged_row(site, name)
    params: dict[str, object] = {}
    if waiting:
        params = {"waiting": write_json(waiting)}
        items = exp.Table(this=exp.Anonymous(this="json_each", expressions=[parameter("waiting")]))
        items.set("alias", exp.TableAlias(this=identifier("item")))
        kept = each_of(column(name, "rowid"), select([column("item", "value")], items))
        gone = exp.and_(gone, exp.not_(kept), copy=False)
    yield say(speech, delete(table(site, name), gone), params)

    return came, len(waiting)


def _vector(type_: str, value: Expression) -> Expression:
    kind = type_.split("[", maxsplit=1)[0].strip().lower()
    if "[" in type_ and kind in {"int8", "bit"}:
        return exp.func(f"vec_{kind}", value, dialect="sqlite")

    return value


def _staged_row(site: Site, relation: str) -> Expression:
    return exp.Exists(
        this=select(
            [_ONE.copy()],
            staging(site, "staged"),
            exp.EQ(this=column("staged", "r"), expression=column(relation, "memdelete_rowid")),
            exp.EQ(this=column("staged", "o"), expression=column(relation, "memdelete_operation")),
        )
    )


def _put_back_text(
    site: Site, sidecar: FullText, speech: Speech
) -> Generator[Statement, Result, tuple[int, int]]:
    live = site.schema.tables[sidecar.table]
    own = tie_columns(site, sidecar)
    columns = ["rowid", *(found.name for found in live.columns)]
    docsize = f"{sidecar.table}_docsize"
    present = (docsize, "id") if site.schema.has(docsize) else (sidecar.table, "rowid")
    if site.schema.table(tie_bin(sidecar)) is None:
        return 0, 0
    if keeps_text(live):
        if _fills_itself(site, sidecar):
            yield say(
                speech, delete(table(site, tie_bin(sidecar)), _staged_row(site, tie_bin(sidecar)))
            )
            return 0, 0
        trees: list[Expression] = [column("image", "memdelete_rowid")]
        trees += [column("image", found.name) for found in live.columns]
        return (yield from _put_back_by_row(site, sidecar, (trees, columns), present, speech))
    if not own:
        return 0, 0
    # Triggers may have indexed what was not in the index, or not what was.
    relation = site.collection.table
    rowid = column(relation, hidden(site.table) or site.collection.key[0])
    indexed = select([column(*present)], table(site, present[0]))
    was = select(
        [column("image", "memdelete_rowid")],
        table(site, tie_bin(sidecar), "image"),
        _staged_row(site, "image"),
    )
    trees = [rowid, *(column(relation, found.name) for found in live.columns)]
    missing = exp.and_(
        each_of_keys(site, relation),
        each_of(rowid.copy(), was),
        exp.not_(each_of(rowid.copy(), indexed)),
        copy=False,
    )
    if {found.name for found in live.columns} <= {found.name for found in site.table.columns}:
        source = select(trees, table(site, relation), missing)
        yield say(speech, insert(table(site, sidecar.table), columns, source))
    staged = select([column("staged", "r")], staging(site, "staged"))
    surplus = exp.and_(
        each_of(column(sidecar.table, "rowid"), staged),
        exp.not_(each_of(column(sidecar.table, "rowid"), was.copy())),
        each_of(column(sidecar.table, "rowid"), indexed.copy()),
        copy=False,
    )
    yield say(speech, delete(table(site, sidecar.table), surplus))
    yield say(speech, delete(table(site, tie_bin(sidecar)), _staged_row(site, tie_bin(sidecar))))

    return 0, 0


def _fills_itself(site: Site, sidecar: FullText) -> bool:
    return any(
        trigger.fires_on("insert") and trigger.inserts_into(sidecar.table)
        for trigger in site.table.triggers
    )


def _put_back_edges(
    site: Site, sidecar: Edges | Rows, speech: Speech
) -> Generator[Statement, Result, tuple[int, int]]:
    bin_name = tie_bin(sidecar)
    live = site.schema.tables[sidecar.table]
    kept = site.schema.tables[bin_name]
    own = [name for name in own_columns(live.columns) if kept.column(name) is not None]
    rowid = hidden(live)
    spare = rowid if rowid and alias(live) is None else None

    def candidate(relation: str) -> Expression:
        touching = [
            exp.and_(
                each_of(
                    column(relation, end.column),
                    select(
                        [column("staged", "h" if end.by == "hash" else "k0")],
                        staging(site, "staged"),
                    ),
                ),
                *memory_end(end, relation),
                copy=False,
            )
            for end in sidecar.ends
        ]
        ours = each_of(
            column(relation, "memdelete_operation"),
            select([column("staged", "o")], staging(site, "staged")),
        )
        held = exp.EQ(this=column(relation, "memdelete_held"), expression=_ONE.copy())
        return exp.and_(exp.paren(exp.or_(*touching)), exp.paren(exp.or_(ours, held)), copy=False)

    def ready(relation: str) -> Expression:
        return exp.and_(
            *(
                exp.paren(
                    exp.or_(
                        exp.EQ(
                            this=column(relation, f"memdelete_end_{number}"),
                            expression=exp.Literal.number(0),
                        ),
                        exp.Exists(this=_alive(site, end.by, column(relation, end.column), speech)),
                    )
                )
                for number, end in enumerate(sidecar.ends)
            ),
            copy=False,
        )

    trees: list[Expression] = [column("image", name) for name in own]
    trees += [_free_rowid(site, sidecar.table, spare, "image")] if spare else []
    source = select(trees, table(site, bin_name, "image"), candidate("image"), ready("image"))
    ordered(source, [column("image", "memdelete_rowid")], speech)
    tree = insert(table(site, sidecar.table), [*own, *([spare] if spare else [])], source)
    tree.set("conflict", exp.OnConflict(action=exp.Var(this="DO NOTHING")))
    came = (yield say(speech, tree)).changed
    # What somebody made anew meanwhile stays as they made it, and ours waits; only what is there
    # as it was leaves the bin.
    equal = [
        exp.NullSafeEQ(this=column("row", name), expression=column(bin_name, name)) for name in own
    ]
    back = exp.Exists(this=select([_ONE.copy()], table(site, sidecar.table, "row"), *equal))
    gone = exp.and_(candidate(bin_name), ready(bin_name), back, copy=False)
    yield say(speech, delete(table(site, bin_name), gone))
    held = {"memdelete_held": _ONE.copy()}
    waiting = update(table(site, bin_name), held, candidate(bin_name))

    return came, (yield say(speech, waiting)).changed


def _alive(site: Site, by: str, value: Expression, speech: Speech) -> exp.Select:
    collection = site.collection
    live = live_condition(collection, dialect=speech.dialect, relation="there")

    return select(
        [_ONE.copy()],
        table(site, collection.table, "there"),
        exp.EQ(this=column("there", _tie_column(site, by)), expression=value),
        *([live] if live is not None else []),
    )


def _tie_column(site: Site, by: str) -> str:
    collection = site.collection

    return collection.hash if by == "hash" and collection.hash else collection.key[0]
