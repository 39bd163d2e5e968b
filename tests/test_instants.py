"""
Points in time, zones and ages: what is read, what is refused, and what the calendar does.
"""

# ruff: noqa: DTZ001 - naive times are among what is given

from __future__ import annotations

import os
import subprocess
import sys
import zoneinfo

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import count
from zoneinfo import ZoneInfo

import pytest

from dateutil.relativedelta import MO, relativedelta
from hypothesis import assume, given
from hypothesis import strategies as st

from memdelete import instants
from memdelete.errors import FilterError
from memdelete.instants import Age, age, at_zone, before_now, moment, moment_text, zone


HUGE = 10**5000
NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)
HOSTILE = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Toronto",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Kiritimati",
    "Africa/Monrovia",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Asia/Manila",
)
ZONES = st.sampled_from(HOSTILE).map(ZoneInfo)
MOMENTS = st.one_of(
    st.dates(),
    st.datetimes(),
    st.datetimes(
        timezones=st.just(UTC),
        min_value=datetime(1, 1, 1),
    ),
)


class Stamp(datetime):
    """
    A datetime that writes and moves itself in its own way, as pendulum's and others do.
    """

    def isoformat(self, *args, **words):
        return "soon"

    def astimezone(self, *args):
        return self

    def replace(self, *args, **words):
        return self

    def __eq__(self, other):
        return True

    __hash__ = datetime.__hash__


class Day(date):
    """
    A date that writes itself in its own way.
    """

    def isoformat(self):
        return "today"


class Fine(datetime):
    """
    A datetime of a finer grain than microseconds, as pandas has.
    """

    nanosecond = 1


class Nothing(datetime):
    """
    A datetime that is none, as pandas' NaT.
    """

    year = float("nan")


class Long(timedelta):
    """
    A length of time with a calendar part that it counts as 30 days, as pendulum has.
    """

    months = 1


class Vague(tzinfo):
    """
    A zone that does not know its offset.
    """

    def utcoffset(self, at):
        return None

    dst = tzname = utcoffset


class Localized(tzinfo):
    """
    A zone as pytz builds them: right only by its own `localize`.
    """

    zone = "Europe/Berlin"

    def utcoffset(self, at):
        return timedelta(minutes=53)

    def dst(self, at):
        return timedelta()

    def tzname(self, at):
        return "LMT"


