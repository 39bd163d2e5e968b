"""
How SQLite reads a stored time: numbers by their bounds, texts as exact microseconds.

Its own date functions round to milliseconds and take the 30th of February, so texts are read
piece by piece. Only the table of dialects visits.
"""

# ruff: noqa: S608 - names enter as trees and values are bound; a sentence holds constants only

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import assert_never

from sqlglot import exp

from memdelete.errors import Unsupported
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

from .phrases import Site, all_of
from .render import Expression
from .sqlite import forms, say
from .values import Span, day_after, day_before


__all__ = ["within"]


def within(site: Site, encoding: TimeEncoding, span: Span) -> Expression:
    """
    The stored time can be read, and lies in ``[span)``.
    """
    stored = site.column(encoding.column)
    match encoding:
        case (
            EpochSeconds(storage="text") | EpochMillis(storage="text") | EpochMicros(storage="text")
        ):
            return _between(site, stored, _epoch_text(encoding.per_second), span)
        case EpochSeconds() | EpochMillis():
            number = partial(cut, per_second=encoding.per_second)
            guard = "typeof(:c) IN ('integer', 'real')"
            return _numbers(site, stored, guard, number, span)
        case EpochMicros(storage="real"):
            number = partial(cut, per_second=encoding.per_second)
            return _numbers(site, stored, "typeof(:c) = 'real'", number, span)
        case EpochMicros():
            return _numbers(site, stored, "typeof(:c) = 'integer'", int, span)
        case ISOText():
            coarse = _days(site, encoding.column, span)
            return all_of(coarse, _between(site, stored, _iso_text(encoding), span))
        case Native():
            raise Unsupported("Native times", "sqlite", advice="it has no timestamps of its own")
        case never:
            assert_never(never)


def _numbers(
    site: Site,
    stored: Expression,
    guard: str,
    encode: Callable[[int], object],
    span: Span,
) -> Expression:
    return say(
        f"{guard} AND :c >= :start AND :c < :end",
        c=stored,
        start=site.edge(span[0], encode),
        end=site.edge(span[1], encode),
    )


def _between(site: Site, stored: Expression, micros: str, span: Span) -> Expression:
    # BETWEEN works the reading out once.
    return say(
        f"typeof(:c) = 'text' AND instr(:c, char(0)) = 0 AND {micros} BETWEEN :start AND :last",
        c=stored,
        start=site.edge(span[0], int),
        last=site.edge(span[1], lambda micros: micros - 1),
    )


def _days(site: Site, name: str, span: Span) -> Expression | None:
    # Not needed for the meaning: it lets an index on the text narrow the rows.
    *_, exact = forms(site, name, "text")
    bare = exact if isinstance(exact, exp.Column) else say(":c COLLATE BINARY", c=site.column(name))
    low = span[0] != FIRST_MICROSECOND
    high = span[1] != LAST_MICROSECOND + 1
    if not (low or high):
        return None

    return all_of(
        say(":c >= :day", c=bare, day=site.edge(span[0], day_before)) if low else None,
        say(":c < :day", c=bare, day=site.edge(span[1], day_after)) if high else None,
    )


def _epoch_text(per_second: int) -> str:
    # An exact number of microseconds, or NULL where the text is no `times.EPOCH_TEXT`.
    scale = 1_000_000 // per_second
    digits = "NOT {0} GLOB '*[^0-9]*' AND length({0}) BETWEEN 1 AND {1}"
    small = f"CAST(substr(t.part || '000000', 1, 6) AS INTEGER) * {scale}"
    size = f"CAST(t.whole AS INTEGER) * {scale} + {small} / 1000000"

    return (
        f"(SELECT CASE WHEN {digits.format('t.whole', 18)} "
        f"AND (t.point = 0 OR ({digits.format('t.part', 6)})) "
        # Cut towards the past: below zero, what is left of a microsecond counts as one.
        f"THEN CASE WHEN t.below THEN -({size}) - ({small} % 1000000 > 0) ELSE {size} END END "
        "FROM (SELECT s.below AS below, instr(s.body, '.') AS point, "
        "CASE WHEN instr(s.body, '.') > 0 THEN substr(s.body, 1, instr(s.body, '.') - 1) "
        "ELSE s.body END AS whole, "
        "CASE WHEN instr(s.body, '.') > 0 THEN substr(s.body, instr(s.body, '.') + 1) "
        "ELSE '' END AS part "
        "FROM (SELECT :c GLOB '-*' AS below, "
        "CASE WHEN :c GLOB '-*' THEN substr(:c, 2) ELSE :c END AS body) AS s) AS t)"
    )


