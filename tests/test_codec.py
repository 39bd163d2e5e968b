"""
The dict form: there and back without a difference, and nothing that is not known gets by.
"""

from __future__ import annotations

import json

from collections import OrderedDict
from datetime import timedelta
from itertools import count
from types import MappingProxyType

import pytest

from hypothesis import given
from hypothesis import strategies as st

from memdelete import codec
from memdelete.errors import FilterError
from memdelete.filters import (
    MAX_DEPTH,
    After,
    And,
    Before,
    Between,
    Compare,
    Everything,
    Filter,
    Hash,
    Key,
    NewerThan,
    Not,
    OlderThan,
    Or,
    Since,
    Tags,
    Untagged,
    Until,
    field,
)
from memdelete.instants import Age


HUGE = 10**5000


class Rude:
    """
    A value that cannot even be written.
    """

    def __repr__(self):
        raise RuntimeError


# --- strategies -----------------------------------------------------------------------------

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=9
).filter(lambda text: text.strip(" \t\n\v\f\r"))
INTEGERS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = INTEGERS | st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.one_of(TEXTS, INTEGERS, st.lists(TEXTS | INTEGERS, min_size=1, max_size=3).map(tuple))
MOMENTS = st.one_of(
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.timezones()).filter(lambda at: 1 < at.year < 9999),
)
ONS = st.just("created_at") | TEXTS
AGES = st.one_of(
    st.builds(Age, st.integers(0, 10**5), st.integers(0, 10**6), st.integers(0, 3 * 10**17)).filter(
        lambda age: age != Age()
    ),
    st.timedeltas(timedelta(microseconds=1), timedelta(days=3_000_000)),
)


def some(values: st.SearchStrategy) -> st.SearchStrategy[list]:
    """
    One to three of them.
    """
    return st.lists(values, min_size=1, max_size=3)


def unless_refused(build, *parts) -> st.SearchStrategy[Filter]:
    """
    What *build* makes of drawn *parts*, where it is no empty range.
    """

    def built(drawn):
        try:
            return build(*drawn)
        except FilterError:
            return None

    return st.tuples(*parts).map(built).filter(lambda found: found is not None)


TAG_LISTS = st.none() | some(TEXTS)
LEAVES = st.one_of(
    st.builds(lambda values: Hash(*values), some(TEXTS)),
    st.builds(lambda values, where: Key(*values, collection=where), some(KEYS), st.none() | TEXTS),
    st.tuples(TAG_LISTS, TAG_LISTS, TAG_LISTS, st.booleans())
    .filter(lambda given: any(given[:3]))
    .map(lambda given: Tags(any=given[0], all=given[1], none=given[2], ignore_case=given[3])),
    st.sampled_from([Untagged(), Everything()]),
    st.builds(
        lambda kind, at, on: kind(at, on),
        st.sampled_from([Before, After, Since, Until]),
        MOMENTS,
        ONS,
    ),
    unless_refused(Between, MOMENTS, MOMENTS, ONS),
    st.builds(
        lambda kind, age, on: kind(age, on), st.sampled_from([OlderThan, NewerThan]), AGES, ONS
    ),
    st.builds(
        lambda name, op, value: Compare(name, op, [value]),
        TEXTS,
        st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]),
        NUMBERS | TEXTS,
    ),
    st.builds(lambda name, value: field(name).ne(value), TEXTS, st.booleans()),
    st.builds(lambda name, found: field(name).isin(found), TEXTS, some(NUMBERS) | some(TEXTS)),
    st.builds(lambda name: field(name).missing(), TEXTS),
    st.builds(
        lambda name, op, text, fold: Compare(name, op, [text], ignore_case=fold),
        TEXTS,
        st.sampled_from(["eq", "contains", "startswith", "endswith"]),
        TEXTS,
        st.booleans(),
    ),
    unless_refused(lambda name, text: field(name).glob(text), TEXTS, TEXTS),
)
FILTERS = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        unless_refused(lambda found: And(*found), some(parts)),
        some(parts).map(lambda found: Or(*found)),
        parts.map(Not),
    ),
    max_leaves=8,
)