# --- points in time -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (date(2024, 1, 1), "2024-01-01"),
        (date(2024, 1, 1), date(2024, 1, 1)),
        (date(2024, 1, 1), Day(2024, 1, 1)),
        (datetime(2024, 1, 1, 10), "2024-01-01T10:00"),
        (datetime(2024, 1, 1, 10, 0, 0, 100_000), "2024-01-01 10:00:00.1"),
        (datetime(2024, 1, 1, 10), datetime(2024, 1, 1, 10, fold=1)),
        (datetime(2024, 1, 1, 10), Stamp(2024, 1, 1, 10)),
        (datetime(2024, 1, 1, 10, tzinfo=UTC), "2024-01-01T10:00Z"),
        (datetime(2024, 1, 1, 10, tzinfo=UTC), "2024-01-01T10:00-00:00"),
        (datetime(2024, 1, 1, 10, tzinfo=UTC), "2024-01-01 05:00:00-05:00"),
        (datetime(2023, 12, 31, 20, tzinfo=UTC), "2024-01-01T10:00+14:00"),
        (
            datetime(2024, 1, 1, 9, tzinfo=UTC),
            Stamp(2024, 1, 1, 10, tzinfo=timezone(timedelta(hours=1))),
        ),
        (
            datetime(2024, 10, 27, 1, 30, tzinfo=UTC),
            datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        ),
    ],
    ids=count(),
)
def test_moment(expected, value):
    """
    What is accepted is read as a plain datetime or date, and in UTC where it has an offset.
    """
    got = moment(value, "here")

    assert (expected, type(expected)) == (got, type(got))
    assert expected.isoformat() == got.isoformat()
    assert 0 == getattr(got, "fold", 0)


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "yesterday",
        "2024",
        "2024-01",
        "20240101",
        "2024-1-1",
        "2024-W01-1",
        "2024-001",
        "2024-02-30",
        "2023-02-29",
        "0000-01-01",
        "10000-01-01",
        "-2024-01-01",
        "2024-01-01T",
        "2024-01-01T10",
        "2024-01-01T24:00",
        "2024-01-01T23:60",
        "2024-01-01T23:59:60",
        "2024-01-01T10:00:00.",
        "2024-01-01T10:00:00.1234567",
        "2024-01-01T10:00:00,5",
        "2024-01-01  10:00",
        "2024-01-01t10:00",
        "2024-01-01T10:00z",
        "2024-01-01T10:00 Z",
        "2024-01-01T10:00+0100",
        "2024-01-01T10:00+01",
        "2024-01-01T10:00+24:00",
        "2024-01-01T10:00+01:60",
        "2024-01-01Z",
        " 2024-01-01",
        "2024-01-01\n",
        "２０２４-01-01",
        "2024-01-01T10:00\0",
        "2024−01−01",
        "1" * 100_000,
        "0001-01-01T00:00+00:01",
        "9999-12-31T23:59-00:01",
        datetime(1, 1, 1, tzinfo=timezone(timedelta(minutes=1))),
        datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(minutes=1))),
        datetime(1, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo")),
        datetime(2024, 1, 1, tzinfo=Vague()),
        datetime(2024, 1, 1, tzinfo=tzinfo()),
        Fine(2024, 1, 1),
        Nothing(2024, 1, 1),
        None,
        0,
        1704067200,
        1704067200.0,
        float("nan"),
        True,
        HUGE,
        Decimal(1),
        b"2024-01-01",
        ["2024-01-01"],
        NOON.time(),
        NOON.timetuple(),
        timedelta(1),
        UTC,
    ],
    ids=count(),
)
def test_no_moment(value):
    """
    Free text, bare numbers, other ISO forms, what lies outside the years and what is not exact.
    """
    with pytest.raises(FilterError, match=r"^here: ") as caught:
        moment(value, "here")

    assert value is caught.value.value or isinstance(caught.value.value, datetime)
    assert caught.value.advice
    assert 600 > len(str(caught.value))


@given(MOMENTS)
def test_moment_text(at):
    """
    What is written is read back as the same point in time, to the microsecond.
    """
    read = moment(at, "here")

    assert at == read
    assert read == moment(moment_text(read), "there")


@pytest.mark.parametrize(
    "value", [datetime(2024, 1, 1), date(2024, 1, 1), "2024-01-01T00:00Z", None]
)
def test_no_instant(value):
    """
    Only an aware datetime is an instant by itself.
    """
    with pytest.raises(FilterError, match=r"^now: "):
        instants.instant(value, "now")


def test_host_zone():
    """
    The zone of the host changes nothing.
    """
    code = (
        "from datetime import datetime, UTC; from memdelete.filters import *;"
        "f = Before(datetime(2024, 1, 1)) & Since('2023-06-01') & OlderThan('1mo', 't');"
        "print(f.resolve('UTC', datetime(2024, 1, 1, tzinfo=UTC)))"
    )
    got = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "TZ": host},
        ).stdout
        for host in ("UTC", "America/New_York")
    }

    assert 1 == len(got)


