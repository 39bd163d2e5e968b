"""
How DuckDB says each condition.

Columns have one class, as in PostgreSQL, and lists have functions of their own, so that tags are
judged without an inner query. A text may hold a NUL here. Only the table of dialects visits.
"""

# ruff: noqa: S608 - names enter as trees and values are bound; a sentence holds constants only

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, assert_never

from sqlglot import exp

from memdelete.errors import StoreError, Unsupported
from memdelete.globs import read, to_regex
from memdelete.tags import BLANKS, CommaText, JoinTable, JSONArray, NativeArray, TagStorage
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
    array_logic,
    epoch_kind,
    joined,
    moment,
    refuse_no_text,
)
from .phrases import Site, all_of, literal, negated, phrase
from .render import Expression
from .values import (
    LETTERS,
    ColumnKind,
    RowsWanted,
    Span,
    TagsWanted,
    ValueClass,
    Wanted,
    bare_type,
    day_after,
    day_before,
)


__all__ = [
    "among",
    "kind",
    "ordered",
    "outside",
    "rows_among",
    "searched",
    "tag_image",
    "tagged",
    "within",
]

say: Final = partial(phrase, "duckdb")

_KINDS: Final[dict[str, ColumnKind]] = {
    **dict.fromkeys(("varchar", "text", "string", "char", "bpchar"), "text"),
    **dict.fromkeys(
        (
            *("tinyint", "smallint", "integer", "bigint", "hugeint"),
            *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
        ),
        "integer",
    ),
    **dict.fromkeys(("float", "real", "double"), "real"),
    "decimal": "numeric",
    "boolean": "boolean",
}
_ZONED: Final = {"timestamp with time zone", "timestamptz"}
_NAIVE: Final = {"timestamp", "datetime", "timestamp_s", "timestamp_ms"}


def kind(declared: str) -> ColumnKind:
    """
    The class of a column of a declared type; other types are not compared.
    """
    found = _KINDS.get(bare_type(declared))
    if found is None:
        raise StoreError(
            f"filters cannot compare a column of type {declared}",
            advice="they compare varchar, integers, floats and booleans",
        )

    return found


# --- values ---------------------------------------------------------------------------------


def among(site: Site, name: str, wanted: Wanted) -> Expression:
    """
    The stored value is in the list.
    """
    listed = _listed(site, wanted)
    forms = _forms(site, name, wanted.value_class, fold=wanted.fold)

    return all_of(*map(listed, forms), _number(site, name, wanted))


def outside(site: Site, name: str, wanted: Wanted) -> Expression:
    """
    The stored value is there and not in the list.
    """
    *_, exact = _forms(site, name, wanted.value_class, fold=wanted.fold)
    there = say(":c IS NOT NULL", c=site.column(name))

    return all_of(there, negated(_listed(site, wanted)(exact)), _number(site, name, wanted))


def rows_among(site: Site, names: Sequence[str], wanted: RowsWanted) -> Expression:
    """
    The key of several columns is in the list.
    """
    parts: dict[str, Expression] = {}
    for place, (name, value_class) in enumerate(zip(names, wanted.classes, strict=True)):
        parts[f"c{place}"] = site.column(name)
        parts[f"e{place}"] = _forms(site, name, value_class)[-1]
        values = site.bind(wanted.part(place))
        parts[f"p{place}"] = say(f"CAST(:p AS {_TYPES[value_class]}[])", p=values)
    places = range(len(names))

    def listed(mark: str) -> str:
        return ", ".join(f":{mark}{place}" for place in places)

    rows = f"(SELECT {', '.join(f'unnest(:p{place})' for place in places)})"

    return say(f"({listed('c')}) IN {rows} AND ({listed('e')}) IN {rows}", **parts)


def ordered(site: Site, name: str, sign: str, wanted: Wanted) -> Expression:
    """
    The stored value lies on that side of the given one; texts by code points.
    """
    *_, exact = _forms(site, name, wanted.value_class, fold=wanted.fold)
    value = say(f"CAST(:p AS {_type(wanted)})", p=site.bind(wanted.one))

    return all_of(say(f":c {sign} :p", c=exact, p=value), _number(site, name, wanted))