# --- there and back -------------------------------------------------------------------------


@given(FILTERS)
def test_round_trip(filter):
    """
    What is written reads back to an equal filter, as it is and through JSON of either kind.
    """
    written = filter.to_dict()

    assert filter == Filter.from_dict(written)
    assert written == Filter.from_dict(written).to_dict()
    for text in (codec.write_json(written), json.dumps(written), codec.json_text(written)):
        read = Filter.from_json(text)
        assert filter == read
        assert repr(filter) == repr(read)


@pytest.mark.parametrize(
    ("expected", "written"),
    [
        (Hash("a", "b"), {"hash": ["a", "b"]}),
        (Key(1, "1"), {"key": [1, "1"]}),
        (Key(("ana", 1)), {"key": [["ana", 1]]}),
        (Key("a", collection="c"), {"key": {"collection": "c", "values": ["a"]}}),
        (Tags(any=["a"], none=["b"]), {"tags": {"any": ["a"], "none": ["b"]}}),
        (Tags(all=["a"], ignore_case=True), {"tags": {"all": ["a"], "ignore_case": True}}),
        (Untagged(), {"untagged": True}),
        (Everything(), {"everything": True}),
        (Before("2024-01-01"), {"before": "2024-01-01"}),
        (Since("2024-01-01T10:00Z", on="t"), {"since": {"at": "2024-01-01T10:00:00Z", "on": "t"}}),
        (Between("2024-01-01", "2025-01-01"), {"between": ["2024-01-01", "2025-01-01"]}),
        (
            Between("2024-01-01", "2025-01-01", "t"),
            {"between": {"at": ["2024-01-01", "2025-01-01"], "on": "t"}},
        ),
        (OlderThan("30d"), {"older_than": "30d"}),
        (NewerThan("1y", "t"), {"newer_than": {"age": "12mo", "on": "t"}}),
        (field("x").eq(1), {"field": "x", "op": "eq", "value": 1}),
        (field("x").isin(["a"]), {"field": "x", "op": "isin", "value": ["a"]}),
        (field("x").missing(), {"field": "x", "op": "missing"}),
        (
            field("x").contains("a", ignore_case=True),
            {"field": "x", "op": "contains", "value": "a", "ignore_case": True},
        ),
        (Hash("a") | ~Untagged(), {"or": [{"hash": ["a"]}, {"not": {"untagged": True}}]}),
    ],
    ids=count(),
)
def test_form(expected, written):
    """
    The dict form is the one that is documented.
    """
    assert written == expected.to_dict()
    assert expected == Filter.from_dict(written)


@pytest.mark.parametrize(
    ("expected", "written"),
    [
        (Hash("a") & Untagged(), {"hash": ["a"], "untagged": True}),
        (
            field("x").eq(1) & Before("2024-01-01") & Hash("a"),
            {"op": "eq", "hash": ["a"], "field": "x", "before": "2024-01-01", "value": 1},
        ),
        (
            Hash("a") & Untagged() & Hash("b"),
            {"and": [{"hash": ["a"]}, {"hash": ["b"]}], "untagged": True},
        ),
        (
            Since("2024-01-01") & Before("2024-02-01"),
            OrderedDict(before={"at": "2024-02-01"}, since="2024-01-01"),
        ),
        (Hash("a"), MappingProxyType({"hash": ("a",)})),
        (Key(("a", 1)), {"key": [("a", 1)]}),
        (Tags(any=["a"]), {"tags": {"any": ["a"], "ignore_case": False}}),
        (field("x").eq(1), {"field": "x", "op": "eq", "value": 1, "ignore_case": False}),
    ],
    ids=count(),
)
def test_reads_too(expected, written):
    """
    Several keys AND together, in whichever order, and defaults may be said.
    """
    assert expected == Filter.from_dict(written)


# --- what is refused ------------------------------------------------------------------------

