"""
How PostgreSQL says each condition.

A column has one class here, so a value of another class is refused before there is a statement;
parameters are cast to the column's class, never the column to theirs. What can be wrong row by
row is guarded so that no row makes a statement fail. Only the table of dialects visits.
"""

# ruff: noqa: S608 - names enter as trees and values are bound; a sentence holds constants only

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Final, assert_never

from sqlglot import exp

from memdelete.errors import StoreError
from memdelete.globs import read, to_regex
from memdelete.times import (
    FIRST_MICROSECOND,
    LAST_MICROSECOND,
    EpochMicros,
    EpochMillis,
    EpochSeconds,
    ISOText,
    Native,
    TimeEncoding,
    cut,
)

from .classed import (
    CALENDAR_DAY,
    CLOCK,
    EPOCH,
    epoch_kind,
    moment,
    refuse_no_text,
)
from .phrases import Site, all_of, literal, negated, phrase
from .render import Expression
from .values import (
    LETTERS,
    ColumnKind,
    Edge,
    RowsWanted,
    Span,
    ValueClass,
    Wanted,
    bare_type,
    day_after,
    day_before,
)


__all__ = [
    "EXACT",
    "KINDS",
    "among",
    "folded",
    "kind",
    "ordered",
    "outside",
    "rows_among",
    "say",
    "searched",
    "within",
]

say: Final = partial(phrase, "postgres")