def searched(site: Site, name: str, op: str, wanted: Wanted, *, holds: bool) -> Expression:
    """
    The stored text has the given one in it, or certainly has not.
    """
    stored = site.column(name)
    text = _binary(stored)
    text = _folded(text) if wanted.fold else text
    read_value = wanted.one if op != "glob" else lambda leaf: _regex(str(wanted.one(leaf)))
    value = say("CAST(:p AS VARCHAR)", p=site.bind(read_value))
    match op:
        case "contains":
            found = "contains(:c, :p)"
        case "startswith":
            found = "starts_with(:c, :p)"
        case "endswith":
            found = "suffix(:c, :p)"
        case _:
            found = "regexp_full_match(:c, :p, 's')"
    fact = say(found, c=text, p=value)
    # A text with a NUL is unknown to globs, as it is to engines that stop there.
    whole = say("NOT contains(:c, chr(0))", c=text) if op == "glob" else None

    return all_of(whole, fact if holds else negated(fact))


_TYPES: Final[dict[ValueClass, str]] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "BIGINT",
    "boolean": "BOOLEAN",
}


def _type(wanted: Wanted) -> str:
    if wanted.value_class == "number" and wanted.kind == "numeric":
        raise Unsupported(
            "comparing a DECIMAL", "duckdb", advice="it compares them as doubles: use DOUBLE"
        )
    if wanted.value_class == "number" and wanted.kind == "real":
        return "DOUBLE"

    return _TYPES[wanted.value_class]


def _listed(site: Site, wanted: Wanted) -> Callable[[Expression], Expression]:
    if not wanted.many:
        value = say(f"CAST(:p AS {_type(wanted)})", p=site.bind(wanted.one))
        return lambda form: say(":c = :p", c=form, p=value)
    values = site.bind(lambda leaf: list(wanted.read(leaf)))
    text = f":c IN (SELECT unnest(CAST(:p AS {_type(wanted)}[])))"

    return lambda form: say(text, c=form, p=values)


def _forms(
    site: Site, name: str, value_class: ValueClass, *, fold: bool = False
) -> list[Expression]:
    # Both are said where the column has a collation: the bare one for indexes and zone maps.
    stored = site.column(name)
    if value_class != "text":
        return [stored]
    if fold:
        return [_folded(_binary(stored))]
    live = site.live_column(name)

    return [stored] if live and live.collation is None else [stored, _binary(stored)]


def _number(site: Site, name: str, wanted: Wanted) -> Expression | None:
    # NaN equals itself here and is greater than every number.
    if wanted.value_class != "number" or wanted.kind != "real":
        return None

    return say("NOT isnan(:c)", c=site.column(name))


def _binary(text: Expression) -> Expression:
    return say(':c COLLATE "C"', c=text)


def _folded(text: Expression) -> Expression:
    big, small = map(literal, LETTERS)

    return say("translate(:c, :big, :small)", c=text, big=big, small=small)


def _regex(pattern: str) -> str:
    return to_regex(read(pattern, "glob"))


# --- tags -----------------------------------------------------------------------------------


def tagged(site: Site, storage: TagStorage, wanted: TagsWanted, *, holds: bool) -> Expression:
    """
    The row's tags can be read, and the set logic holds of them, or certainly does not.
    """
    tags = _list(site, storage)
    if wanted.fold:
        big, small = map(literal, LETTERS)
        text = "list_transform(:a, lambda memdelete_tag : translate(memdelete_tag, :big, :small))"
        tags = say(text, a=tags, big=big, small=small)

    return array_logic(
        site,
        storage,
        wanted,
        holds=holds,
        overlaps=lambda given: say("list_has_any(:a, CAST(:p AS VARCHAR[]))", a=tags, p=given),
        contains=lambda given: say("list_has_all(:a, CAST(:p AS VARCHAR[]))", a=tags, p=given),
        empty=say("len(:a) = 0", a=tags),
    )


def _list(site: Site, storage: TagStorage) -> Expression:
    match storage:
        case CommaText(name, separator):
            refuse_no_text(site, name, kind)
            return say(
                "CASE WHEN :c IS NULL THEN CAST([] AS VARCHAR[]) WHEN contains(:c, chr(0)) "
                "THEN NULL ELSE list_filter(list_transform(string_split(:c, :separator), "
                "lambda memdelete_piece : trim(memdelete_piece, :blanks)), "
                "lambda memdelete_piece : memdelete_piece <> '') END",
                c=_binary(site.column(name)),
                separator=literal(separator),
                blanks=literal(BLANKS),
            )
        case JSONArray(name):
            return say(
                "CASE WHEN :c IS NULL OR :c = '' THEN CAST([] AS VARCHAR[]) "
                "WHEN contains(:c, '\\u0000') OR contains(:c, chr(0)) OR NOT json_valid(:c) "
                # The one thing that is taken for JSON here and is none: a comma before the end.
                "OR regexp_matches(:c, ',[ \\t\\n\\r]*\\][ \\t\\n\\r]*$') "
                "THEN NULL WHEN json_type(:c) <> 'ARRAY' THEN NULL "
                "WHEN list_has_all(['VARCHAR'], TRY(json_type(:c, '$[*]'))) "
                "THEN TRY(json_extract_string(:c, '$[*]')) END",
                c=_binary(say("CAST(:c AS VARCHAR)", c=site.column(name))),
            )
        case NativeArray(name):
            _refuse_list(site, name)
            return say(
                "CASE WHEN :c IS NULL THEN CAST([] AS VARCHAR[]) "
                "WHEN len(:c) = list_count(:c) THEN :c END",
                c=site.column(name),
            )
        case JoinTable():
            source, parts = joined(site, storage, kind)
            return say(
                "(SELECT CASE WHEN count(*) = count(:tag) THEN coalesce(list(:tag), []) END "
                f"FROM {source} WHERE :memory = :own)",
                **parts,
            )
        case never:
            assert_never(never)


