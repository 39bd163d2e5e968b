"""
How stores write times and tags: every encoding read, written and cut, against hostile values.
"""

# ruff: noqa: DTZ001 - naive times are among what is given

from __future__ import annotations

import json
import math
import re

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import count
from zoneinfo import ZoneInfo

import pytest

from hypothesis import assume, given
from hypothesis import strategies as st

from memdelete import globs
from memdelete.errors import FilterError, StoreError
from memdelete.memories import UNKNOWN
from memdelete.schema import Collection, Edges, End, Field, Flag, Ledger, Store
from memdelete.tags import CommaText, JoinTable, JSONArray, NativeArray
from memdelete.testing import strategies
from memdelete.times import (
    FIRST_MICROSECOND,
    LAST_MICROSECOND,
    EpochMicros,
    EpochMillis,
    EpochSeconds,
    ISOText,
    Native,
    cut,
    from_micros,
    to_micros,
)


EPOCHS = (EpochSeconds, EpochMillis, EpochMicros)
PER_SECOND = (1, 1_000, 1_000_000)
NOON = datetime(2024, 6, 1, 12, 0, 0, 123_456, tzinfo=UTC)
INSTANTS = st.one_of(
    st.sampled_from(strategies.INSTANTS),
    st.datetimes(timezones=st.just(UTC)),
    st.datetimes(datetime(1969, 12, 31), datetime(1970, 1, 2), timezones=st.just(UTC)),
)
MICROS = st.one_of(
    st.integers(FIRST_MICROSECOND, LAST_MICROSECOND),
    st.integers(-3_000_000, 3_000_000),
    st.sampled_from([FIRST_MICROSECOND, FIRST_MICROSECOND + 1, LAST_MICROSECOND, 0, 1, -1]),
)


def near(micros: int, per_second: int, halves: int, steps: int) -> float:
    """
    The double at so many *halves* of a microsecond from *micros*, and *steps* doubles further.
    """
    found = (2 * micros + halves) * per_second / 2_000_000
    for _ in range(abs(steps)):
        found = math.nextafter(found, math.copysign(math.inf, steps))

    return found


# --- epochs ---------------------------------------------------------------------------------


@given(MICROS, st.sampled_from(PER_SECOND), st.integers(-3, 3), st.integers(-3, 3))
def test_cut(micros, per_second, halves, steps):
    """
    A stored real is below the cut exactly where the instant it is read as is earlier.
    """
    kind = EPOCHS[PER_SECOND.index(per_second)]("at", storage="real")
    raw = near(micros, per_second, halves, steps)
    read = kind.decode(raw)
    assume(read is not UNKNOWN)

    assert (to_micros(read) < micros) is (raw < cut(micros, per_second))


@given(MICROS, st.sampled_from(PER_SECOND), st.floats(allow_nan=False, allow_infinity=False))
def test_cut_of_any(micros, per_second, raw):
    """
    The cut holds for every real that is an instant.
    """
    read = EPOCHS[PER_SECOND.index(per_second)]("at", storage="real").decode(raw)
    assume(read is not UNKNOWN)

    assert (to_micros(read) < micros) is (raw < cut(micros, per_second))


@given(MICROS, st.sampled_from(PER_SECOND))
def test_cut_is_tight(micros, per_second):
    """
    The cut itself is read as the instant or later, and the double below it as earlier.
    """
    bound = cut(micros, per_second)
    scale = 1_000_000 // per_second

    def read(raw: float) -> int:
        numerator, denominator = raw.as_integer_ratio()
        whole, rest = divmod(numerator * scale, denominator)
        up = 2 * rest > denominator or (2 * rest == denominator and whole % 2)
        return whole + up

    assert read(math.nextafter(bound, -math.inf)) < micros <= read(bound)


@given(INSTANTS, st.sampled_from(EPOCHS), st.sampled_from(["integer", "real", "text"]))
def test_epoch_round_trip(at, kind, storage):
    """
    An instant that is written is read back, as exactly as the storage holds it.
    """
    encoding = kind("at", storage=storage)
    raw = encoding.encode(at)
    read = encoding.decode(raw)
    match storage:
        case "text":
            grain = 0
        case "integer":
            grain = 1_000_000 // encoding.per_second - 1
        case _:
            grain = math.ulp(raw) * 1_000_000 / encoding.per_second

    if read is UNKNOWN:  # rounded over the last instant
        assert to_micros(at) + grain > LAST_MICROSECOND
    else:
        assert abs(to_micros(at) - to_micros(read)) <= grain
    if storage == "integer" and read is not UNKNOWN:
        assert read <= at


