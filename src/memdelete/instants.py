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
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import frozen
from dateutil.parser import isoparser
from dateutil.relativedelta import relativedelta
from dateutil.tz import datetime_ambiguous, datetime_exists

from .errors import FilterError, shown


__all__ = [
    "Age",
    "AgeLike",
    "Moment",
    "age",
    "at_zone",
    "before_now",
    "instant",
    "moment",
    "moment_text",
    "zone",
]

Moment: TypeAlias = datetime | date
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
_AGES = 'say numbers with units y mo w d h min s ms us, such as "30d" or "1y6mo"'
_AGE_FORM = r"\d{1,18}(?:y|mo|w|d|h|min|ms|us|s)"
_AGE = re.compile(rf"{_AGE_FORM}(?: ?{_AGE_FORM})*", re.ASCII)
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

    def __attrs_post_init__(self) -> None:
        for part in (self.months, self.days, self.microseconds):
            if not isinstance(part, int) or isinstance(part, bool):
                raise FilterError(
                    f"{shown(part)} is no whole number of months, days or microseconds",
                    value=part,
                    place="age",
                    advice='count in a smaller unit: "36h", "1500ms"',
                )

    def __str__(self) -> str:
        parts = [(self.months, "mo"), (self.days, "d")]
        parts.append(
            (self.microseconds // 1_000_000, "s")
            if self.microseconds % 1_000_000 == 0
            else (self.microseconds, "us")
        )

        return "".join(f"{number}{unit}" for number, unit in parts if number)


_LONGEST = Age(months=9999 * 12, days=9999 * 366, microseconds=9999 * 366 * 86_400_000_000)

AgeLike: TypeAlias = str | timedelta | relativedelta | Age
"""What `age` reads."""


def moment(value: object, place: str) -> Moment:
    """
    Read *value* as a point in time.

    Accepted: aware and naive datetimes, dates, and text of exactly the forms that the error
    lists. Aware values come back in UTC; a naive one waits for `at_zone`. Subclasses come back
    as plain datetimes and dates.
    """
    match value:
        case datetime():
            at = _plain(value, place)
            return _utc(at, place) if at.tzinfo is not None else at
        case date():
            return date(value.year, value.month, value.day)
        case str():
            return _parse(value, place)
        case bool() | int() | float():
            raise FilterError(
                f"{shown(value)} is a bare number: seconds or milliseconds since when?",
                value=value,
                place=place,
                advice=_FORMS,
            )
        case _:
            raise FilterError(
                f"{shown(value)} is not a point in time", value=value, place=place, advice=_FORMS
            )


def instant(value: object, place: str) -> datetime:
    """
    *value* in UTC, if it is an aware datetime: the zone of a naive one is not guessed.
    """
    at = moment(value, place) if isinstance(value, datetime) else None
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise FilterError(
            f"{shown(value)} is no aware datetime",
            value=value,
            place=place,
            advice="give a datetime that has a tzinfo, such as datetime(2024, 1, 1, tzinfo=UTC)",
        )

    return at


def moment_text(at: Moment) -> str:
    """
    Write *at* in the grammar that `moment` reads; the round trip is exact.
    """
    if isinstance(at, datetime):
        return at.isoformat().replace("+00:00", "Z")

    return at.isoformat()


def zone(key: str | tzinfo) -> tzinfo:
    """
    The zone of an IANA *key*, such as ``"Europe/Berlin"``; never the host's own.

    A tzinfo is taken as it is; but one of pytz, which only its own `localize` reads rightly,
    becomes the zone of its key.
    """
    named = getattr(key, "zone", None) if isinstance(key, tzinfo) else key
    if isinstance(named, str):
        return _known_zone(named)
    if isinstance(key, tzinfo):
        return key

    raise _no_zone(key)


@lru_cache(maxsize=64)
def _known_zone(key: str) -> tzinfo:
    if key == "UTC":
        return UTC
    try:
        if key in _NO_ZONES or key.startswith(("posix/", "right/")):
            raise ZoneInfoNotFoundError(key)
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise _no_zone(key) from error


def _no_zone(key: object) -> FilterError:
    return FilterError(
        f"{shown(key)} is not a time zone of the IANA list",
        value=key,
        place="zone",
        advice='say a key such as "UTC" or "Europe/Berlin" (on a system without zone data, '
        "install tzdata)",
    )


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
    try:
        if isinstance(at, datetime):
            return _exact(at.replace(tzinfo=in_zone), place).astimezone(UTC)
        return _first(at, in_zone, place)
    except (OverflowError, ValueError) as error:
        if isinstance(error, FilterError):
            raise
        raise _outside(f"{moment_text(at)} in {in_zone}", at, place) from error


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
            found = _from_timedelta(value, place)
        case relativedelta():
            found = _from_relativedelta(value, place)
        case _:
            raise FilterError(
                f"{shown(value)} is not an age", value=value, place=place, advice=_AGES
            )
    if min(found.months, found.days, found.microseconds) < 0 or found == Age():
        raise FilterError(
            f"{shown(value)} is no positive age",
            value=value,
            place=place,
            advice="an age counts back from now and is more than nothing",
        )
    if (
        found.months > _LONGEST.months
        or found.days > _LONGEST.days
        or found.microseconds > _LONGEST.microseconds
    ):
        raise FilterError(
            f"{shown(value)} is longer than there are years",
            value=value,
            place=place,
            advice="say Everything() to mean every row, or give a shorter age",
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
            # fold=0 is the first of two, and in a gap counts from before it.
            then = (then - step).replace(fold=0)
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
        problem = f"{shown(text)} is not a date or time this library reads"
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


def _plain(value: datetime, place: str) -> datetime:
    # A subclass may write, add and compare as it likes, and have more than a datetime holds.
    try:
        at = datetime(  # noqa: DTZ001 - its zone comes next, if it has one
            value.year,
            value.month,
            value.day,
            value.hour,
            value.minute,
            value.second,
            value.microsecond,
        )
        if value.tzinfo is not None:
            at = at.replace(tzinfo=value.tzinfo, fold=value.fold)
        # A tzinfo without an offset would be read in the host's zone.
        if getattr(value, "nanosecond", 0) or (at.tzinfo is None) is not (at.utcoffset() is None):
            raise ValueError(value)
    except (TypeError, ValueError, NotImplementedError, OverflowError) as error:
        raise FilterError(
            f"{shown(value)} is no exact datetime: its offset is not known, or it has nanoseconds",
            value=value,
            place=place,
            advice="give a datetime in UTC, rounded to microseconds as you mean it",
        ) from error

    return at


def _utc(at: datetime, place: str) -> datetime:
    try:
        return at.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise _outside(at.isoformat(), at, place) from error


def _outside(text: str, at: Moment, place: str) -> FilterError:
    return FilterError(
        f"{text} lies outside the years 1 to 9999 in UTC",
        value=at,
        place=place,
        advice="give an instant between them",
    )


def _first(day: date, in_zone: tzinfo, place: str) -> datetime:
    midnight = datetime(day.year, day.month, day.day, tzinfo=in_zone)
    if datetime_exists(midnight):
        return midnight.astimezone(UTC)
    # Midnight is skipped: the day begins where the gap ends, which is not always at one.
    start, end = (midnight.replace(fold=fold).astimezone(UTC) for fold in (1, 0))
    before = start.astimezone(in_zone).utcoffset()
    while end - start > timedelta(seconds=1):
        middle = start + (end - start) // timedelta(seconds=2) * timedelta(seconds=1)
        if middle.astimezone(in_zone).utcoffset() == before:
            start = middle
        else:
            end = middle
    if end.astimezone(in_zone).date() != day:
        raise FilterError(
            f"{day} does not exist in {in_zone}: the zone skips that whole day",
            value=day,
            place=place,
            advice="give an offset",
        )

    return end


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


def _from_timedelta(value: timedelta, place: str) -> Age:
    # Subclasses hold calendar parts or nanoseconds beside what a timedelta does.
    if any(getattr(value, name, 0) for name in ("years", "months", "nanoseconds")):
        raise FilterError(
            f"{shown(value)} is no exact length of time", value=value, place=place, advice=_AGES
        )
    clock = timedelta.__floordiv__(value, timedelta(microseconds=1))

    return Age(microseconds=clock)


def _from_relativedelta(value: relativedelta, place: str) -> Age:
    absolute = ("year", "month", "day", "weekday", "hour", "minute", "second", "microsecond")
    if value.leapdays or any(getattr(value, name) is not None for name in absolute):
        raise FilterError(
            f"{shown(value)} names a point in time, not an age",
            value=value,
            place=place,
            advice="use the plural arguments only, such as relativedelta(months=6)",
        )
    try:
        clock = timedelta(
            hours=value.hours,
            minutes=value.minutes,
            seconds=value.seconds,
            microseconds=value.microseconds,
        )
        parts = (value.years, value.months, value.days)
        years, months, days = whole = tuple(map(int, parts))
        if whole != parts:
            raise ValueError(parts)
    except (ValueError, OverflowError, TypeError) as error:
        raise FilterError(
            f"{shown(value)} has a part of a day or month, or no end",
            value=value,
            place=place,
            advice="count in whole years, months and days, and in hours below",
        ) from error

    return Age(
        months=years * 12 + months, days=days, microseconds=clock // timedelta(microseconds=1)
    )