KINDS: Final[dict[str, ColumnKind]] = {
    **dict.fromkeys(("text", "character varying", "varchar"), "text"),
    **dict.fromkeys(("smallint", "integer", "bigint", "int", "int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("real", "double precision", "float4", "float8"), "real"),
    **dict.fromkeys(("numeric", "decimal"), "numeric"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
}
_ZONED: Final = {"timestamp with time zone", "timestamptz"}
_NAIVE: Final = {"timestamp without time zone", "timestamp"}
# Collations under which equal means equal, code point by code point: the default of a database
# is always deterministic.
EXACT: Final = {None, "C", "POSIX", "C.UTF-8", "DEFAULT", "UCS_BASIC"}


def kind(declared: str) -> ColumnKind:
    """
    The class of a column of a declared type; other types are not compared.
    """
    found = KINDS.get(bare_type(declared))
    if found is None:
        raise StoreError(
            f"filters cannot compare a column of type {declared}",
            advice="they compare text, varchar, integers, floats, numeric and boolean",
        )

    return found


# --- values ---------------------------------------------------------------------------------


def among(site: Site, name: str, wanted: Wanted) -> Expression:
    """
    The stored value is in the list.
    """
    value = _value(site, wanted)
    sign = "= ANY(:p)" if wanted.many else "= :p"
    forms = _forms(site, name, wanted.value_class, fold=wanted.fold)

    return all_of(
        *[say(f":c {sign}", c=form, p=value) for form in forms], _number(site, name, wanted)
    )


def outside(site: Site, name: str, wanted: Wanted) -> Expression:
    """
    The stored value is there and not in the list.
    """
    value = _value(site, wanted)
    sign = "<> ALL(:p)" if wanted.many else "<> :p"
    *_, exact = _forms(site, name, wanted.value_class, fold=wanted.fold)

    return all_of(say(f":c {sign}", c=exact, p=value), _number(site, name, wanted))


def rows_among(site: Site, names: Sequence[str], wanted: RowsWanted) -> Expression:
    """
    The key of several columns is in the list.
    """
    parts: dict[str, Expression] = {}
    for place, (name, value_class) in enumerate(zip(names, wanted.classes, strict=True)):
        parts[f"c{place}"] = site.column(name)
        parts[f"e{place}"] = _forms(site, name, value_class)[-1]
        values = site.bind(wanted.part(place))
        parts[f"p{place}"] = _cast(values, f"{_TYPES[value_class]}[]")
    places = range(len(names))

    def listed(mark: str) -> str:
        return ", ".join(f":{mark}{place}" for place in places)

    rows = f"(SELECT * FROM unnest({listed('p')}) AS memdelete_row)"

    return say(f"({listed('c')}) IN {rows} AND ({listed('e')}) IN {rows}", **parts)


def ordered(site: Site, name: str, sign: str, wanted: Wanted) -> Expression:
    """
    The stored value lies on that side of the given one; texts by code points.
    """
    stored: Expression = site.column(name)
    if wanted.value_class == "text":
        stored = say(':c COLLATE "C"', c=stored)

    return all_of(
        say(f":c {sign} :p", c=stored, p=_value(site, wanted)), _number(site, name, wanted)
    )


def searched(site: Site, name: str, op: str, wanted: Wanted, *, holds: bool) -> Expression:
    """
    The stored text has the given one in it, or certainly has not.
    """
    text = say(':c COLLATE "C"', c=site.column(name))
    text = folded(text) if wanted.fold else text
    if op == "glob":
        value = _cast(site.bind(lambda leaf: _regex(str(wanted.one(leaf)))), "TEXT")
    else:
        value = _value(site, wanted)
    match op:
        case "contains":
            found = "strpos(:c, :p) > 0"
        case "startswith":
            found = "left(:c, length(:p)) = :p"
        case "endswith":
            found = "right(:c, length(:p)) = :p"
        case _:
            found = ":c ~ :p"
    fact = say(found, c=text, p=value)

    return fact if holds else negated(fact)


_TYPES: Final[dict[ValueClass, str]] = {
    "text": "TEXT",
    "integer": "BIGINT",
    "number": "NUMERIC",
    "boolean": "BOOLEAN",
}
_NUMBERS: Final[dict[ColumnKind, str]] = {
    "integer": "BIGINT",
    "real": "DOUBLE PRECISION",
    "numeric": "NUMERIC",
}


def _value(site: Site, wanted: Wanted) -> Expression:
    numbers = _NUMBERS.get(wanted.kind) if wanted.value_class == "number" else None
    type_ = numbers or _TYPES[wanted.value_class]
    if wanted.many:
        return _cast(site.bind(lambda leaf: list(wanted.read(leaf))), f"{type_}[]")

    return _cast(site.bind(wanted.one), type_)


def _cast(value: Expression, type_: str) -> Expression:
    return say(f"CAST(:p AS {type_})", p=value)


def _forms(
    site: Site, name: str, value_class: ValueClass, *, fold: bool = False
) -> list[Expression]:
    # Both are said where equality may be wider than code points: the bare column for the index.
    stored = site.column(name)
    if value_class != "text":
        return [stored]
    exact = say(':c COLLATE "C"', c=stored)
    if fold:
        return [folded(exact)]
    live = site.live_column(name)

    return [stored] if live and live.collation in EXACT else [stored, exact]


def _number(site: Site, name: str, wanted: Wanted) -> Expression | None:
    # NaN equals itself here and is greater than every number.
    if wanted.value_class != "number" or wanted.kind not in {"real", "numeric"}:
        return None

    return say(f":c <> CAST('NaN' AS {_NUMBERS[wanted.kind]})", c=site.column(name))


def folded(text: Expression) -> Expression:
    """
    A text with its ASCII letters made small, and no others.
    """
    big, small = map(literal, LETTERS)

    return say("translate(:c, :big, :small)", c=text, big=big, small=small)


def _regex(pattern: str) -> str:
    return f"^(?:{to_regex(read(pattern, 'glob'))})$"


# --- times ----------------------------------------------------------------------------------


def within(site: Site, encoding: TimeEncoding, span: Span) -> Expression:
    """
    The stored time can be read, and lies in ``[span)``.
    """
    stored = site.column(encoding.column)
    match encoding:
        case EpochSeconds() | EpochMillis() | EpochMicros():
            return _epoch(site, encoding, span)
        case ISOText():
            refuse_no_text(site, encoding.column, kind)
            micros = say(
                f"(SELECT {_ISO} FROM (SELECT regexp_match(:c, :form) AS m) AS g)",
                c=say(':c COLLATE "C"', c=stored),
                # The year 0 is no year of ours, and no cast reads it.
                form=literal(f"^(?!0000){CALENDAR_DAY}{CLOCK}$"),
                naive=exp.Boolean(this=encoding.naive == "utc"),
            )
            coarse = _days(site, stored, span)
            return all_of(coarse, _inside(site, micros, "BIGINT", int, span))
        case Native():
            return _native(site, encoding, span)
        case never:
            assert_never(never)


_ISO: Final = (
    "CASE WHEN :naive OR g.m[6] IS NOT NULL THEN "
    "CAST(CAST(g.m[1] AS DATE) - CAST('1970-01-01' AS DATE) AS BIGINT) * 86400000000 "
    "+ CAST(coalesce(g.m[2], '0') AS BIGINT) * 3600000000 "
    "+ CAST(coalesce(g.m[3], '0') AS BIGINT) * 60000000 "
    "+ CAST(coalesce(g.m[4], '0') AS BIGINT) * 1000000 "
    "+ CAST(left(coalesce(g.m[5], '') || '000000', 6) AS BIGINT) "
    "- CASE WHEN g.m[7] = '-' THEN -60000000 ELSE 60000000 END "
    "* (CAST(coalesce(g.m[8], '0') AS BIGINT) * 60 + CAST(coalesce(g.m[9], '0') AS BIGINT)) END"
)


def _epoch(
    site: Site, encoding: EpochSeconds | EpochMillis | EpochMicros, span: Span
) -> Expression:
    stored, per_second = site.column(encoding.column), encoding.per_second
    scale = 1_000_000 // per_second
    match epoch_kind(site, encoding, kind):
        case "integer":
            return _inside(site, stored, "BIGINT", lambda at: -(-at // scale), span)
        case "real":
            number = partial(cut, per_second=per_second)
            return _inside(site, stored, "DOUBLE PRECISION", number, span)
        case _:
            micros = say(
                f"CASE WHEN :c ~ :form THEN floor(CAST(:c AS NUMERIC) * {scale}) END",
                c=say(':c COLLATE "C"', c=stored),
                form=literal(f"^{EPOCH}$"),
            )
            return _inside(site, micros, "NUMERIC", Decimal, span)


def _native(site: Site, encoding: Native, span: Span) -> Expression:
    # As text with its offset, read the same in every session; infinities lie outside.
    live = site.live_column(encoding.column)
    declared = bare_type(live.type) if live else None
    zoned = encoding.zoned if declared is None else declared in _ZONED
    if declared is not None and declared not in _ZONED | _NAIVE:
        raise StoreError(
            f"the column {encoding.column!r} is {declared}, no timestamp",
            place=site.collection.name,
            advice="declare the encoding it has",
        )
    type_, offset = ("TIMESTAMPTZ", "+00") if zoned else ("TIMESTAMP", "")

    return say(
        f":c >= CAST(CAST(:start AS TEXT) AS {type_}) AND :c < CAST(CAST(:end AS TEXT) AS {type_})",
        c=site.column(encoding.column),
        start=site.edge(span[0], lambda at: moment(at, offset)),
        end=site.edge(span[1], lambda at: moment(at, offset)),
    )


def _inside(
    site: Site,
    value: Expression,
    type_: str,
    encode: Callable[[int], object],
    span: Span,
) -> Expression:
    return say(
        f":c >= CAST(:start AS {type_}) AND :c < CAST(:end AS {type_})",
        c=value,
        start=site.edge(span[0], encode),
        end=site.edge(span[1], encode),
    )


def _days(site: Site, stored: Expression, span: Span) -> Expression | None:
    # Not needed for the meaning: it lets an index on the text narrow the rows. Two days of
    # room, and every collation puts digits in their order.
    low = span[0] != FIRST_MICROSECOND
    high = span[1] != LAST_MICROSECOND + 1
    if not (low or high):
        return None

    return all_of(
        _day(">=", site, stored, span[0], day_before) if low else None,
        _day("<", site, stored, span[1], day_after) if high else None,
    )


def _day(
    sign: str, site: Site, stored: Expression, edge: Edge, day: Callable[[int], str]
) -> Expression:
    return say(f":c {sign} CAST(:day AS TEXT)", c=stored, day=site.edge(edge, day))
