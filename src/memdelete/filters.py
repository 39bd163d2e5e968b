"""
What to forget: filters as immutable values, with their meaning.

Each node carries the sentence it stands for and when that is unknown; `truth` of a memory is
decided here and nowhere else, and every engine is held against it. No I/O, no clock, no SQL may
enter: a relative or naive time waits for `resolve`. Everybody visits.
"""

from __future__ import annotations

import re

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Final, Self, TypeVar, final

from attrs import field as attribute
from attrs import frozen

from . import globs, instants
from .errors import FilterError
from .memories import UNKNOWN, Explanation, Memory, Scalar, Truth


if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "After",
    "And",
    "Before",
    "Between",
    "Compare",
    "Everything",
    "Field",
    "Filter",
    "Hash",
    "Key",
    "KeyValue",
    "NewerThan",
    "Not",
    "OlderThan",
    "Or",
    "Since",
    "Tags",
    "Untagged",
    "Until",
    "ascii_fold",
    "field",
    "leaves",
]

_T = TypeVar("_T")

KeyValue = str | int | tuple[str | int, ...]
"""The value of a table's key; a tuple where the key has several columns."""

MAX_DEPTH: Final = 64
"""How deep And, Or and Not may nest: no engine is asked to parse more."""

_BLANKS = " \t\n\v\f\r"
_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_INT64 = range(-(2**63), 2**63)


class Filter:
    """
    A condition on memories: immutable, compared by structure, combined by ``&``, ``|``, ``~``.

    A filter has no truth value of its own: ``if filter:`` and ``a and b`` raise.
    """

    __slots__ = ()

    def __and__(self, other: Filter) -> Filter:
        return _join(And, self, other)

    def __or__(self, other: Filter) -> Filter:
        return _join(Or, self, other)

    def __invert__(self) -> Filter:
        return self.part if isinstance(self, Not) else Not(self)

    def __bool__(self) -> bool:
        raise FilterError(
            "a filter is neither true nor false by itself",
            value=self,
            advice="combine filters with & | ~ (not with and, or, not), ask matches(memory)",
        )

    @property
    def resolved(self) -> bool:
        """
        Whether it is free of naive and relative times, and so ready to be asked or compiled.
        """
        raise TypeError(f"{type(self).__name__} is no complete filter")

    def resolve(self, zone: str | tzinfo | None = None, now: datetime | None = None) -> Filter:
        """
        The same filter with every naive time read in *zone* and every age counted from *now*.

        *zone* is an IANA key, *now* an aware datetime; either may be left out where nothing
        needs it. Raises `FilterError` for a time the zone skips or has twice.
        """
        if isinstance(zone, str):
            zone = instants.zone(zone)
        if now is not None:
            if not isinstance(now, datetime) or now.tzinfo is None:
                raise FilterError(f"{now!r} is no aware datetime", value=now, place="now")
            now = now.astimezone(UTC)

        return self._resolve(zone, now)

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:  # noqa: ARG002 - only times need them
        return self

    def explain(self, memory: Memory) -> Explanation:
        """
        The truth of this filter for *memory*, with the leaves that decided and both values.
        """
        raise TypeError(f"{type(self).__name__} is no complete filter")

    def truth(self, memory: Memory) -> Truth:
        """
        TRUE, FALSE or UNKNOWN of *memory*; naive and relative times must be resolved first.
        """
        return self.explain(memory).truth

    def matches(self, memory: Memory) -> bool:
        """
        Whether a delete with this filter would take *memory*: only TRUE does.
        """
        return self.truth(memory) is Truth.TRUE

    def to_dict(self) -> dict[str, object]:
        """
        The dict form, made of plain JSON values; `from_dict` reads it back to an equal filter.
        """
        from . import codec  # noqa: PLC0415 - the codec knows the filters, not the other way round

        return codec.to_dict(self)

    @staticmethod
    def from_dict(data: Mapping[str, object]) -> Filter:
        """
        Read the dict form. An unknown key is an error: dropping it would widen the filter.
        """
        from . import codec  # noqa: PLC0415

        return codec.from_dict(data)

    @staticmethod
    def from_json(text: str) -> Filter:
        """
        Read the dict form from JSON text; a repeated key is an error too.
        """
        from . import codec  # noqa: PLC0415

        return codec.from_json(text)