@given(
    st.datetimes(datetime(1830, 1, 1), datetime(2110, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(EPOCHS),
)
def test_reals_are_exact_in_our_time(at, kind):
    """
    Within two lifetimes of 1970 a real holds every microsecond, in each unit.
    """
    encoding = kind("at", storage="real")

    assert at == encoding.decode(encoding.encode(at))


@given(st.floats(0, 4e9))
def test_as_fromtimestamp(raw):
    """
    A real of seconds is read as `datetime.fromtimestamp` reads it.
    """
    assert datetime.fromtimestamp(raw, UTC) == EpochSeconds("at").decode(raw)


@pytest.mark.parametrize(
    ("expected", "encoding", "raw"),
    [
        (None, EpochSeconds("at"), None),
        (0, EpochSeconds("at"), 0),
        (0, EpochSeconds("at"), -0.0),
        (1_500_000, EpochSeconds("at"), 1.5),
        (1_000_000, EpochSeconds("at", storage="integer"), 1),
        (1_500_000, EpochSeconds("at", storage="integer"), 1.5),
        (1_500_000, EpochSeconds("at", storage="text"), "1.5"),
        (-1_500_000, EpochSeconds("at", storage="text"), "-1.5"),
        (-1, EpochMillis("at", storage="text"), "-0.0001"),
        (0, EpochSeconds("at", storage="text"), "-0"),
        (7, EpochMicros("at"), 7),
        (FIRST_MICROSECOND, EpochMicros("at"), FIRST_MICROSECOND),
        (LAST_MICROSECOND, EpochMicros("at"), LAST_MICROSECOND),
        *[
            (UNKNOWN, EpochSeconds("at"), raw)
            for raw in (
                "1",
                "",
                b"1",
                True,
                float("nan"),
                math.inf,
                -math.inf,
                1e300,
                10**400,
                NOON,
            )
        ],
        *[
            (UNKNOWN, EpochSeconds("at", storage="text"), raw)
            for raw in (
                *(
                    "",
                    " ",
                    "1 ",
                    "+1",
                    "1.",
                    ".5",
                    "1e3",
                    "1_0",
                    "0x1",
                    "١",
                    "1.1234567",
                    "--1",
                    "1\n",
                ),
                *("9" * 18, "1" * 5000, "nan", 1, 1.5, b"1", True),
            )
        ],
        *[(UNKNOWN, EpochMicros("at"), raw) for raw in (1.0, "1", True, LAST_MICROSECOND + 1)],
        *[(UNKNOWN, EpochMicros("at", storage="real"), raw) for raw in (1, "1", True)],
        *[(UNKNOWN, EpochMicros("at", storage="text"), raw) for raw in (1, 1.0)],
    ],
    ids=count(),
)
def test_epoch_decode(expected, encoding, raw):
    """
    NULL is None, what is no instant of the encoding is unknown, and the rest is exact.
    """
    got = encoding.decode(raw)

    assert expected == (to_micros(got) if isinstance(got, datetime) else got)


@pytest.mark.parametrize("kind", EPOCHS)
def test_epoch_refuses(kind):
    """
    A storage that there is not is refused where the store is declared.
    """
    with pytest.raises(ValueError, match="storage"):
        kind("at", storage="blob")


@given(MICROS)
def test_micros(micros):
    """
    Microseconds and instants are the same thing, from the first to the last.
    """
    assert micros == to_micros(from_micros(micros))
    assert UNKNOWN is from_micros(LAST_MICROSECOND + 1) is from_micros(FIRST_MICROSECOND - 1)


# --- texts and natives ----------------------------------------------------------------------

ISO = st.one_of(
    strategies.stored_times(ISOText("at")).filter(lambda raw: isinstance(raw, str)),
    st.from_regex(
        re.compile(
            r"(19|20|00|99)[0-9]{2}-[01][0-9]-[0-3][0-9]"
            r"([T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,7})?)?"
            r"(Z|[+-][0-2][0-9](:?[0-6][0-9])?)?)?",
            re.ASCII,
        ),
        fullmatch=True,
    ),
)


@given(ISO)
def test_iso_as_python(raw):
    """
    What Python's own reader accepts too is read as the same instant.
    """
    got = ISOText("at").decode(raw)
    try:
        python = datetime.fromisoformat(raw)
        expected = (python if python.tzinfo else python.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        assume(False)
    assume(got is not UNKNOWN)

    assert expected == got


@given(ISO)
def test_iso_misses_nothing(raw):
    """
    What Python reads of the forms that are promised is never unknown.
    """
    form = r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?[0-5]\d)?)?"
    assume(re.fullmatch(form, raw, re.ASCII) and not re.search(r"[T ]24", raw))
    try:
        datetime.fromisoformat(raw).astimezone(UTC) if re.search("Z|[+-][0-9:]+$", raw[10:]) else (
            datetime.fromisoformat(raw)
        )
    except (ValueError, OverflowError):
        assume(False)

    assert isinstance(ISOText("at").decode(raw), datetime)


@given(INSTANTS, st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Auckland"]))
def test_iso_round_trip(at, key):
    """
    An instant that is written, in whatever zone it comes, is read back.
    """
    try:
        at = at.astimezone(ZoneInfo(key))
    except OverflowError:
        assume(False)

    assert at == ISOText("at").decode(ISOText("at").encode(at))
    assert at == Native("at").decode(Native("at").encode(at))
    assert at == Native("at", zoned=False).decode(Native("at", zoned=False).encode(at))


@pytest.mark.parametrize(
    ("expected", "form", "at"),
    [
        ("2023-12-31T23:30:00.000000Z", None, "2024-01-01T00:30:00+01:00"),
        ("0099-01-01 00:00:00", "%Y-%m-%d %H:%M:%S", "0099-01-01T00:00:00+00:00"),
        ("2024-06-01T12:00:00+00:00", "%Y-%m-%dT%H:%M:%S+00:00", "2024-06-01T12:00:00.9+00:00"),
    ],
)
def test_iso_form(expected, form, at):
    """
    The store's own form is written in UTC, the year in four digits.
    """
    encoding = ISOText("at", form=form) if form else ISOText("at")

    assert expected == encoding.encode(datetime.fromisoformat(at))


@pytest.mark.parametrize(
    "encoding", [*[kind("at") for kind in EPOCHS], ISOText("at"), Native("at", zoned=False)]
)
def test_naive_is_not_written(encoding):
    """
    A time without a zone is never written in the host's zone.
    """
    with pytest.raises(TypeError):
        encoding.encode(datetime(2024, 1, 1))


@pytest.mark.parametrize(
    ("expected", "raw"),
    [
        (None, None),
        (NOON, NOON),
        (NOON, NOON.replace(tzinfo=None)),
        (NOON, NOON.astimezone(ZoneInfo("Asia/Tokyo"))),
        (UNKNOWN, NOON.date()),
        (UNKNOWN, "2024-01-01"),
        (UNKNOWN, 7),
        (UNKNOWN, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
        (UNKNOWN, datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=1)))),
    ],
    ids=count(),
)
def test_native(expected, raw):
    """
    A native timestamp is an instant, or unknown where it is none within the years.
    """
    assert expected == Native("at").decode(raw)


