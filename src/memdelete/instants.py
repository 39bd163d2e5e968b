"""
Instants, zones and ages: the only room that reads dates, and the only one that knows dateutil.

A point in time enters as text, a date or a datetime and leaves either as an aware datetime in
UTC or, while its zone is still open, as a naive datetime or a bare date. The host's clock and
the host's zone may not enter. Filters and the codec come to visit.
"""

from __future__ import annotations

import re

from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import frozen
from dateutil.parser import isoparser
from dateutil.relativedelta import relativedelta
from dateutil.tz import datetime_ambiguous, datetime_exists, resolve_imaginary

from .errors import FilterError


__all__ = ["Age", "Moment", "age", "at_zone", "before_now", "moment", "moment_text", "zone"]

Moment = datetime | date
"""An aware datetime in UTC, or a naive datetime or bare date whose zone is still open."""

_FORM = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:(?P<sep>[T ])(?P<time>(?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d{1,6})?)?)"
    r"(?P<offset>Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?",
    re.ASCII,
)
_FORMS = "say YYYY-MM-DD, or YYYY-MM-DDTHH:MM[:SS[.ffffff]] with an optional offset or Z"
_NO_ZONES = frozenset({"localtime", "posixrules", "Factory"})

_UNITS = {
    "y": ("months", 12),
    "mo": ("months", 1),
    "w": ("days", 7),
    "d": ("days", 1),
    "h": ("microseconds", 3_600_000_000),
    "min": ("microseconds", 60_000_000),
    "s": ("microseconds", 1_000_000),
    "ms": ("microseconds", 1_000),
    "us": ("microseconds", 1),
}
_AGE = re.compile(r"(?:\d{1,12}(?:y|mo|w|d|h|min|ms|us|s)\s?)+", re.ASCII)
_AGE_PART = re.compile(r"(\d+)([a-z]+)", re.ASCII)