# --- leaves ---------------------------------------------------------------------------------


class _Leaf(Filter):
    __slots__ = ()

    @property
    def resolved(self) -> bool:
        return True

    def explain(self, memory: Memory) -> Explanation:
        wanted, got, truth = self._ask(memory)

        return Explanation(self, truth, wanted, got)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        raise TypeError(f"{type(self).__name__} is no complete leaf")


def _typed(values: Iterable[object]) -> frozenset[object]:
    # 1, 1.0 and True are equal in Python; filters on them are not.
    return frozenset((type(value), value) for value in values)


@final
@frozen(init=False, repr=False)
class Hash(_Leaf):
    """
    The content hash is one of the values. Unknown when the hash is NULL.
    """

    values: tuple[str, ...] = attribute(eq=_typed)

    def __init__(self, *values: str) -> None:
        self.__attrs_init__(_unique(_text(value, "hash") for value in _some(values, "hash")))

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        return self.values, memory.hash, _member(memory.hash, self.values)

    def __repr__(self) -> str:
        return f"Hash({_listed(self.values)})"


@final
@frozen(init=False, repr=False)
class Key(_Leaf):
    """
    The table's own key is one of the values, in *collection* where a store has several.

    Unknown when the key is NULL, and for the rows of every other collection.
    """

    values: tuple[KeyValue, ...] = attribute(eq=_typed)
    collection: str | None = None

    def __init__(self, *values: KeyValue, collection: str | None = None) -> None:
        if collection is not None:
            _text(collection, "key.collection")
        self.__attrs_init__(_unique(_key(value) for value in _some(values, "key")), collection)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        if self.collection is not None and memory.collection != self.collection:
            return self.values, UNKNOWN, Truth.UNKNOWN

        return self.values, memory.key, _member(memory.key, self.values)

    def __repr__(self) -> str:
        named = f", collection={self.collection!r}" if self.collection is not None else ""
        return f"Key({_listed(self.values)}{named})"


def _tag_set(values: tuple[str, ...]) -> frozenset[str]:
    return frozenset(values)


@final
@frozen(init=False, repr=False)
class Tags(_Leaf):
    """
    Set logic on the row's tags: some of *any*, every one of *all*, not one of *none*.

    Tags are whole: `test` never takes `testing`. Unknown when the stored value is no list of
    strings. *ignore_case* folds ASCII letters only.
    """

    any: tuple[str, ...] = attribute(eq=_tag_set)
    all: tuple[str, ...] = attribute(eq=_tag_set)
    none: tuple[str, ...] = attribute(eq=_tag_set)
    ignore_case: bool = False

    def __init__(
        self,
        *,
        any: Iterable[str] | None = None,  # noqa: A002 - the field's own words
        all: Iterable[str] | None = None,  # noqa: A002
        none: Iterable[str] | None = None,
        ignore_case: bool = False,
    ) -> None:
        if any is None and all is None and none is None:
            raise FilterError(
                "no tags were given",
                place="tags",
                advice="say any=[...], all=[...] or none=[...]; Untagged() for rows without tags",
            )
        if not isinstance(ignore_case, bool):
            raise FilterError(
                f"{ignore_case!r} is neither True nor False",
                value=ignore_case,
                place="tags.ignore_case",
            )
        self.__attrs_init__(
            _tags(any, "tags.any"), _tags(all, "tags.all"), _tags(none, "tags.none"), ignore_case
        )

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        wanted = {
            word: list(tags)
            for word, tags in (("any", self.any), ("all", self.all), ("none", self.none))
            if tags
        }
        if memory.tags is UNKNOWN:
            return wanted, UNKNOWN, Truth.UNKNOWN

        def fold(tags: Iterable[str]) -> frozenset[str]:
            return frozenset(map(ascii_fold, tags) if self.ignore_case else tags)

        has = fold(memory.tags)  # type: ignore[arg-type]  # UNKNOWN has left above
        fact = (
            (not self.any or bool(has & fold(self.any)))
            and fold(self.all) <= has
            and not (has & fold(self.none))
        )

        return wanted, sorted(has), Truth.of(fact)

    def __repr__(self) -> str:
        given = [
            f"{word}={list(tags)!r}"
            for word, tags in (("any", self.any), ("all", self.all), ("none", self.none))
            if tags
        ]
        given += ["ignore_case=True"] * self.ignore_case
        return f"Tags({', '.join(given)})"