def _iso_text(encoding: ISOText) -> str:
    # An exact number of microseconds, or NULL where the text is no `times.ISO_TEXT`. SQLite's
    # own reading would round to milliseconds and take the 30th of February.
    date = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
    hours = ("[01][0-9]", "2[0-3]")
    minutes = ("", "[0-5][0-9]", ":[0-5][0-9]")
    clock = " OR ".join(f"u.clock GLOB '{hour}:[0-5][0-9]'" for hour in hours)
    shifted = " OR ".join(f"u.zone GLOB '[+-]{hour}{rest}'" for hour in hours for rest in minutes)
    naive = "u.zone <> ''" if encoding.naive == "unknown" else "TRUE"
    seconds = "t.tail GLOB ':[0-5][0-9]*'"
    fraction = "s.second <> '' AND s.tail GLOB '.[0-9]*'"
    zone_minutes = (
        "(CAST(substr(u.zone, 2, 2) AS INTEGER) * 60 "
        "+ CAST(substr(replace(u.zone, ':', ''), 4, 2) AS INTEGER))"
    )

    return (
        f"(SELECT CASE WHEN u.day GLOB '{date}' AND u.day >= '0001' "
        "AND date(u.day, '+0 days') = u.day "
        f"AND (u.rest = '' OR (substr(u.rest, 1, 1) IN ('T', ' ') AND ({clock}))) "
        f"AND length(u.fraction) <= 9 AND (u.zone IN ('', 'Z') OR {shifted}) AND {naive} "
        "THEN CAST(strftime('%s', u.day) AS INTEGER) * 1000000 "
        "+ CAST(substr(u.clock, 1, 2) AS INTEGER) * 3600000000 "
        "+ CAST(substr(u.clock, 4, 2) AS INTEGER) * 60000000 "
        "+ CAST(u.second AS INTEGER) * 1000000 "
        "+ CAST(substr(u.fraction || '000000', 1, 6) AS INTEGER) "
        f"- CASE WHEN u.zone GLOB '-*' THEN -1 ELSE 1 END * {zone_minutes} * 60000000 END "
        "FROM (SELECT f.day AS day, f.rest AS rest, f.clock AS clock, f.second AS second, "
        "f.fraction AS fraction, "
        # One blank may stand before the offset.
        "CASE WHEN f.tail GLOB ' *' THEN substr(f.tail, 2) ELSE f.tail END AS zone "
        "FROM (SELECT s.day AS day, s.rest AS rest, s.clock AS clock, s.second AS second, "
        f"CASE WHEN {fraction} THEN substr(s.tail, 2, length(s.tail) - 1 "
        "- length(ltrim(substr(s.tail, 2), '0123456789'))) ELSE '' END AS fraction, "
        f"CASE WHEN {fraction} THEN ltrim(substr(s.tail, 2), '0123456789') ELSE s.tail END AS tail "
        "FROM (SELECT t.day AS day, t.rest AS rest, t.clock AS clock, "
        f"CASE WHEN {seconds} THEN substr(t.tail, 2, 2) ELSE '' END AS second, "
        f"CASE WHEN {seconds} THEN substr(t.tail, 4) ELSE t.tail END AS tail "
        "FROM (SELECT substr(:c, 1, 10) AS day, substr(:c, 11) AS rest, "
        "substr(:c, 12, 5) AS clock, substr(:c, 17) AS tail) AS t) AS s) AS f) AS u)"
    )