# --- zones ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "at", "key"),
    [
        ("2023-12-31T23:00:00Z", "2024-01-01", "Europe/Berlin"),
        ("2024-06-30T22:00:00Z", "2024-07-01", "Europe/Berlin"),
        ("2024-03-31T01:00:00Z", "2024-03-31T03:00", "Europe/Berlin"),
        ("2024-10-26T22:00:00Z", "2024-10-27", "Europe/Berlin"),
        ("2024-10-27T02:00:00Z", "2024-10-27T03:00", "Europe/Berlin"),
        # Midnight is skipped: the day begins where the gap ends.
        ("2018-11-04T03:00:00Z", "2018-11-04", "America/Sao_Paulo"),
        ("1919-03-31T04:30:00Z", "1919-03-31", "America/Toronto"),
        ("1972-01-07T00:44:30Z", "1972-01-07", "Africa/Monrovia"),
        ("2024-09-08T04:00:00Z", "2024-09-08", "America/Santiago"),
        # Midnight comes twice: the day begins with the first.
        ("2024-11-03T04:00:00Z", "2024-11-03", "America/Havana"),
        ("2024-10-26T00:00:00+01:00", "2024-10-26", "Africa/Lagos"),
        # Half an hour of daylight saving time.
        ("2024-10-05T15:30:00Z", "2024-10-06T02:30", "Australia/Lord_Howe"),
        ("2024-04-06T15:30:00Z", "2024-04-07T02:00", "Australia/Lord_Howe"),
        # The day before and after the one that Samoa went without.
        ("2011-12-29T10:00:00Z", "2011-12-29", "Pacific/Apia"),
        ("2011-12-30T10:00:00Z", "2011-12-31", "Pacific/Apia"),
        ("0001-01-01T00:00:00Z", "0001-01-01", "UTC"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999", "UTC"),
        ("0001-01-01T04:56:02Z", "0001-01-01", "America/New_York"),
        ("9999-12-30T15:00:00Z", "9999-12-31", "Asia/Tokyo"),
    ],
)
def test_at_zone(expected, at, key):
    """
    A naive time and the first instant of a day are what the zone's clocks showed.
    """
    got = at_zone(moment(at, "here"), zone(key), "here")

    assert moment(expected, "here") == got
    assert UTC is got.tzinfo


@pytest.mark.parametrize(
    ("problem", "at", "key"),
    [
        ("skips", "2024-03-31T02:30", "Europe/Berlin"),
        ("skips", "2024-03-31T02:00", "Europe/Berlin"),
        ("has twice", "2024-10-27T02:00", "Europe/Berlin"),
        ("has twice", "2024-10-27T02:59:59.999999", "Europe/Berlin"),
        ("skips", "2024-10-06T02:15", "Australia/Lord_Howe"),
        ("has twice", "2024-04-07T01:45", "Australia/Lord_Howe"),
        ("skips", "2018-11-04T00:00", "America/Sao_Paulo"),
        ("has twice", "2024-11-03T00:00", "America/Havana"),
        ("skips", "2011-12-30T12:00", "Pacific/Apia"),
        ("whole day", "2011-12-30", "Pacific/Apia"),
        ("whole day", "1994-12-31", "Pacific/Kiritimati"),
        ("whole day", "1844-12-31", "Asia/Manila"),
        ("outside", "0001-01-01", "Asia/Tokyo"),
        ("outside", "0001-01-01T08:00", "Asia/Tokyo"),
        ("outside", "9999-12-31T20:00", "America/New_York"),
    ],
)
def test_no_time_of_the_zone(problem, at, key):
    """
    A time that the zone skips or has twice is refused, and so is what no instant can hold.
    """
    with pytest.raises(FilterError, match=problem) as caught:
        at_zone(moment(at, "here"), zone(key), "here")

    assert "here" == caught.value.place
    assert caught.value.advice


@given(st.dates(), ZONES)
def test_first_instant(day, in_zone):
    """
    The first instant of a day is on that day, and the microsecond before is on another.
    """
    try:
        first = at_zone(day, in_zone, "here")
        before = (first - timedelta(microseconds=1)).astimezone(in_zone)
    except (FilterError, OverflowError):
        assume(False)

    assert day == first.astimezone(in_zone).date()
    # Where clocks are set back over midnight, the day before comes again.
    assert before.date() < day