@final
@frozen(repr=False)
class Untagged(_Leaf):
    """
    The row has no tags: NULL, empty text or an empty list. Unknown when they cannot be read.
    """

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        if memory.tags is UNKNOWN:
            return "no tags", UNKNOWN, Truth.UNKNOWN

        return "no tags", sorted(memory.tags), Truth.of(not memory.tags)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return "Untagged()"


def _moment(name: str) -> Callable[[object], instants.Moment]:
    return lambda value: instants.moment(value, name)


def _on(value: str) -> str:
    return _text(value, "on")


class _Time(_Leaf):
    """
    A comparison of one of the row's times, *on*, with one instant, *at*.

    Unknown when the time is NULL or not readable as an instant.
    """

    __slots__ = ()
    at: instants.Moment
    on: str
    _word: ClassVar[str]

    @property
    def resolved(self) -> bool:
        return _is_instant(self.at)

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Self:  # noqa: ARG002
        return type(self)(instants.at_zone(self.at, zone, self._word), self.on)  # type: ignore[call-arg]

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        stored, bound = memory.times.get(self.on, UNKNOWN), _instant(self.at, self)
        if not isinstance(stored, datetime):
            return bound, stored, Truth.UNKNOWN

        return bound, stored, Truth.of(self._holds(_instant(stored, self), bound))

    @staticmethod
    def _holds(stored: datetime, bound: datetime) -> bool:
        raise TypeError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({instants.moment_text(self.at)!r}{_named(self.on)})"


@final
@frozen(repr=False)
class Before(_Time):
    """
    The time is earlier than *at*: ``<``. Unknown when it is NULL or unreadable.
    """

    at: instants.Moment = attribute(converter=_moment("before"))
    on: str = attribute(default="created_at", converter=_on)
    _word = "before"

    @staticmethod
    def _holds(stored: datetime, bound: datetime) -> bool:
        return stored < bound


@final
@frozen(repr=False)
class After(_Time):
    """
    The time is later than *at*: ``>``. Unknown when it is NULL or unreadable.
    """

    at: instants.Moment = attribute(converter=_moment("after"))
    on: str = attribute(default="created_at", converter=_on)
    _word = "after"

    @staticmethod
    def _holds(stored: datetime, bound: datetime) -> bool:
        return stored > bound


@final
@frozen(repr=False)
class Since(_Time):
    """
    The time is *at* or later: ``>=``. Unknown when it is NULL or unreadable.
    """

    at: instants.Moment = attribute(converter=_moment("since"))
    on: str = attribute(default="created_at", converter=_on)
    _word = "since"

    @staticmethod
    def _holds(stored: datetime, bound: datetime) -> bool:
        return stored >= bound


@final
@frozen(repr=False)
class Until(_Time):
    """
    The time is *at* or earlier: ``<=``. Unknown when it is NULL or unreadable.
    """

    at: instants.Moment = attribute(converter=_moment("until"))
    on: str = attribute(default="created_at", converter=_on)
    _word = "until"

    @staticmethod
    def _holds(stored: datetime, bound: datetime) -> bool:
        return stored <= bound