NO_LISTS = ["a", 1, None, True, {}, {"a": 1}, Rude(), HUGE, set()]
NO_TEXTS = [None, 1, True, [], {}, "", " ", "\0", "\ud800", HUGE, Rude()]
REFUSED = [
    *[
        lambda bad=bad: bad
        for bad in (None, 1, "a", [], [{}], (), Rude(), HUGE, {}, Hash("a"), {1: 2})
    ],
    *[
        lambda key=key: {key: True}
        for key in ("", "Tags", "tag", "where", None, 1, (1,), "hash ", HUGE)
    ],
    lambda: {"hash": ["a"], "extra": 1},
    lambda: {"tag_match": "all", "tags": {"any": ["a"]}},
    *[lambda bad=bad, k=k: {k: bad} for bad in NO_LISTS for k in ("hash", "and", "or")],
    *[lambda bad=bad: {"key": bad} for bad in NO_LISTS],
    *[lambda bad=bad: {"between": bad} for bad in NO_LISTS],
    *[lambda bad=bad: {"tags": {"any": bad}} for bad in NO_LISTS],
    *[lambda bad=bad: {"tags": bad} for bad in (*NO_LISTS, ["a"], [])],
    *[lambda bad=bad: {"field": "x", "op": "isin", "value": bad} for bad in NO_LISTS],
    lambda: {"hash": []},
    lambda: {"and": []},
    lambda: {"or": []},
    lambda: {"or": [{}]},
    lambda: {"not": {}},
    lambda: {"not": [{"untagged": True}]},
    lambda: {"not": None},
    *[lambda bad=bad: {"hash": ["a", bad]} for bad in NO_TEXTS],
    *[lambda bad=bad: {"key": [bad]} for bad in NO_TEXTS if bad != 1 or bad is True],
    lambda: {"key": [1.0]},
    lambda: {"key": [[1.0]]},
    lambda: {"key": [[]]},
    lambda: {"key": [[[1]]]},
    lambda: {"key": [2**63]},
    lambda: {"key": {"values": [1]}},
    lambda: {"key": {"collection": "c"}},
    lambda: {"key": {"collection": None, "values": [1]}},
    lambda: {"key": {"collection": "c", "values": [1], "extra": 1}},
    lambda: {"key": {"collection": "c", "values": 1}},
    *[lambda bad=bad: {"key": {"collection": bad, "values": [1]}} for bad in NO_TEXTS],
    *[lambda bad=bad: {"tags": {"all": [bad]}} for bad in NO_TEXTS],
    lambda: {"tags": {"any": ["a"], "mode": "all"}},
    lambda: {"tags": {"ignore_case": True}},
    lambda: {"tags": {"any": ["a"], "none": None}},
    *[
        lambda bad=bad: {"tags": {"any": ["a"], "ignore_case": bad}}
        for bad in (None, 0, 1, "true", [])
    ],
    *[lambda bad=bad: {"untagged": bad} for bad in (False, None, 1, "true", {}, [], 1.0)],
    *[lambda bad=bad: {"everything": bad} for bad in (False, None, 1, "yes", {}, [])],
    *[
        lambda bad=bad, k=k: {k: bad}
        for bad in (None, 1, 1.5, True, [], {}, "", "yesterday", HUGE, Rude())
        for k in ("before", "after", "since", "until", "older_than", "newer_than")
    ],
    *[
        lambda bad=bad: {"before": bad}
        for bad in (
            {"at": "2024-01-01", "on": None},
            {"at": "2024-01-01", "on": ""},
            {"at": "2024-01-01", "zone": "UTC"},
            {"age": "30d"},
            {"on": "t"},
            {"at": {"at": "2024-01-01"}},
        )
    ],
    lambda: {"older_than": {"at": "30d"}},
    lambda: {"older_than": {"age": "30d", "on": 1}},
    lambda: {"between": ["2024-01-01"]},
    lambda: {"between": ["2024-01-01", "2024-02-01", "2024-03-01"]},
    lambda: {"between": ["2024-01-01", None]},
    lambda: {"between": ["2024-02-01", "2024-01-01"]},
    lambda: {"between": {"at": ["2024-01-01", "2024-02-01"], "on": 7}},
    lambda: {"between": {"start": "2024-01-01", "end": "2024-02-01"}},
    lambda: {"after": "2024-02-01", "before": "2024-01-01"},
    *[lambda bad=bad: {"field": bad, "op": "eq", "value": 1} for bad in NO_TEXTS],
    *[lambda bad=bad: {"field": "x", "op": bad, "value": 1} for bad in (*NO_TEXTS, "equals", "=")],
    *[
        lambda bad=bad: {"field": "x", "op": "eq", "value": bad}
        for bad in (None, [], [1], {}, float("nan"), float("inf"), 2**63, "\0", HUGE, Rude())
    ],
    lambda: {"field": "x"},
    lambda: {"op": "eq"},
    lambda: {"value": 1},
    lambda: {"ignore_case": True},
    lambda: {"op": "eq", "value": 1},
    lambda: {"field": "x", "value": 1},
    lambda: {"field": "x", "op": "eq"},
    lambda: {"field": "x", "op": "missing", "value": None},
    lambda: {"field": "x", "op": "missing", "ignore_case": True},
    lambda: {"field": "x", "op": "isin", "value": [1, "a"]},
    lambda: {"field": "x", "op": "isin", "value": [1, True]},
    lambda: {"field": "x", "op": "eq", "value": 1, "ignore_case": True},
    lambda: {"field": "x", "op": "eq", "value": "a", "ignore_case": None},
    lambda: {"field": "x", "op": "glob", "value": "["},
    lambda: {"and": [{"hash": ["a"]}, {"or": [{"not": {"tags": {"every": ["a"]}}}]}]},
]