@frozen
class Age:
    """
    How long ago: calendar months and days, then exact microseconds.

    ``"30d"`` and ``"1mo"`` step over the calendar of the deleter's zone, as people count;
    ``"36h"`` and a `datetime.timedelta` are exact time.
    """

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def __str__(self) -> str:
        parts = [(self.months, "mo"), (self.days, "d")]
        parts.append(
            (self.microseconds // 1_000_000, "s")
            if self.microseconds % 1_000_000 == 0
            else (self.microseconds, "us")
        )

        return "".join(f"{number}{unit}" for number, unit in parts if number)


def moment(value: object, place: str) -> Moment:
    """
    Read *value* as a point in time.

    Accepted: aware and naive datetimes, dates, and text of exactly the forms that the error
    lists. Aware values come back in UTC; a naive one waits for `at_zone`.
    """
    match value:
        case datetime():
            return _utc(value, place) if value.tzinfo else value.replace(fold=0)
        case date():
            return value
        case str():
            return _parse(value, place)
        case bool() | int() | float():
            raise FilterError(
                f"{value!r} is a bare number: seconds or milliseconds since when?",
                value=value,
                place=place,
                advice=_FORMS,
            )
        case _:
            raise FilterError(
                f"{value!r} is not a point in time", value=value, place=place, advice=_FORMS
            )


def moment_text(at: Moment) -> str:
    """
    Write *at* in the grammar that `moment` reads; the round trip is exact.
    """
    if isinstance(at, datetime):
        return at.isoformat().replace("+00:00", "Z")

    return at.isoformat()


@lru_cache(maxsize=64)
def zone(key: str) -> tzinfo:
    """
    The zone of an IANA *key*, such as ``"Europe/Berlin"``; never the host's own.
    """
    if key == "UTC":
        return UTC
    try:
        if key in _NO_ZONES or key.startswith(("posix/", "right/")):
            raise ZoneInfoNotFoundError(key)
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise FilterError(
            f"{key!r} is not a time zone of the IANA list",
            value=key,
            place="zone",
            advice='say a key such as "UTC" or "Europe/Berlin" (on a system without zone data, '
            "install tzdata)",
        ) from error


def at_zone(at: Moment, in_zone: tzinfo | None, place: str) -> datetime:
    """
    The instant that *at* stands for, in UTC.

    A bare date is its first instant. A naive time that the zone skips or has twice is refused.
    """
    if isinstance(at, datetime) and at.tzinfo is not None:
        return at
    if in_zone is None:
        raise FilterError(
            f"{moment_text(at)!r} has no offset and no zone was given",
            value=at,
            place=place,
            advice='resolve with a zone, such as resolve(zone="UTC")',
        )
    if isinstance(at, datetime):
        return _utc(_exact(at.replace(tzinfo=in_zone), place), place)

    first = datetime(at.year, at.month, at.day, tzinfo=in_zone)
    if not datetime_exists(first):  # midnight is skipped: the day begins where the gap ends
        first = resolve_imaginary(first)
        if first.date() != at:
            raise FilterError(
                f"{at} does not exist in {in_zone}: the zone skips that whole day",
                value=at,
                place=place,
                advice="give an offset",
            )

    return _utc(first, place)


def age(value: object, place: str) -> Age:
    """
    Read *value* as an age: text such as ``"30d"``, a timedelta, a relativedelta or an `Age`.
    """
    match value:
        case Age():
            found = value
        case str() if _AGE.fullmatch(value):
            sums = {"months": 0, "days": 0, "microseconds": 0}
            for number, unit in _AGE_PART.findall(value):
                part, factor = _UNITS[unit]
                sums[part] += int(number) * factor
            found = Age(**sums)
        case timedelta():
            found = Age(microseconds=value // timedelta(microseconds=1))
        case relativedelta():
            found = _from_relativedelta(value, place)
        case _:
            raise FilterError(
                f"{value!r} is not an age",
                value=value,
                place=place,
                advice='say numbers with units y mo w d h min s ms us, such as "30d" or "1y6mo"',
            )
    if min(found.months, found.days, found.microseconds) < 0 or found == Age():
        raise FilterError(
            f"{value!r} is no positive age",
            value=value,
            place=place,
            advice="an age counts back from now and is more than nothing",
        )

    return found


def before_now(how_long: Age, now: datetime, in_zone: tzinfo, place: str) -> datetime:
    """
    The instant *how_long* before *now*: the calendar part in *in_zone*, then the exact part.

    Where the calendar lands on a time the zone skips, the clock is moved on as people move it;
    where the zone has it twice, the first one counts.
    """
    try:
        then = now.astimezone(in_zone)
        if how_long.months or how_long.days:
            step = relativedelta(months=how_long.months, days=how_long.days)
            then = resolve_imaginary((then - step).replace(fold=0))
        return then.astimezone(UTC) - timedelta(microseconds=how_long.microseconds)
    except (OverflowError, ValueError) as error:
        raise FilterError(
            f"{how_long} before {moment_text(now)} is before the year 1",
            value=how_long,
            place=place,
            advice="give a shorter age",
        ) from error


def _parse(text: str, place: str) -> Moment:
    form = _FORM.fullmatch(text)
    if form is None:
        problem = f"{text!r} is not a date or time this library reads"
        raise FilterError(problem, value=text, place=place, advice=_FORMS)
    try:
        # isoparse reads more than we accept (weeks, ordinals, 24:00): the form above guards it.
        parsed = isoparser(sep=form["sep"] or "T").isoparse(text)
    except ValueError as error:
        problem = f"{text!r} is no date of the calendar or time of the clock"
        raise FilterError(problem, value=text, place=place, advice=_FORMS) from error
    if form["time"] is None:
        return parsed.date()

    return _utc(parsed, place) if parsed.tzinfo else parsed


def _utc(at: datetime, place: str) -> datetime:
    try:
        return at.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise FilterError(
            f"{at.isoformat()!r} lies outside the years 1 to 9999 in UTC",
            value=at,
            place=place,
            advice="give an instant between them",
        ) from error


def _exact(at: datetime, place: str) -> datetime:
    if not datetime_exists(at):
        fault = "skips"
    elif datetime_ambiguous(at):
        fault = "has twice"
    else:
        return at

    raise FilterError(
        f"{at.replace(tzinfo=None).isoformat()!r} is a time that {at.tzinfo} {fault}",
        value=at,
        place=place,
        advice="give an offset, such as +01:00",
    )


def _from_relativedelta(value: relativedelta, place: str) -> Age:
    absolute = ("year", "month", "day", "weekday", "hour", "minute", "second", "microsecond")
    if value.leapdays or any(getattr(value, name) is not None for name in absolute):
        raise FilterError(
            f"{value!r} names a point in time, not an age",
            value=value,
            place=place,
            advice="use the plural arguments only, such as relativedelta(months=6)",
        )
    clock = timedelta(
        hours=value.hours,
        minutes=value.minutes,
        seconds=value.seconds,
        microseconds=value.microseconds,
    )
    parts = (value.years, value.months, value.days)
    if any(part != int(part) for part in parts):
        raise FilterError(
            f"{value!r} has a part of a day or month", value=value, place=place
        )

    return Age(
        months=int(value.years) * 12 + int(value.months),
        days=int(value.days),
        microseconds=clock // timedelta(microseconds=1),
    )