@final
@frozen(repr=False)
class Between(_Leaf):
    """
    The time lies in ``[start, end)``. Unknown when it is NULL or unreadable.
    """

    start: instants.Moment = attribute(converter=_moment("between[0]"))
    end: instants.Moment = attribute(converter=_moment("between[1]"))
    on: str = attribute(default="created_at", converter=_on)

    def __attrs_post_init__(self) -> None:
        _refuse_empty_range(Since(self.start, self.on), Before(self.end, self.on), "between")

    @property
    def resolved(self) -> bool:
        return _is_instant(self.start) and _is_instant(self.end)

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Between:  # noqa: ARG002
        start = instants.at_zone(self.start, zone, "between[0]")
        return Between(start, instants.at_zone(self.end, zone, "between[1]"), self.on)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        stored = memory.times.get(self.on, UNKNOWN)
        start, end = _instant(self.start, self), _instant(self.end, self)
        if not isinstance(stored, datetime):
            return (start, end), stored, Truth.UNKNOWN

        return (start, end), stored, Truth.of(start <= _instant(stored, self) < end)

    def __repr__(self) -> str:
        start, end = map(instants.moment_text, (self.start, self.end))
        return f"Between({start!r}, {end!r}{_named(self.on)})"


class _Relative(_Leaf):
    __slots__ = ()
    age: instants.Age
    on: str
    _word: ClassVar[str]
    _becomes: ClassVar[type[Before | After]]

    @property
    def resolved(self) -> bool:
        return False

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:
        if now is None or zone is None:
            raise FilterError(
                f"{self!r} counts from a moment that was not given",
                value=self,
                place=self._word,
                advice='resolve with both, such as resolve(zone="UTC", now=...)',
            )

        return self._becomes(instants.before_now(self.age, now, zone, self._word), self.on)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:  # noqa: ARG002
        raise _unresolved(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.age)!r}{_named(self.on)})"


@final
@frozen(repr=False)
class OlderThan(_Relative):
    """
    The time is earlier than *age* before now. *Now* is taken once, when the operation starts.
    """

    age: instants.Age = attribute(converter=lambda value: instants.age(value, "older_than"))
    on: str = attribute(default="created_at", converter=_on)
    _word = "older_than"
    _becomes = Before


@final
@frozen(repr=False)
class NewerThan(_Relative):
    """
    The time is later than *age* before now. *Now* is taken once, when the operation starts.
    """

    age: instants.Age = attribute(converter=lambda value: instants.age(value, "newer_than"))
    on: str = attribute(default="created_at", converter=_on)
    _word = "newer_than"
    _becomes = After


@final
@frozen(init=False, repr=False)
class Compare(_Leaf):
    """
    A declared field compared by value, exactly; made by `field`.

    Unknown when the field is NULL, or holds a value of another class than the filter's.
    `missing` is true of NULL and never unknown, unless the collection lacks the column.
    """

    name: str
    op: str
    values: tuple[Scalar, ...] = attribute(eq=_typed)
    ignore_case: bool = False

    def __init__(
        self, name: str, op: str, values: Iterable[Scalar] = (), *, ignore_case: bool = False
    ) -> None:
        place = f"field {_text(name, 'field')}"
        if op not in _OPERATORS:
            raise FilterError(
                f"{op!r} is no operator",
                value=op,
                place=place,
                advice=f"known: {', '.join(sorted(_OPERATORS))}",
            )
        checked = tuple(_scalar(value, op, place) for value in values)
        _OPERATORS[op].check(op, checked, ignore_case, place)
        self.__attrs_init__(name, op, _unique(checked), ignore_case)

    @property
    def value(self) -> Scalar:
        """
        The one value of every operator but `isin` and `missing`.
        """
        (only,) = self.values
        return only

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        absent = object()
        stored = memory.fields.get(self.name, absent)
        if stored is absent:
            stored = memory.times.get(self.name, absent)
        wanted: object = self.values if self.op == "isin" else None
        if self.op not in {"isin", "missing"}:
            wanted = self.value
        if stored is absent:
            return wanted, UNKNOWN, Truth.UNKNOWN
        if self.op == "missing":
            return "NULL", stored, Truth.of(stored is None)
        if stored is None or _kind(stored) != _kind(self.values[0]):
            return wanted, stored, Truth.UNKNOWN
        if self.op == "glob" and "\0" in str(stored):  # engines stop reading there
            return wanted, stored, Truth.UNKNOWN

        return wanted, stored, Truth.of(_compare(self, stored))

    def __repr__(self) -> str:
        given = [repr(list(self.values))] if self.op == "isin" else list(map(repr, self.values))
        given += ["ignore_case=True"] * self.ignore_case
        return f"field({self.name!r}).{self.op}({', '.join(given)})"