@pytest.mark.parametrize("build", REFUSED, ids=count())
def test_refused(build):
    """
    Whatever is wrong at whichever level is a FilterError with advice, and in short.
    """
    with pytest.raises(FilterError) as caught:
        Filter.from_dict(build())

    assert caught.value.advice
    assert 900 > len(str(caught.value))


@pytest.mark.parametrize(
    ("expected", "written"),
    [
        (
            "and[1].or[0].not.tags.any",
            {"and": [{"untagged": True}, {"or": [{"not": {"tags": {"any": []}}}]}]},
        ),
        ("not.key", {"not": {"key": [True]}}),
        ("or[1]", {"or": [{"untagged": True}, 7]}),
        ("or[0].between[1]", {"or": [{"between": ["2024-01-01", 7]}]}),
        ("and[0].field x", {"and": [{"field": "x", "op": "no", "value": 1}]}),
        ("not.before", {"not": {"before": {"at": "2024-01-01", "in": "t"}}}),
        ("and", {"and": [{"before": "2023-01-01"}, {"after": "2024-01-01"}]}),
    ],
)
def test_place(expected, written):
    """
    An error says where in the object it is.
    """
    with pytest.raises(FilterError) as caught:
        Filter.from_dict(written)

    assert expected == caught.value.place


def nested(levels: int, word: str = "not") -> dict:
    """
    An object in so many others.
    """
    found: dict = {"untagged": True}
    for _ in range(levels):
        found = {word: found if word == "not" else [found]}

    return found


@pytest.mark.parametrize("word", ["not", "and", "or"])
def test_depth(word):
    """
    Objects nest as deep as filters may; 10,000 levels are refused like 65.
    """
    assert isinstance(Filter.from_dict(nested(MAX_DEPTH, word)), And | Or | Not)
    for levels in (MAX_DEPTH + 1, 10_000):
        with pytest.raises(FilterError, match="nest"):
            Filter.from_dict(nested(levels, word))


@pytest.mark.parametrize(
    "text", ['{"not": ' * 10_000 + "{}" + "}" * 10_000, '{"hash": ' + "[" * 100_000]
)
def test_deep_json(text):
    """
    JSON of any depth is refused, not overflown.
    """
    with pytest.raises(FilterError) as caught:
        Filter.from_json(text)

    assert 600 > len(str(caught.value))