@pytest.mark.parametrize(
    "encoding",
    [
        *[k("at", storage=s) for k in EPOCHS for s in ("integer", "real", "text")],
        ISOText("at"),
        ISOText("at", naive="unknown"),
        Native("at"),
    ],
    ids=repr,
)
@given(data=st.data())
def test_anything_decodes(encoding, data):
    """
    Whatever a column holds is an instant in UTC, NULL or unknown, never an exception.
    """
    raw = data.draw(
        st.one_of(
            strategies.stored_times(encoding),
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(),
            st.binary(),
            st.decimals(),
            st.datetimes(),
            st.datetimes(timezones=st.timezones()),
            st.dates(),
            st.integers(-(10**20), 10**20).map(str),
            st.decimals(allow_nan=False).map(str),
        )
    )
    got = encoding.decode(raw)

    assert got is None if raw is None else got is UNKNOWN or got.utcoffset() == timedelta()


# --- tags -----------------------------------------------------------------------------------

STORAGES = (
    CommaText("t"),
    CommaText("t", separator="|"),
    JSONArray("t"),
    NativeArray("t"),
    JoinTable("t", "m", "tag"),
)


@pytest.mark.parametrize("storage", STORAGES, ids=repr)
@given(data=st.data())
def test_tags_round_trip(storage, data):
    """
    Tags that a storage can hold are read back as they were written.
    """
    tags = data.draw(st.lists(st.sampled_from(strategies.TAGS)))
    try:
        held = [storage.holding(tag) for tag in tags]
    except StoreError:
        assume(False)

    assert frozenset(tags) == storage.decode(storage.encode(held))


@pytest.mark.parametrize("storage", STORAGES, ids=repr)
@given(data=st.data())
def test_any_tags_decode(storage, data):
    """
    Whatever a column holds is a set of texts or unknown, never an exception.
    """
    raw = data.draw(
        st.one_of(
            strategies.stored_tags(storage),
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(),
            st.binary(),
            st.lists(st.none() | st.text() | st.integers()),
            st.dictionaries(st.text(), st.text()),
            st.lists(st.text()).map(json.dumps),
        )
    )
    got = storage.decode(raw)

    assert got is UNKNOWN or (isinstance(got, frozenset) and all(type(tag) is str for tag in got))
    assert raw is not None or got == frozenset()