@final
@frozen(repr=False)
class Everything(_Leaf):
    """
    Every row in view. The only way to say it.
    """

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:  # noqa: ARG002
        return "every row", "a row", Truth.TRUE

    def __repr__(self) -> str:
        return "Everything()"


@final
@frozen
class Field:
    """
    A declared field by name, on the way to a comparison. Text is literal unless `glob` is said.
    """

    name: str = attribute(converter=lambda value: _text(value, "field"))

    def eq(self, value: Scalar, *, ignore_case: bool = False) -> Compare:
        """
        Equal, code point by code point, whatever the column's collation.
        """
        return Compare(self.name, "eq", (value,), ignore_case=ignore_case)

    def ne(self, value: Scalar, *, ignore_case: bool = False) -> Compare:
        """
        Not equal; a NULL field is unknown and stays.
        """
        return Compare(self.name, "ne", (value,), ignore_case=ignore_case)

    def lt(self, value: Scalar) -> Compare:
        """
        Less than; text by code points.
        """
        return Compare(self.name, "lt", (value,))

    def le(self, value: Scalar) -> Compare:
        """
        Less than or equal; text by code points.
        """
        return Compare(self.name, "le", (value,))

    def gt(self, value: Scalar) -> Compare:
        """
        Greater than; text by code points.
        """
        return Compare(self.name, "gt", (value,))

    def ge(self, value: Scalar) -> Compare:
        """
        Greater than or equal; text by code points.
        """
        return Compare(self.name, "ge", (value,))

    def isin(self, values: Iterable[Scalar], *, ignore_case: bool = False) -> Compare:
        """
        Equal to one of *values*, which are all text, all numbers or all booleans.
        """
        place = f"field {self.name}"
        return Compare(self.name, "isin", _some(values, place), ignore_case=ignore_case)

    def missing(self) -> Compare:
        """
        NULL. The way to ask for it: no other comparison is ever true of NULL.
        """
        return Compare(self.name, "missing")

    def contains(self, text: str, *, ignore_case: bool = False) -> Compare:
        """
        Has *text* in it, letter by letter: ``%`` and ``_`` are letters.
        """
        return Compare(self.name, "contains", (text,), ignore_case=ignore_case)

    def startswith(self, text: str, *, ignore_case: bool = False) -> Compare:
        """
        Begins with *text*, letter by letter.
        """
        return Compare(self.name, "startswith", (text,), ignore_case=ignore_case)

    def endswith(self, text: str, *, ignore_case: bool = False) -> Compare:
        """
        Ends with *text*, letter by letter.
        """
        return Compare(self.name, "endswith", (text,), ignore_case=ignore_case)

    def glob(self, pattern: str, *, ignore_case: bool = False) -> Compare:
        """
        Matches *pattern* as a whole: ``*`` any run, ``?`` one character, ``[a-z]`` a class.
        """
        return Compare(self.name, "glob", (pattern,), ignore_case=ignore_case)


def field(name: str) -> Field:
    """
    A declared field of the store, for comparing: ``field("project").eq("x")``.
    """
    return Field(name)


# --- connectives ----------------------------------------------------------------------------


def _parts_set(parts: tuple[Filter, ...]) -> frozenset[Filter]:
    return frozenset(parts)


class _Connective(Filter):
    __slots__ = ()
    parts: tuple[Filter, ...]
    _word: ClassVar[str]
    _sign: ClassVar[str]

    @property
    def resolved(self) -> bool:
        return all(part.resolved for part in self.parts)

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Self:
        return type(self)(*(part._resolve(zone, now) for part in self.parts))  # type: ignore[call-arg]  # noqa: SLF001

    def __repr__(self) -> str:
        if len(self.parts) == 1:
            return f"{type(self).__name__}({self.parts[0]!r})"

        return f" {self._sign} ".join(_wrapped(part) for part in self.parts)


