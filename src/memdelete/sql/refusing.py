"""
Why a row cannot come back: each reason as a condition on the staged rows.

A reason is asked before anything is written; the rows it names are told and taken out of the
staging, and the rest returns. Statements visit, and `returning`, which gives the rest back.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from sqlglot import exp

from memdelete.questions import (
    Refuse,
    Site,
    Staged,
    Tell,
)
from memdelete.schema import (
    FullText,
    LiveIndex,
    Vectors,
)

from .build import (
    Speech,
    across,
    alias,
    column,
    delete,
    hidden,
    keys_match,
    ordered,
    same_hash,
    say,
    select,
    staging,
    staging_name,
    table,
)
from .compile import live_condition
from .finding import key_of
from .going import differs, unmarked
from .render import Expression, Result, Statement, parameter


__all__ = ["imaged", "refuse"]

Changing = Generator[Statement, Result, int]

_ONE = exp.Literal.number(1)


def refuse(asked: Refuse, speech: Speech) -> Generator[Statement, Result, Sequence[Tell]]:
    """
    Tell the staged rows that cannot come back for the reason, and take them out.
    """
    site = asked.site
    told: list[Tell] = []
    for condition, detail in _grounds(asked, speech):
        keys = [column("staged", f"k{number}") for number in range(len(site.collection.key))]
        tree = select([*keys, column("staged", "rowid")], staging(site, "staged"), condition)
        ordered(tree, keys, speech)
        rows = (yield say(speech, tree)).rows
        told += [Tell(key_of(row[:-1]), asked.reason, detail) for row in rows]
        yield from _unstage(site, [row[-1] for row in rows], speech)

    return told


def imaged(*wheres: Expression) -> list[Expression]:
    """
    That ``image`` is the image of ``staged``, and what else is asked of it.
    """
    return [exp.EQ(this=column("image", "memdelete_id"), expression=column("staged", "b")), *wheres]


def _grounds(asked: Refuse, speech: Speech) -> Iterator[tuple[Expression, str]]:
    site = asked.site
    if asked.absent:
        yield (
            exp.not_(exp.Exists(this=_there(site))),
            "an index over some rows or expressions",
        )
        return
    match asked.reason:
        case "ambiguous":
            yield from _ambiguous(site)
        case "schema_changed":
            yield exp.true(), asked.detail
        case "key_taken":
            yield exp.Exists(this=_other_at_key(site, speech)), "a row has this key"
            if alias(site.table) is None and _rowid_tied(site):
                yield exp.Exists(this=_other_at_rowid(site)), "another row has this rowid"
        case "changed_since":
            yield exp.Exists(this=_changed(site)), "edited since it was deleted"
            gone = exp.not_(exp.Exists(this=_there(site)))
            later = exp.and_(gone, exp.Exists(this=_newer(site)), copy=False)
            yield later, "deleted again since, by another operation: restore that first"
        case "unique_taken":
            yield from _unique_taken(asked, speech)
        case "live_twin":
            for columns in site.collection.twins:
                twin = _twin(site, columns, speech, in_place=asked.in_place)
                yield exp.Exists(this=twin), ", ".join(columns)
        case _:
            return


def _ambiguous(site: Site) -> Iterator[tuple[Expression, str]]:
    once = "more than once: name an operation"
    yield exp.Exists(this=_double(site)), f"the bin holds it {once}"
    for index in _unique(site):
        named = ", ".join(_named(index))
        yield exp.Exists(this=_same_unique(site, index)), f"the bin holds {named} {once}"


def _unique_taken(asked: Refuse, speech: Speech) -> Iterator[tuple[Expression, str]]:
    site = asked.site
    for index in _unique(site) if not asked.in_place else ():
        yield exp.Exists(this=_taken(site, index)), ", ".join(_named(index))
    # An index over some rows is commonly over the live ones, which these are to join.
    for index in _partly_unique(site):
        columns = tuple(_named(index))
        twin = _twin(site, columns, speech, in_place=asked.in_place, nulls=False)
        yield exp.Exists(this=twin), ", ".join(columns)


def _unstage(site: Site, rowids: Sequence[object], speech: Speech) -> Iterator[Statement]:
    for start in range(0, len(rowids), 500):
        chunk = rowids[start : start + 500]
        marks = {f"p{number}": value for number, value in enumerate(chunk)}
        condition = exp.In(
            this=column(staging_name(site), "rowid"),
            expressions=[parameter(mark) for mark in marks],
        )
        yield say(speech, delete(staging(site), condition), marks)


def _there(site: Site) -> exp.Select:
    return select(
        [_ONE.copy()],
        table(site, site.collection.table, "there"),
        *keys_match(site, "there", "staged", staged=True),
    )


def _other_at_key(site: Site, speech: Speech) -> exp.Select:
    collection = site.collection
    found = _there(site)
    live = live_condition(collection, dialect=speech.dialect, relation="there")
    grounds: list[Expression] = [live if live is not None else exp.true()]
    if collection.hash:
        grounds.append(
            exp.NullSafeNEQ(this=column("there", collection.hash), expression=column("staged", "h"))
        )

    return found.where(exp.paren(exp.or_(*grounds, copy=False)), copy=False)


def _other_at_rowid(site: Site) -> exp.Select:
    same = [
        exp.NEQ(this=match.this, expression=match.expression)
        for match in keys_match(site, "there", "staged", staged=True)
    ]

    return select(
        [_ONE.copy()],
        table(site, site.collection.table, "there"),
        exp.EQ(
            this=column("there", hidden(site.table) or "rowid"), expression=column("staged", "r")
        ),
        exp.paren(exp.or_(*same, copy=False)),
    )


def _changed(site: Site) -> exp.Select:
    found = _there(site)
    across(found, table(site, site.bin, "image"))

    return found.where(*imaged(differs(site, "there", "image", unmarked(Staged(site)))), copy=False)


def _newer(site: Site) -> exp.Select:
    return select(
        [_ONE.copy()],
        table(site, site.bin, "newer"),
        *keys_match(site, "newer", "staged", staged=True),
        *same_hash(site, "newer", column("staged", "h")),
        exp.GT(this=column("newer", "memdelete_id"), expression=column("staged", "b")),
        exp.NEQ(this=column("newer", "memdelete_operation"), expression=column("staged", "o")),
    )


def _taken(site: Site, index: LiveIndex) -> exp.Select:
    # The image leads: it is one row, and the unique index finds what holds its values.
    found = select([_ONE.copy()], table(site, site.bin, "image"))
    across(found, table(site, site.collection.table, "there"))
    same = [
        exp.EQ(this=column("there", name), expression=column("image", name))
        for name in _named(index)
    ]

    return found.where(*imaged(*same, _other_key(site, "there")), copy=False)


def _twin(
    site: Site, columns: tuple[str, ...], speech: Speech, *, in_place: bool, nulls: bool = True
) -> exp.Select:
    collection = site.collection
    image = collection.table if in_place else site.bin
    found = select([_ONE.copy()], table(site, image, "image"))
    across(found, table(site, collection.table, "there"))
    own = keys_match(site, "image", "staged", staged=True) if in_place else imaged()
    # What has no first column (no topic, no hash) is nobody's double.
    equals = [exp.EQ, *[exp.NullSafeEQ if nulls else exp.EQ] * (len(columns) - 1)]
    same = [
        equal(this=column("there", name), expression=column("image", name))
        for equal, name in zip(equals, columns, strict=True)
    ]
    live = live_condition(collection, dialect=speech.dialect, relation="there")

    return found.where(
        *own, *same, _other_key(site, "there"), *([live] if live is not None else []), copy=False
    )


def _double(site: Site) -> exp.Select:
    same = [
        exp.EQ(this=column("other", f"k{number}"), expression=column("staged", f"k{number}"))
        for number in range(len(site.collection.key))
    ]

    return select(
        [_ONE.copy()],
        staging(site, "other"),
        *same,
        exp.NEQ(this=column("other", "b"), expression=column("staged", "b")),
    )


def _same_unique(site: Site, index: LiveIndex) -> exp.Select:
    found = select([_ONE.copy()], table(site, site.bin, "image"))
    across(found, table(site, site.bin, "theirs"))
    across(found, staging(site, "other"))
    same = [
        exp.EQ(this=column("theirs", name), expression=column("image", name))
        for name in _named(index)
    ]

    return found.where(
        *imaged(*same),
        exp.EQ(this=column("theirs", "memdelete_id"), expression=column("other", "b")),
        exp.NEQ(this=column("other", "b"), expression=column("staged", "b")),
        copy=False,
    )


def _other_key(site: Site, relation: str) -> Expression:
    return exp.paren(
        exp.or_(
            *(
                exp.NEQ(this=match.this, expression=match.expression)
                for match in keys_match(site, relation, "staged", staged=True)
            ),
            copy=False,
        )
    )


def _unique(site: Site) -> Iterator[LiveIndex]:
    for index in site.table.indexes:
        plain = index.unique and not index.partial and None not in index.columns
        if plain and set(index.columns) != set(site.collection.key):
            yield index


def _partly_unique(site: Site) -> Iterator[LiveIndex]:
    for index in site.table.indexes:
        if index.unique and index.partial and None not in index.columns:
            yield index


def _named(index: LiveIndex) -> list[str]:
    return [name for name in index.columns if name is not None]


def _rowid_tied(site: Site) -> bool:
    return any(isinstance(tie, Vectors | FullText) for tie in site.collection.ties)