@given(st.datetimes(), ZONES)
def test_naive_or_refused(naive, in_zone):
    """
    A naive time is resolved exactly where one instant, and only one, shows it on the zone's clock.
    """
    showing = set()
    for fold in (0, 1):
        try:
            at = naive.replace(tzinfo=in_zone, fold=fold).astimezone(UTC)
            if naive == at.astimezone(in_zone).replace(tzinfo=None):
                showing.add(at)
        except OverflowError:
            assume(False)
    try:
        got = {at_zone(naive, in_zone, "here")}
    except FilterError:
        got = set()

    assert (showing if len(showing) == 1 else set()) == got


@pytest.mark.parametrize(
    "key",
    ["Europe/Berlin", ZoneInfo("Europe/Berlin"), Localized()],
    ids=["a key", "a zone", "as pytz has it"],
)
def test_zone(key):
    """
    A zone comes as its key or as a tzinfo; one of pytz is read by its key.
    """
    assert datetime(2024, 6, 30, 22, tzinfo=UTC) == at_zone(date(2024, 7, 1), zone(key), "here")


def test_every_zone():
    """
    Every key of the IANA list is a zone.
    """
    keys = zoneinfo.available_timezones() - {"localtime", "Factory"}

    assert keys
    assert all(isinstance(zone(key), tzinfo) for key in keys)


def test_fixed_zone():
    """
    A fixed offset serves as a zone.
    """
    expected = datetime(2024, 6, 30, 18, 30, tzinfo=UTC)

    assert expected == at_zone(date(2024, 7, 1), zone(timezone(timedelta(hours=5.5))), "here")


# --- ages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (Age(days=30), "30d"),
        (Age(days=14), "2w"),
        (Age(months=18), "1y6mo"),
        (Age(months=18), "1y 6mo"),
        (Age(microseconds=5_400_000_000), "1h30min"),
        (Age(microseconds=1_001), "1ms1us"),
        (Age(days=2), "1d1d"),
        (Age(microseconds=86_400_000_000), timedelta(days=1)),
        (Age(microseconds=1), timedelta(microseconds=1)),
        (
            Age(months=15, days=3, microseconds=3_600_000_000),
            relativedelta(years=1, months=3, days=3, hours=1),
        ),
        (Age(days=14), relativedelta(weeks=2)),
        (Age(days=2), relativedelta(days=2.0)),
        (Age(months=1), Age(months=1)),
    ],
    ids=count(),
)
def test_age(expected, value):
    """
    An age is read in its own units: calendar months and days, and exact time.
    """
    got = age(value, "here")

    assert expected == got
    assert expected == age(str(got), "there")


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "30",
        "d",
        "30 d",
        "30D",
        "1M",
        "1m",
        "-1d",
        "+1d",
        "1.5d",
        "30days",
        "0d",
        "0d0s",
        "1d ",
        "1d,2h",
        "P1D",
        "1d  2h",
        "1d\n2h",
        "10000y",
        "999999999999d",
        "999999999999999999y",
        timedelta.max,
        "１d",
        "1" * 13 + "d",
        "1" * 100_000,
        b"30d",
        30,
        30.0,
        True,
        None,
        Decimal(1),
        ["30d"],
        NOON,
        timedelta(),
        timedelta(-1),
        Long(30),
        relativedelta(),
        relativedelta(months=-1),
        relativedelta(months=1, days=-1),
        relativedelta(year=2024),
        relativedelta(hour=3),
        relativedelta(weekday=MO),
        relativedelta(days=1.5),
        relativedelta(days=float("inf")),
        relativedelta(days=float("nan")),
        relativedelta(hours=10**200),
        relativedelta(leapdays=1),
        Age(),
        Age(days=-1),
        Age(months=1, days=-1),
    ],
    ids=count(),
)
def test_no_age(value):
    """
    An age without a unit, of nothing, counted forward, or that names a point in time.
    """
    with pytest.raises(FilterError, match=r"^here: ") as caught:
        age(value, "here")

    assert caught.value.advice
    assert 600 > len(str(caught.value))