@final
@frozen(init=False, repr=False)
class And(_Connective):
    """
    Every part holds; made by ``&``. Nested Ands are one, order and repeats do not count.
    """

    parts: tuple[Filter, ...] = attribute(eq=_parts_set)
    _word = "and"
    _sign = "&"

    def __init__(self, *parts: Filter) -> None:
        self.__attrs_init__(_connect(And, parts, "and"))
        _refuse_empty_conjunction(self.parts)
        _refuse_depth(self)

    def explain(self, memory: Memory) -> Explanation:
        parts = tuple(part.explain(memory) for part in self.parts)
        return Explanation(self, Truth.all([part.truth for part in parts]), parts=parts)


@final
@frozen(init=False, repr=False)
class Or(_Connective):
    """
    Some part holds; made by ``|``. Nested Ors are one, order and repeats do not count.
    """

    parts: tuple[Filter, ...] = attribute(eq=_parts_set)
    _word = "or"
    _sign = "|"

    def __init__(self, *parts: Filter) -> None:
        self.__attrs_init__(_connect(Or, parts, "or"))
        _refuse_depth(self)

    def explain(self, memory: Memory) -> Explanation:
        parts = tuple(part.explain(memory) for part in self.parts)
        return Explanation(self, Truth.any([part.truth for part in parts]), parts=parts)


@final
@frozen(repr=False)
class Not(Filter):
    """
    The part is certainly false; made by ``~``. What is unknown stays unknown, and survives.
    """

    part: Filter = attribute(converter=lambda value: _filter(value, "not"))

    def __attrs_post_init__(self) -> None:
        _refuse_depth(self)

    @property
    def resolved(self) -> bool:
        return self.part.resolved

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:
        return Not(self.part._resolve(zone, now))  # noqa: SLF001 - a filter asks its own kind

    def explain(self, memory: Memory) -> Explanation:
        part = self.part.explain(memory)
        return Explanation(self, ~part.truth, parts=(part,))

    def __repr__(self) -> str:
        return f"~{_wrapped(self.part)}"


def leaves(filter: Filter) -> Iterator[Filter]:  # noqa: A002 - the field's own word
    """
    The leaves of *filter*, in the order they were written.
    """
    match filter:
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case _:
            yield filter


def ascii_fold(text: str) -> str:
    """
    *text* with the letters A to Z made small, and no other letter touched.
    """
    return text.translate(_FOLD)


# --- how connectives are built --------------------------------------------------------------


def _join(kind: type[And | Or], left: Filter, right: object) -> Filter:
    if not isinstance(right, Filter):
        return NotImplemented
    parts = _connect(kind, (left, right), kind._word)  # noqa: SLF001

    return parts[0] if len(parts) == 1 else kind(*parts)


def _connect(kind: type[And | Or], parts: Iterable[object], place: str) -> tuple[Filter, ...]:
    flat: dict[Filter, None] = {}
    for index, part in enumerate(parts):
        checked = _filter(part, f"{place}[{index}]")
        inner = checked.parts if isinstance(checked, kind) else (checked,)
        flat.update(dict.fromkeys(inner))
    if not flat:
        raise FilterError(
            f"an empty {place} means {'everything' if kind is And else 'nothing'} by accident",
            place=place,
            advice="give it parts; Everything() is the word for all",
        )

    return tuple(flat)


def _filter(value: object, place: str) -> Filter:
    if not isinstance(value, Filter):
        raise FilterError(f"{value!r} is no filter", value=value, place=place)

    return value


def _depth(filter: Filter) -> int:  # noqa: A002
    match filter:
        case And(parts) | Or(parts):
            return 1 + max(map(_depth, parts))
        case Not(part):
            return 1 + _depth(part)
        case _:
            return 0


def _refuse_depth(filter: Filter) -> None:  # noqa: A002
    if _depth(filter) > MAX_DEPTH:
        raise FilterError(
            f"the filter nests deeper than {MAX_DEPTH}",
            advice="flatten it: And and Or take any number of parts",
        )