@pytest.mark.parametrize(
    ("expected", "storage", "raw"),
    [
        ({"a", "b"}, CommaText("t"), "a,b"),
        ({"a", "b c"}, CommaText("t"), " a ,\tb c\n,, ,"),
        ({"\xa0a"}, CommaText("t"), "\xa0a"),
        (UNKNOWN, CommaText("t"), b"a"),
        (UNKNOWN, CommaText("t"), "a\0,b"),
        ({"a"}, JSONArray("t"), '["a"]'),
        (set(), JSONArray("t"), ""),
        (UNKNOWN, JSONArray("t"), " "),
        (UNKNOWN, JSONArray("t"), "[" * 100_000),
        (UNKNOWN, JSONArray("t"), "[" + "9" * 5000 + "]"),
        (UNKNOWN, JSONArray("t"), "[NaN]"),
        (UNKNOWN, JSONArray("t"), '["a", ["b"]]'),
        ({"a"}, JSONArray("t"), ["a"]),
        (UNKNOWN, JSONArray("t"), {"a": 1}),
        (UNKNOWN, NativeArray("t"), "a"),
        (UNKNOWN, NativeArray("t"), [None]),
        (UNKNOWN, JoinTable("t", "m", "tag"), ["a", None]),
    ],
    ids=count(),
)
def test_tags_decode(expected, storage, raw):
    """
    No tags are the empty set, and what is no list of texts is unknown.
    """
    assert expected == storage.decode(raw)


@pytest.mark.parametrize(
    "separator", ["", ",,", "a", "é", "1", " ", "\0", "\ud800", None, 7, ["x"]], ids=repr
)
def test_no_separator(separator):
    """
    What cannot stand between tags is no separator.
    """
    with pytest.raises(StoreError):
        CommaText("t", separator=separator)


@pytest.mark.parametrize("tag", ["a,b", " a", "a\t", ""])
def test_comma_text_holds(tag):
    """
    A tag that comma text cannot hold is an error of the store: no row can have it.
    """
    with pytest.raises(StoreError):
        CommaText("t").holding(tag)


# --- globs ----------------------------------------------------------------------------------


@given(
    st.sampled_from(strategies.GLOBS) | st.text("ab*?[]!^-.\\\n", min_size=1),
    st.sampled_from(strategies.TEXTS) | st.text("ab*?[]!^-.\\\n"),
)
def test_globs(pattern, text):
    """
    A glob matches as its regular expression does.
    """
    try:
        tokens = globs.read(pattern, "here")
    except FilterError:
        assume(False)
    expected = re.fullmatch(globs.to_regex(tokens), text, re.DOTALL) is not None

    assert expected is globs.matches(tokens, text)


def test_globs_are_quick():
    """
    No pattern takes time that grows with the ways to split a text.
    """
    tokens = globs.read("*a" * 30 + "*b", "here")

    assert not globs.matches(tokens, "a" * 3_000)


# --- stores ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build",
    [
        lambda: Collection(table="t", key="id", content="body"),
        lambda: Collection(table="t", key="id", twins=["ab"]),
        lambda: Ledger("t", deleted={}, restored={}, also="UPDATE"),
        lambda: Store(name="s", collections=[]),
        lambda: Store(name="s", collections=[Collection(table="t", key="id")] * 2),
        lambda: Store(name="s", collections=[Collection(table="t", key="id")]).collection("x"),
    ],
    ids=count(),
)
def test_no_store(build):
    """
    A store that is declared wrongly says so where it is declared.
    """
    with pytest.raises(StoreError):
        build()


def test_stores_are_values():
    """
    What a store was built from may change afterwards; the store does not.
    """
    fields, content = {"project": "project"}, ["body"]
    built = Collection(
        table="t",
        key="id",
        fields=fields,
        content=content,
        tombstone=EpochSeconds("gone"),
        tags=CommaText("tags"),
    )
    fields.clear()
    content.clear()

    assert {"project": Field("project")} == dict(built.fields)
    assert ("id", "body", "gone", "project", "tags") == built.columns
    assert ("deleted_at", "project") == built.names
    with pytest.raises(TypeError):
        built.fields["x"] = Field("x")


def test_columns_of_everything():
    """
    A collection knows the columns it speaks of, each once.
    """
    built = Collection(
        table="t",
        key=["a", "b"],
        hash="sha",
        times={"created_at": EpochSeconds("made"), "same": EpochMillis("made")},
        tombstone=Flag("gone"),
        tags=JoinTable("labels", "memory", "label"),
        sidecars=[Edges("edges", [End("source"), End("target")])],
        twins=[["sha", "owner"]],
        revive={"embedding": 0},
    )

    assert ("a", "b", "made", "sha", "gone", "owner", "embedding") == built.columns
    assert ["edges", "labels"] == [tie.table for tie in built.ties]


def test_decimal_is_no_epoch():
    """
    An exact decimal is of no storage that an epoch has.
    """
    assert UNKNOWN is EpochSeconds("at").decode(Decimal(1))