@pytest.mark.parametrize("part", [1.5, "1", None, True, float("nan")])
def test_no_part_of_an_age(part):
    """
    An Age counts in whole numbers.
    """
    with pytest.raises(FilterError, match=r"^age: "):
        Age(days=part)


@pytest.mark.parametrize(
    ("expected", "how_long", "now", "key"),
    [
        ("2024-02-29T11:00Z", "1mo", "2024-03-31T10:00Z", "Europe/Berlin"),
        ("2023-02-28T12:00Z", "1y", "2024-02-29T12:00Z", "UTC"),
        ("2024-01-29T12:00Z", "1mo", "2024-02-29T12:00Z", "UTC"),
        ("2024-01-31T12:00Z", "1mo1d", "2024-03-01T12:00Z", "UTC"),
        # A day has 23 hours when clocks are put forward, and 25 when they are put back.
        ("2024-03-30T11:00Z", "1d", "2024-03-31T10:00Z", "Europe/Berlin"),
        ("2024-03-30T10:00Z", "24h", "2024-03-31T10:00Z", "Europe/Berlin"),
        ("2024-10-26T10:00Z", "1d", "2024-10-27T11:00Z", "Europe/Berlin"),
        # Half past two was skipped the day before: clocks showed half past three.
        ("2024-03-31T01:30Z", "1d", "2024-04-01T00:30Z", "Europe/Berlin"),
        ("2024-10-05T15:45Z", "1d", "2024-10-06T15:15Z", "Australia/Lord_Howe"),
        # Half past two came twice the day before: the first one counts.
        ("2024-10-27T00:30Z", "1d", "2024-10-28T01:30Z", "Europe/Berlin"),
        # From the second of two.
        ("2024-10-26T00:30Z", "1d", "2024-10-27T01:30Z", "Europe/Berlin"),
        # Samoa went from the 29th to the 31st.
        ("2011-12-30T10:00Z", "1d", "2011-12-31T10:00Z", "Pacific/Apia"),
        ("2011-12-29T22:00Z", "2d", "2011-12-30T22:00Z", "Pacific/Apia"),
        # The calendar first, exact time after it.
        ("2024-03-30T10:59:59Z", "1d1s", "2024-03-31T10:00Z", "Europe/Berlin"),
        ("0001-01-01T00:00Z", "2023y", "2024-01-01T00:00Z", "UTC"),
    ],
    ids=count(),
)
def test_before_now(expected, how_long, now, key):
    """
    Months and days step over the zone's calendar as people count; hours are exact.
    """
    got = before_now(age(how_long, "here"), moment(now, "now"), zone(key), "here")

    assert moment(expected, "here") == got


@pytest.mark.parametrize("how_long", ["2024y", "9999y", "119988mo", "740000d", "80000000h"])
@pytest.mark.parametrize("key", HOSTILE)
def test_too_long(how_long, key):
    """
    An age that reaches before the year 1 is refused, however long it is.
    """
    with pytest.raises(FilterError, match="before the year 1"):
        before_now(age(how_long, "here"), NOON, zone(key), "here")


@given(
    st.builds(Age, *[st.integers(0, 40)] * 2, st.integers(0, 10**15)).filter(
        lambda age: age != Age()
    ),
    st.datetimes(datetime(100, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC)),
    ZONES,
)
def test_older_is_earlier(how_long, now, in_zone):
    """
    An age counts back, and a longer one not less far, in every zone.
    """
    then = before_now(how_long, now, in_zone, "here")
    longer = Age(how_long.months, how_long.days, how_long.microseconds + 1)

    assert then < now + timedelta(hours=25)
    assert timedelta(microseconds=1) == then - before_now(longer, now, in_zone, "here")