def _refuse_empty_conjunction(parts: tuple[Filter, ...]) -> None:
    lows = [part for part in parts if isinstance(part, After | Since)]
    highs = [part for part in parts if isinstance(part, Before | Until)]
    for low in lows:
        for high in highs:
            if low.on == high.on:
                _refuse_empty_range(low, high, "and")


def _refuse_empty_range(low: After | Since, high: Before | Until, place: str) -> None:
    start, end = low.at, high.at
    if _is_instant(start) is not _is_instant(end):
        return  # one of them waits for its zone; asked again once it is resolved
    first, last = _clock(start), _clock(end)
    touching = isinstance(low, Since) and isinstance(high, Until)
    if last < first or (last == first and not touching):
        raise FilterError(
            f"nothing lies {low._word} {instants.moment_text(start)!r} "  # noqa: SLF001
            f"and {high._word} {instants.moment_text(end)!r}",  # noqa: SLF001
            value=(start, end),
            place=place,
            advice="an empty range is a mistake, not zero rows",
        )


def _clock(at: instants.Moment) -> datetime:
    return at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)  # noqa: DTZ001


def _is_instant(at: instants.Moment) -> bool:
    return isinstance(at, datetime) and at.tzinfo is not None


def _instant(at: date, leaf: Filter) -> datetime:
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise _unresolved(leaf)

    return at


def _unresolved(leaf: Filter) -> FilterError:
    return FilterError(
        f"{leaf!r} is not resolved",
        value=leaf,
        advice='resolve it first, such as resolve(zone="UTC", now=...)',
    )


# --- how values are checked -----------------------------------------------------------------


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise FilterError(f"{value!r} is no text", value=value, place=place)
    if not value.strip(_BLANKS):
        raise FilterError(
            f"{value!r} is blank", value=value, place=place, advice="a blank would match by accident"
        )

    return _storable(value, place)


def _storable(value: str, place: str) -> str:
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise FilterError(
            f"{value!r} has a NUL or half a surrogate pair",
            value=value,
            place=place,
            advice="no engine compares such text exactly",
        )

    return value


def _some(values: Iterable[_T], place: str) -> tuple[_T, ...]:
    if isinstance(values, str | bytes):
        raise FilterError(
            f"{values!r} is one text where a list belongs",
            value=values,
            place=place,
            advice="it would be read letter by letter; put it in brackets",
        )
    try:
        found = tuple(values)
    except TypeError:
        raise FilterError(f"{values!r} is no list", value=values, place=place) from None
    if not found:
        raise FilterError(
            "an empty list", place=place, advice="give a value, or leave the condition out"
        )

    return found


def _tags(values: Iterable[str] | None, place: str) -> tuple[str, ...]:
    if values is None:
        return ()

    return _unique(_text(value, place) for value in _some(values, place))


def _key(value: object) -> KeyValue:
    if isinstance(value, tuple):
        parts = tuple(_key(part) for part in _some(value, "key"))
        if any(isinstance(part, tuple) for part in parts):
            raise FilterError(f"{value!r} is a tuple of tuples", value=value, place="key")
        return parts  # type: ignore[return-value]
    if isinstance(value, int) and not isinstance(value, bool):
        return _integer(value, "key")

    return _text(value, "key")


def _integer(value: int, place: str) -> int:
    if value not in _INT64:
        raise FilterError(
            f"{value!r} does not fit 64 bits", value=value, place=place, advice="no column holds it"
        )

    return value


def _scalar(value: object, op: str, place: str) -> Scalar:
    match value:
        case bool():
            return value
        case int():
            return _integer(value, place)
        case float():
            if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - NaN
                raise FilterError(f"{value!r} is no number to compare with", value=value, place=place)
            return value
        case str():
            return _text(value, place) if op in _SEARCHES else _storable(value, place)
        case None:
            raise FilterError(
                "None is compared with nothing", place=place, advice=f"say {place}.missing()"
            )
        case _:
            raise FilterError(
                f"{value!r} is neither text, number nor boolean", value=value, place=place
            )


def _unique(values: Iterable[_T]) -> tuple[_T, ...]:
    return tuple({(type(value), value): value for value in values}.values())


# --- how leaves are asked -------------------------------------------------------------------