def _refuse_list(site: Site, name: str) -> None:
    live = site.live_column(name)
    if live and bare_type(live.type) != "varchar[]":
        raise StoreError(
            f"the column {name!r} is {live.type}, no list of text",
            place=site.collection.name,
            advice="a list of tags is VARCHAR[]",
        )


def tag_image(site: Site, storage: JoinTable) -> Expression:
    """
    The row's tags in their own table as one text, in an order of their own.
    """
    source, parts = joined(site, storage, kind)
    quoted = "coalesce('''' || replace(:tag, '''', '''''') || '''', 'NULL')"

    return say(
        f"(SELECT string_agg({quoted}, ',' ORDER BY {quoted}) FROM {source} WHERE :memory = :own)",
        **parts,
    )


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
                _ISO,
                c=_binary(stored),
                form=literal(f"^{CALENDAR_DAY}{CLOCK}$"),
                naive=exp.Boolean(this=encoding.naive == "utc"),
            )
            coarse = _days(site, stored, span)
            return all_of(coarse, _inside(site, micros, "BIGINT", int, span))
        case Native():
            return _native(site, encoding, span)
        case never:
            assert_never(never)


def _part(group: int) -> str:
    # A group that is not there is empty, and no number.
    return f"coalesce(TRY_CAST(regexp_extract(:c, :form, {group}) AS BIGINT), 0)"


_ISO: Final = (
    "CASE WHEN regexp_matches(:c, :form) AND left(:c, 4) <> '0000' "
    "AND (:naive OR regexp_extract(:c, :form, 6) <> '') THEN "
    "CAST(TRY_CAST(regexp_extract(:c, :form, 1) AS DATE) - CAST('1970-01-01' AS DATE) AS BIGINT) "
    f"* 86400000000 + {_part(2)} * 3600000000 + {_part(3)} * 60000000 + {_part(4)} * 1000000 "
    "+ CAST(left(regexp_extract(:c, :form, 5) || '000000', 6) AS BIGINT) "
    "- CASE WHEN regexp_extract(:c, :form, 7) = '-' THEN -60000000 ELSE 60000000 END "
    f"* ({_part(8)} * 60 + {_part(9)}) END"
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
            return _inside(site, stored, "DOUBLE", number, span)
        case _:
            # Eighteen digits and six: the product has thirty at most.
            micros = say(
                f"CASE WHEN regexp_matches(:c, :form) THEN "
                f"floor(TRY_CAST(:c AS DECIMAL(24, 6)) * {scale}) END",
                c=_binary(stored),
                form=literal(f"^{EPOCH}$"),
            )
            return _inside(site, micros, "BIGINT", int, span)


def _native(site: Site, encoding: Native, span: Span) -> Expression:
    # As text with its offset, read the same in every session; infinities lie outside.
    live = site.live_column(encoding.column)
    declared = bare_type(live.type) if live else None
    if declared is not None and declared not in _ZONED | _NAIVE:
        raise StoreError(
            f"the column {encoding.column!r} is {declared}, no timestamp",
            place=site.collection.name,
            advice="declare the encoding it has",
        )
    zoned = encoding.zoned if declared is None else declared in _ZONED
    type_, offset = ("TIMESTAMPTZ", "+00") if zoned else ("TIMESTAMP", "")

    return _inside(
        site,
        site.column(encoding.column),
        type_,
        lambda micros: moment(micros, offset),
        span,
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
    # Not needed for the meaning: it lets zone maps and an index narrow the rows.
    low = span[0] != FIRST_MICROSECOND
    high = span[1] != LAST_MICROSECOND + 1
    if not (low or high):
        return None

    return all_of(
        say(":c >= :day", c=stored, day=site.edge(span[0], day_before)) if low else None,
        say(":c < :day", c=stored, day=site.edge(span[1], day_after)) if high else None,
    )