def test_deep_values():
    """
    A value of any depth in the place of another is refused, not overflown.
    """
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    for written in ({"hash": deep}, {"key": deep}, {"before": deep}, {"field": deep, "op": "eq"}):
        with pytest.raises(FilterError):
            Filter.from_dict(written)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nothing",
        '{"hash": ["a"]} {}',
        '{"hash": ["a"], "hash": ["b"]}',
        '{"and": [{"tags": {"any": ["a"], "any": ["b"]}}]}',
        '{"untagged": true, "everything": true, "untagged": true}',
        '{"field": "x", "op": "eq", "value": NaN}',
        '{"field": "x", "op": "eq", "value": -Infinity}',
        '{"field": "x", "op": "eq", "value": 1e999}',
        '{"field": "x", "op": "eq", "value": ' + "9" * 5000 + "}",
        '{"key": [9223372036854775808]}',
        '{"key": [1.0]}',
        '{"key": [true]}',
        '{"hash": ["\\ud800"]}',
        '{"hash": ["\\u0000"]}',
        '{"hash": ["a\x01"]}',
        '\ufeff{"untagged": true}',
        "null",
        "[]",
        '"untagged"',
        "true",
        b'{"untagged": true}',
        b"\xff",
        None,
        7,
        {"untagged": True},
        HUGE,
    ],
    ids=count(),
)
def test_json_refused(text):
    """
    Only strict JSON is read: no repeated key, no number that is none, no text that is none.
    """
    with pytest.raises(FilterError) as caught:
        Filter.from_json(text)

    assert caught.value.advice
    assert 600 > len(str(caught.value))


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from([[], {}, [{}], ["a"], {"at": "2024-01-01"}, {"untagged": True}, HUGE]),
)


def places(data: object) -> list:
    """
    Every list or object within, with each of its keys.
    """
    inside = (
        data if isinstance(data, dict) else dict(enumerate(data if isinstance(data, list) else []))
    )
    here = [(data, key) for key in inside]

    return here + [place for inner in inside.values() for place in places(inner)]


@given(FILTERS, JUNK, st.data())
def test_spoilt(filter, junk, data):
    """
    A dict form with junk put somewhere is a FilterError, or a filter that says what was put there.
    """
    written = json.loads(json.dumps(filter.to_dict()))
    inside, key = data.draw(st.sampled_from(places(written)))
    inside[key] = junk
    if isinstance(inside, dict) and data.draw(st.booleans()):
        inside[data.draw(st.sampled_from(["on", "values", "tags", "x", ""]))] = inside.pop(key)
    try:
        got = Filter.from_dict(written)
    except FilterError:
        got = None

    assert got is None or got == Filter.from_dict(got.to_dict())


@pytest.mark.parametrize("what", [None, 1, {"untagged": True}, field("x"), Rude(), Filter])
def test_only_filters_are_written(what):
    """
    What is no filter has no dict form.
    """
    with pytest.raises(FilterError):
        codec.to_dict(what)


def test_redacted():
    """
    A redactor replaces the values it wants to, at any depth, and no others.
    """
    filter = (
        ~(field("body").contains("secret") | field("owner").eq("ana")) & field("body").missing()
    )
    got = codec.to_dict(filter, lambda leaf: "…" if leaf.name == "body" else None)

    assert {
        "and": [
            {
                "not": {
                    "or": [
                        {"field": "body", "op": "contains", "value": "…"},
                        {"field": "owner", "op": "eq", "value": "ana"},
                    ]
                }
            },
            {"field": "body", "op": "missing"},
        ]
    } == got


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (["a", 1], '["a", 1]'),
        ([], "[]"),
        ([], "{}"),
        ([], "["),
        ([], ""),
        ([], None),
        ([], 7),
        ([], b'["a"]'),
        ([], "[" * 100_000),
        ([], "[" + "9" * 5000 + "]"),
    ],
    ids=count(),
)
def test_read_array(expected, text):
    """
    A column that holds no array of JSON has no items.
    """
    assert expected == codec.read_array(text)