def _member(stored: object, values: tuple[object, ...]) -> Truth:
    if stored is None:
        return Truth.UNKNOWN

    return Truth.of((type(stored), stored) in _typed(values))


def _kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "number"
        case float() | Decimal():
            return "number" if value == value else "not a number"  # noqa: PLR0124 - NaN
        case str():
            return "text"
        case _:
            return type(value).__name__


@frozen
class _Operator:
    kinds: frozenset[str]
    ask: Callable[[str, str], bool] | Callable[[float, float], bool]
    folds: bool

    def check(self, op: str, values: tuple[Scalar, ...], ignore_case: object, place: str) -> None:
        expected = {"missing": 0, "isin": len(values)}.get(op, 1)
        if len(values) != expected or (op == "isin" and not values):
            raise FilterError(f"{op} takes {expected or 'no'} value", value=values, place=place)
        kinds = {_kind(value) for value in values}
        if not kinds <= self.kinds:
            raise FilterError(
                f"{op} compares {' or '.join(sorted(self.kinds))}, not {values[0]!r}",
                value=values,
                place=place,
            )
        if len(kinds) > 1:
            raise FilterError(
                f"{list(values)!r} mixes {' and '.join(sorted(kinds))}", value=values, place=place
            )
        if not isinstance(ignore_case, bool) or (
            ignore_case and not (self.folds and kinds == {"text"})
        ):
            raise FilterError(
                f"ignore_case={ignore_case!r} means nothing for {op} here",
                value=ignore_case,
                place=place,
                advice="it folds the ASCII letters of text",
            )
        if op == "glob":
            pattern = str(values[0])
            globs.read(ascii_fold(pattern) if ignore_case else pattern, place)


_TEXT = frozenset({"text"})
_ORDERED = frozenset({"text", "number"})
_ALL = frozenset({"text", "number", "boolean"})
_SEARCHES = frozenset({"contains", "startswith", "endswith", "glob"})
_OPERATORS: Final[dict[str, _Operator]] = {
    "eq": _Operator(_ALL, lambda stored, value: stored == value, folds=True),
    "ne": _Operator(_ALL, lambda stored, value: stored != value, folds=True),
    "lt": _Operator(_ORDERED, lambda stored, value: stored < value, folds=False),
    "le": _Operator(_ORDERED, lambda stored, value: stored <= value, folds=False),
    "gt": _Operator(_ORDERED, lambda stored, value: stored > value, folds=False),
    "ge": _Operator(_ORDERED, lambda stored, value: stored >= value, folds=False),
    "isin": _Operator(_ALL, lambda stored, value: stored == value, folds=True),
    "missing": _Operator(frozenset(), lambda stored, value: stored == value, folds=False),
    "contains": _Operator(_TEXT, lambda stored, value: value in stored, folds=True),
    "startswith": _Operator(_TEXT, lambda stored, value: stored.startswith(value), folds=True),
    "endswith": _Operator(_TEXT, lambda stored, value: stored.endswith(value), folds=True),
    "glob": _Operator(_TEXT, lambda stored, value: _glob_holds(stored, value), folds=True),
}


def _compare(leaf: Compare, stored: object) -> bool:
    fold = ascii_fold if leaf.ignore_case else lambda value: value
    ask = _OPERATORS[leaf.op].ask

    return any(ask(fold(stored), fold(value)) for value in leaf.values)  # type: ignore[arg-type]


def _glob_holds(stored: str, pattern: str) -> bool:
    return re.fullmatch(globs.to_regex(globs.read(pattern, "glob")), stored, re.DOTALL) is not None


# --- how filters are written ----------------------------------------------------------------


def _named(on: str) -> str:
    return "" if on == "created_at" else f", on={on!r}"


def _wrapped(filter: Filter) -> str:  # noqa: A002
    return f"({filter!r})" if isinstance(filter, _Connective) and len(filter.parts) > 1 else repr(filter)


def _listed(values: tuple[object, ...], most: int = 10) -> str:
    shown = ", ".join(map(repr, values[:most]))

    return f"{shown}, … {len(values) - most} more" if len(values) > most else shown

