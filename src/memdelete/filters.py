"""
What to forget: filters as immutable values, with their meaning.

Each node carries the sentence it stands for and when that is unknown; `truth` of a memory is
decided here and nowhere else, and every engine is held against it. No I/O, no clock, no SQL may
enter: a relative or naive time waits for `resolve`. Everybody visits.
"""

# ruff: noqa: SLF001 - filters ask their own kind

from __future__ import annotations

import operator

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, TypeAlias, TypeVar, final

from attrs.exceptions import FrozenInstanceError

from . import globs, instants
from .errors import FilterError, shown
from .memories import UNKNOWN, Explanation, Memory, Scalar, Truth, Unknown


__all__ = [
    "MAX_DEPTH",
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

KeyValue: TypeAlias = str | int | tuple[str | int, ...]
"""The value of a table's key; a tuple where the key has several columns."""

MAX_DEPTH: Final = 64
"""How deep And, Or and Not may nest: no engine is asked to parse more."""

_BLANKS: Final = " \t\n\v\f\r"
_FOLD: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_INT64: Final = range(-(2**63), 2**63)
_SHORT: Final = 10  # so many parts or values are written out where people read


class Filter:
    """
    A condition on memories: immutable, compared by structure, combined by ``&``, ``|``, ``~``.

    A filter has no truth value of its own: ``if filter:`` and ``a and b`` raise. The kinds are
    closed, since whoever compiles or writes a filter must know them all.
    """

    # attrs would build each kind with generated code, which is half the price of importing us.
    __slots__ = ("__weakref__", "_hashed", "_same")
    _same: object
    _hashed: int

    def __init__(self) -> None:
        raise FilterError(
            f"{type(self).__name__} is no filter by itself",
            place="filter",
            advice="build a Hash, Key, Tags, Before, … or Everything()",
        )

    def __init_subclass__(cls) -> None:
        if cls.__module__ != __name__:
            raise TypeError(f"{cls.__name__}: the kinds of filters are closed; combine them")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Filter) or type(self) is not type(other):
            return NotImplemented

        return self is other or self._same == other._same

    def __hash__(self) -> int:
        try:
            return self._hashed
        except AttributeError:
            same = self._same
            found = hash((type(self), frozenset(same) if isinstance(same, dict) else same))
            self._fix(_hashed=found)
            return found

    def __reduce__(self) -> tuple[object, ...]:
        return Filter.from_dict, (self.to_dict(),)

    def __copy__(self) -> Filter:
        return self

    def __deepcopy__(self, memo: object) -> Filter:
        return self

    def __and__(self, other: Filter) -> Filter:
        return _join(And, self, other)

    def __or__(self, other: Filter) -> Filter:
        return _join(Or, self, other)

    def __rand__(self, other: object) -> NoReturn:
        raise _no_filter(other, "&")

    def __ror__(self, other: object) -> NoReturn:
        raise _no_filter(other, "|")

    def __invert__(self) -> Filter:
        return self.part if isinstance(self, Not) else Not(self)

    def __bool__(self) -> NoReturn:
        raise FilterError(
            "a filter is neither true nor false by itself",
            value=self,
            place=str(self),
            advice="combine filters with & | ~ (not with and, or, not), ask matches(memory)",
        )

    def __contains__(self, item: object) -> NoReturn:
        raise FilterError(
            f"a filter has no members, so {shown(item)} is not in it",
            value=self,
            place=str(self),
            advice="ask matches(memory)",
        )

    def __lt__(self, other: object) -> NoReturn:
        raise FilterError(
            "filters have no order",
            value=self,
            place=str(self),
            advice="sort by another key, such as str; two times make a Between",
        )

    __le__ = __gt__ = __ge__ = __lt__

    @property
    def resolved(self) -> bool:
        """
        Whether it is free of naive and relative times, and so ready to be asked or compiled.
        """
        return True

    def resolve(self, zone: str | tzinfo | None = None, now: datetime | None = None) -> Filter:
        """
        The same filter with every naive time read in *zone* and every age counted from *now*.

        *zone* is an IANA key, *now* an aware datetime; either may be left out where nothing
        needs it. Raises `FilterError` for a time the zone skips or has twice.
        """
        if zone is not None:
            zone = instants.zone(zone)
        if now is not None:
            now = instants.instant(now, "now")

        return self._resolve(zone, now)

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:
        return self

    def explain(self, memory: Memory) -> Explanation:
        """
        The truth of this filter for *memory*, with the leaves that decided and both values.
        """
        raise NotImplementedError

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

    def __repr__(self) -> str:
        return self._written(None)

    def __str__(self) -> str:
        return self._written(_SHORT)

    def _written(self, most: int | None) -> str:
        # As Python, whole without *most*; with it, no list is longer than that.
        raise NotImplementedError

    def _fix(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


# --- leaves ---------------------------------------------------------------------------------


class _Leaf(Filter):
    __slots__ = ()

    def explain(self, memory: Memory) -> Explanation:
        if not isinstance(memory, Memory):
            raise FilterError(
                f"{shown(memory)} is no memory",
                value=memory,
                place="memory",
                advice="a filter is asked about a memdelete.Memory",
            )
        wanted, got, truth = self._ask(memory)

        return Explanation(self, truth, wanted, got)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        raise NotImplementedError


@final
class Hash(_Leaf):
    """
    The content hash is one of the values. Unknown when the hash is NULL.
    """

    __slots__ = ("_values", "values")
    __match_args__ = ("values",)
    values: tuple[str, ...]
    _values: frozenset[str]

    def __init__(self, *values: str) -> None:
        found = dict.fromkeys(_text(value, "hash") for value in _some(values, "hash"))
        one_of = frozenset(found)
        self._fix(values=tuple(found), _values=one_of, _same=one_of)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        return self.values, memory.hash, _member(memory.hash, self._values)

    def _written(self, most: int | None) -> str:
        return f"Hash({_listed(self.values, most)})"


@final
class Key(_Leaf):
    """
    The table's own key is one of the values, in *collection* where a store has several.

    Unknown when the key is NULL, and for the rows of every other collection.
    """

    __slots__ = ("_values", "collection", "values")
    __match_args__ = ("values", "collection")
    values: tuple[KeyValue, ...]
    collection: str | None
    _values: frozenset[KeyValue]

    def __init__(self, *values: KeyValue, collection: str | None = None) -> None:
        if collection is not None:
            collection = _text(collection, "key.collection")
        found = dict.fromkeys(_key(value) for value in _some(values, "key"))
        one_of = frozenset(found)
        self._fix(
            values=tuple(found), collection=collection, _values=one_of, _same=(one_of, collection)
        )

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        if self.collection is not None and memory.collection != self.collection:
            return self.values, UNKNOWN, Truth.UNKNOWN

        return self.values, memory.key, _member(memory.key, self._values)

    def _written(self, most: int | None) -> str:
        named = f", collection={self.collection!r}" if self.collection is not None else ""

        return f"Key({_listed(self.values, most)}{named})"


@final
class Tags(_Leaf):
    """
    Set logic on the row's tags: some of *any*, every one of *all*, not one of *none*.

    Tags are whole: `test` never takes `testing`. Unknown when the stored value is no list of
    strings. *ignore_case* folds ASCII letters only.
    """

    __slots__ = ("all", "any", "ignore_case", "none")
    __match_args__ = ("any", "all", "none", "ignore_case")
    any: tuple[str, ...]
    all: tuple[str, ...]
    none: tuple[str, ...]
    ignore_case: bool

    def __init__(
        self,
        *,
        any: Iterable[str] | None = None,
        all: Iterable[str] | None = None,
        none: Iterable[str] | None = None,
        ignore_case: bool = False,
    ) -> None:
        if any is None and all is None and none is None:
            raise FilterError(
                "no tags were given",
                place="tags",
                advice="say any=[...], all=[...] or none=[...]; Untagged() for rows without tags",
            )
        lists = [
            _tags(values, f"tags.{word}")
            for word, values in (("any", any), ("all", all), ("none", none))
        ]
        self._fix(
            any=lists[0],
            all=lists[1],
            none=lists[2],
            ignore_case=_flag(ignore_case, "tags.ignore_case"),
            _same=(*map(frozenset, lists), ignore_case),
        )

    @property
    def _given(self) -> list[tuple[str, tuple[str, ...]]]:
        words = (("any", self.any), ("all", self.all), ("none", self.none))

        return [(word, tags) for word, tags in words if tags]

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        wanted = {word: list(tags) for word, tags in self._given}
        if isinstance(memory.tags, Unknown):
            return wanted, UNKNOWN, Truth.UNKNOWN

        def fold(tags: Iterable[str]) -> frozenset[str]:
            return frozenset(map(ascii_fold, tags) if self.ignore_case else tags)

        has = fold(memory.tags)
        fact = (
            (not self.any or not has.isdisjoint(fold(self.any)))
            and has.issuperset(fold(self.all))
            and has.isdisjoint(fold(self.none))
        )

        return wanted, sorted(has), Truth.of(fact)

    def _written(self, most: int | None) -> str:
        given = [f"{word}=[{_listed(tags, most)}]" for word, tags in self._given]
        given += ["ignore_case=True"] * self.ignore_case

        return f"Tags({', '.join(given)})"


@final
class Untagged(_Leaf):
    """
    The row has no tags: NULL, empty text or an empty list. Unknown when they cannot be read.
    """

    __slots__ = ()

    def __init__(self) -> None:
        self._fix(_same=())

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        if isinstance(memory.tags, Unknown):
            return "no tags", UNKNOWN, Truth.UNKNOWN

        return "no tags", sorted(memory.tags), Truth.of(not memory.tags)

    def _written(self, most: int | None) -> str:
        return "Untagged()"


class _Time(_Leaf):
    # A comparison of one of the row's times, *on*, with one instant, *at*.
    __slots__ = ("at", "on")
    __match_args__ = ("at", "on")
    at: instants.Moment
    on: str
    _word: ClassVar[str]
    _holds: ClassVar[Callable[[datetime, datetime], bool]]

    def __init__(self, at: str | instants.Moment, on: str = "created_at") -> None:
        at = instants.moment(at, self._word)
        on = _text(on, "on")
        self._fix(at=at, on=on, _same=(at, on))

    @property
    def resolved(self) -> bool:
        return _is_instant(self.at)

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:
        if self.resolved:
            return self

        return type(self)(instants.at_zone(self.at, zone, self._word), self.on)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        bound = _instant(self.at, self)
        stored = _stored_time(memory, self.on)
        if not isinstance(stored, datetime):
            return bound, stored, Truth.UNKNOWN

        return bound, stored, Truth.of(type(self)._holds(stored, bound))

    def _written(self, most: int | None) -> str:
        return f"{type(self).__name__}({instants.moment_text(self.at)!r}{_named(self.on)})"


@final
class Before(_Time):
    """
    The time is earlier than *at*: ``<``. Unknown when it is NULL or unreadable.
    """

    __slots__ = ()
    _word = "before"
    _holds = operator.lt


@final
class After(_Time):
    """
    The time is later than *at*: ``>``. Unknown when it is NULL or unreadable.
    """

    __slots__ = ()
    _word = "after"
    _holds = operator.gt


@final
class Since(_Time):
    """
    The time is *at* or later: ``>=``. Unknown when it is NULL or unreadable.
    """

    __slots__ = ()
    _word = "since"
    _holds = operator.ge


@final
class Until(_Time):
    """
    The time is *at* or earlier: ``<=``. Unknown when it is NULL or unreadable.
    """

    __slots__ = ()
    _word = "until"
    _holds = operator.le


@final
class Between(_Leaf):
    """
    The time lies in ``[start, end)``. Unknown when it is NULL or unreadable.
    """

    __slots__ = ("end", "on", "start")
    __match_args__ = ("start", "end", "on")
    start: instants.Moment
    end: instants.Moment
    on: str

    def __init__(
        self, start: str | instants.Moment, end: str | instants.Moment, on: str = "created_at"
    ) -> None:
        start = instants.moment(start, "between[0]")
        end = instants.moment(end, "between[1]")
        on = _text(on, "on")
        self._fix(start=start, end=end, on=on, _same=(start, end, on))
        _narrowed({}, self, "between")

    @property
    def resolved(self) -> bool:
        return _is_instant(self.start) and _is_instant(self.end)

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:
        if self.resolved:
            return self
        start = instants.at_zone(self.start, zone, "between[0]")

        return Between(start, instants.at_zone(self.end, zone, "between[1]"), self.on)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        start, end = _instant(self.start, self), _instant(self.end, self)
        stored = _stored_time(memory, self.on)
        if not isinstance(stored, datetime):
            return (start, end), stored, Truth.UNKNOWN

        return (start, end), stored, Truth.of(start <= stored < end)

    def _written(self, most: int | None) -> str:
        start, end = map(instants.moment_text, (self.start, self.end))

        return f"Between({start!r}, {end!r}{_named(self.on)})"


class _Relative(_Leaf):
    # A comparison of one of the row's times, *on*, with the instant that lies *age* before now.
    __slots__ = ("age", "on")
    __match_args__ = ("age", "on")
    age: instants.Age
    on: str
    _word: ClassVar[str]
    _becomes: ClassVar[type[Before | After]]

    def __init__(self, age: instants.AgeLike, on: str = "created_at") -> None:
        age = instants.age(age, self._word)
        on = _text(on, "on")
        self._fix(age=age, on=on, _same=(age, on))

    @property
    def resolved(self) -> bool:
        return False

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:
        if now is None or zone is None:
            raise FilterError(
                f"{self} counts from a moment that was not given",
                value=self,
                place=self._word,
                advice='resolve with both, such as resolve(zone="UTC", now=...)',
            )

        return self._becomes(instants.before_now(self.age, now, zone, self._word), self.on)

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        raise _unresolved(self)

    def _written(self, most: int | None) -> str:
        return f"{type(self).__name__}({str(self.age)!r}{_named(self.on)})"


@final
class OlderThan(_Relative):
    """
    The time is earlier than *age* before now. *Now* is taken once, when the operation starts.
    """

    __slots__ = ()
    _word = "older_than"
    _becomes = Before


@final
class NewerThan(_Relative):
    """
    The time is later than *age* before now. *Now* is taken once, when the operation starts.
    """

    __slots__ = ()
    _word = "newer_than"
    _becomes = After


@final
class Compare(_Leaf):
    """
    A declared field compared by value, exactly; made by `field`.

    Unknown when the field is NULL, or holds a value of another class than the filter's.
    `missing` is true of NULL and never unknown, unless the collection lacks the column.
    """

    __slots__ = ("_pool", "ignore_case", "name", "op", "values")
    __match_args__ = ("name", "op", "values", "ignore_case")
    name: str
    op: str
    values: tuple[Scalar, ...]
    ignore_case: bool
    _pool: frozenset[Scalar]

    def __init__(
        self, name: str, op: str, values: Iterable[Scalar] = (), *, ignore_case: bool = False
    ) -> None:
        name = _text(name, "field")
        place = f"field {name}"
        if not isinstance(op, str) or op not in _OPERATORS:
            raise FilterError(
                f"{shown(op)} is no operator",
                value=op,
                place=place,
                advice=f"known: {', '.join(sorted(_OPERATORS))}",
            )
        checked = tuple(_scalar(value, op, place) for value in _listable(values, place))
        _check_operands(op, checked, place)
        if _flag(ignore_case, f"{place}.ignore_case"):
            _check_folding(op, checked, place)
        if op == "glob":
            globs.read(str(checked[0]), place)
        # 1, 1.0 and True are equal in Python; filters on them are not.
        typed = {(type(value), value): value for value in checked}
        found = tuple(typed.values())
        self._fix(
            name=name,
            op=op,
            values=found,
            ignore_case=ignore_case,
            _pool=frozenset(map(_folded, found) if ignore_case else found),
            _same=(name, op, frozenset(typed), ignore_case),
        )

    @property
    def value(self) -> Scalar:
        """
        The one value of every operator but `isin` and `missing`.
        """
        (only,) = self.values
        return only

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        wanted: object = "NULL"
        if self.op != "missing":
            wanted = self.values if self.op == "isin" else self.value
        stored = memory.fields.get(self.name, _LACKING)
        if stored is _LACKING:
            stored = memory.times.get(self.name, _LACKING)
        if stored is _LACKING:
            return wanted, UNKNOWN, Truth.UNKNOWN
        if self.op == "missing":
            return wanted, stored, Truth.of(stored is None)
        if stored is None or _kind(stored) != _kind(self.values[0]):
            return wanted, stored, Truth.UNKNOWN
        if self.op == "glob" and "\0" in str(stored):  # engines stop reading there
            return wanted, stored, Truth.UNKNOWN
        held = _folded(stored) if self.ignore_case else stored
        if self.op == "isin":
            return wanted, stored, Truth.of(held in self._pool)
        (bound,) = self._pool

        return wanted, stored, Truth.of(_OPERATORS[self.op].ask(held, bound))

    def _written(self, most: int | None) -> str:
        listed = _listed(self.values, most)
        given = [f"[{listed}]" if self.op == "isin" else listed] * bool(self.values)
        given += ["ignore_case=True"] * self.ignore_case

        return f"field({self.name!r}).{self.op}({', '.join(given)})"


@final
class Everything(_Leaf):
    """
    Every row in view. The only way to say it.
    """

    __slots__ = ()

    def __init__(self) -> None:
        self._fix(_same=())

    def _ask(self, memory: Memory) -> tuple[object, object, Truth]:
        return "every row", "a row", Truth.TRUE

    def _written(self, most: int | None) -> str:
        return "Everything()"


@final
class Field:
    """
    A declared field by name, on the way to a comparison. Text is literal unless `glob` is said.
    """

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", _text(name, "field"))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError

    def __reduce__(self) -> tuple[object, ...]:
        return Field, (self.name,)

    def __eq__(self, other: object) -> NoReturn:
        raise FilterError(
            f"{self!r} and {shown(other)} are not compared by signs",
            value=other,
            place=f"field {self.name}",
            advice=f"say {self!r}.eq(…), .ne .lt .le .gt .ge .isin or .missing()",
        )

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"field({self.name!r})"

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
        return Compare(self.name, "isin", values, ignore_case=ignore_case)

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


class _Connective(Filter):
    # `_set` holds the parts as the keys of a dict, in the order they were written: copying one
    # asks no part for its hash, so that a loop of `&` over thousands of parts stays quick.
    __slots__ = ("_set", "_window", "depth", "parts")
    __match_args__ = ("parts",)
    parts: tuple[Filter, ...]
    depth: int
    _set: dict[Filter, None]
    _window: _Window
    _word: ClassVar[str]
    _sign: ClassVar[str]

    def __init__(self, *parts: Filter) -> None:
        word, kind = self._word, type(self)
        found: dict[Filter, None] = {}
        window: _Window = {}
        depth = 0
        for index, part in enumerate(parts):
            if not isinstance(part, Filter):
                raise _no_filter(part, f"{word}[{index}]")
            if isinstance(part, kind):
                found.update(part._set)
                depth = max(depth, part.depth)
            else:
                found[part] = None
                depth = max(depth, 1 + _depth(part))
            if kind is And:
                window = _narrowed(window, part, word)
        if not found:
            raise FilterError(
                f"an empty {word} means {'everything' if kind is And else 'nothing'} by accident",
                place=word,
                advice="give it parts; Everything() is the word for all",
            )
        _refuse_depth(depth, word)
        self._fix(parts=tuple(found), depth=depth, _same=found, _set=found, _window=window)

    @property
    def resolved(self) -> bool:
        return all(part.resolved for part in self.parts)

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:
        if self.resolved:
            return self

        return type(self)(*[part._resolve(zone, now) for part in self.parts])

    def _written(self, most: int | None) -> str:
        cut = most or _SHORT  # Python reads a long chain of signs no better than people do
        if 1 < len(self.parts) <= cut:
            return f" {self._sign} ".join(_wrapped(part, most) for part in self.parts)
        shown = [part._written(most) for part in self.parts[:most]]
        left = len(self.parts) - len(shown)

        return f"{type(self).__name__}({', '.join(shown)}{f', … {left} more' if left else ''})"


@final
class And(_Connective):
    """
    Every part holds; made by ``&``. Nested Ands are one, order and repeats do not count.
    """

    __slots__ = ()
    _word = "and"
    _sign = "&"

    def explain(self, memory: Memory) -> Explanation:
        parts = tuple([part.explain(memory) for part in self.parts])

        return Explanation(self, Truth.all([part.truth for part in parts]), parts=parts)


@final
class Or(_Connective):
    """
    Some part holds; made by ``|``. Nested Ors are one, order and repeats do not count.
    """

    __slots__ = ()
    _word = "or"
    _sign = "|"

    def explain(self, memory: Memory) -> Explanation:
        parts = tuple([part.explain(memory) for part in self.parts])

        return Explanation(self, Truth.any([part.truth for part in parts]), parts=parts)


@final
class Not(Filter):
    """
    The part is certainly false; made by ``~``. What is unknown stays unknown, and survives.
    """

    __slots__ = ("depth", "part")
    __match_args__ = ("part",)
    part: Filter
    depth: int

    def __init__(self, part: Filter) -> None:
        if not isinstance(part, Filter):
            raise _no_filter(part, "not")
        depth = 1 + _depth(part)
        _refuse_depth(depth, "not")
        self._fix(part=part, depth=depth, _same=part)

    @property
    def resolved(self) -> bool:
        return self.part.resolved

    def _resolve(self, zone: tzinfo | None, now: datetime | None) -> Filter:
        return self if self.resolved else Not(self.part._resolve(zone, now))

    def explain(self, memory: Memory) -> Explanation:
        part = self.part.explain(memory)

        return Explanation(self, ~part.truth, parts=(part,))

    def _written(self, most: int | None) -> str:
        if isinstance(self.part, Not):  # `~~x` would be x again
            return f"Not({self.part._written(most)})"

        return f"~{_wrapped(self.part, most)}"


def leaves(filter: Filter) -> Iterator[Filter]:
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
        raise _no_filter(right, kind._sign)
    joined = kind(left, right)

    first, *others = joined.parts

    return joined if others else first


def _no_filter(value: object, place: str) -> FilterError:
    advice = "give a Hash, Key, Tags, Before, … or what & | ~ make of them"
    if isinstance(value, Field):
        advice = f"compare it first, such as {value!r}.eq(…)"

    return FilterError(f"{shown(value)} is no filter", value=value, place=place, advice=advice)


def _depth(filter: Filter) -> int:
    return filter.depth if isinstance(filter, And | Or | Not) else 0


def _refuse_depth(depth: int, place: str) -> None:
    if depth > MAX_DEPTH:
        raise FilterError(
            f"the filter nests deeper than {MAX_DEPTH}",
            value=depth,
            place=place,
            advice="flatten it: And and Or take any number of parts",
        )


_Window: TypeAlias = "dict[tuple[str, bool], tuple[After | Since | None, Before | Until | None]]"
"""The narrowest bounds that a conjunction sets: by the name of the time, and whether they are
instants, or wait for a zone and so are compared among themselves by the clock."""


def _narrowed(window: _Window, part: Filter, place: str) -> _Window:
    bounds: Iterable[After | Since | Before | Until | None]
    match part:
        case After() | Since() | Before() | Until():
            bounds = (part,)
        case Between(start, end, on):
            bounds = (Since(start, on), Before(end, on))
        case And():
            if not window:
                return part._window
            bounds = (bound for pair in part._window.values() for bound in pair)
        case _:
            return window
    narrow = dict(window)
    for bound in bounds:
        if bound is None:
            continue
        where = (bound.on, _is_instant(bound.at))
        low, high = narrow.get(where, (None, None))
        if isinstance(bound, After | Since):
            low = bound if low is None else max(low, bound, key=_lower)
        else:
            high = bound if high is None else min(high, bound, key=_upper)
        if low is not None and high is not None:
            _refuse_empty_range(low, high, place)
        narrow[where] = (low, high)

    return narrow


def _lower(bound: After | Since) -> tuple[datetime, bool]:
    return _clock(bound.at), isinstance(bound, After)


def _upper(bound: Before | Until) -> tuple[datetime, bool]:
    return _clock(bound.at), isinstance(bound, Until)


def _refuse_empty_range(low: After | Since, high: Before | Until, place: str) -> None:
    first, last = _clock(low.at), _clock(high.at)
    touching = isinstance(low, Since) and isinstance(high, Until)
    if last < first or (last == first and not touching):
        raise FilterError(
            f"nothing lies {low._word} {instants.moment_text(low.at)!r} "
            f"and {high._word} {instants.moment_text(high.at)!r}",
            value=(low.at, high.at),
            place=place,
            advice="an empty range is a mistake, not zero rows",
        )


def _clock(at: instants.Moment) -> datetime:
    return at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)  # noqa: DTZ001


def _is_instant(at: instants.Moment) -> bool:
    return isinstance(at, datetime) and at.tzinfo is not None


def _instant(at: instants.Moment, leaf: Filter) -> datetime:
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise _unresolved(leaf)

    return at


def _unresolved(leaf: Filter) -> FilterError:
    return FilterError(
        f"{leaf} is not resolved",
        value=leaf,
        place=str(leaf),
        advice='resolve it first, such as resolve(zone="UTC", now=...)',
    )


# --- how values are checked -----------------------------------------------------------------


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        advice = "give a str"
        if isinstance(value, list | tuple | set | frozenset) and place in {"hash", "key"}:
            advice = f"give each value by itself: {place.title()}(*values)"
        raise FilterError(f"{shown(value)} is no text", value=value, place=place, advice=advice)
    if not value.strip(_BLANKS):
        raise FilterError(
            f"{shown(value)} is blank",
            value=value,
            place=place,
            advice="a blank would match by accident",
        )

    return _storable(value, place)


def _storable(value: str, place: str) -> str:
    whole = "\0" not in value
    try:
        value.encode()
    except UnicodeEncodeError:
        whole = False
    if not whole:
        raise FilterError(
            f"{shown(value)} has a NUL or half a surrogate pair",
            value=value,
            place=place,
            advice="no engine compares such text exactly",
        )

    # An enum's member or another subclass writes, equals and hashes as it likes.
    return value if type(value) is str else str.__str__(value)


def _listable(values: Iterable[_T], place: str) -> tuple[_T, ...]:
    if isinstance(values, str | bytes | bytearray | Mapping):
        raise FilterError(
            f"{shown(values)} stands where a list belongs",
            value=values,
            place=place,
            advice="a text would be read letter by letter; put it in brackets",
        )
    try:
        return tuple(values)
    except TypeError:
        raise FilterError(
            f"{shown(values)} is no list", value=values, place=place, advice="say [...]"
        ) from None


def _some(values: Iterable[_T], place: str) -> tuple[_T, ...]:
    found = _listable(values, place)
    if not found:
        raise FilterError(
            "an empty list", place=place, advice="give a value, or leave the condition out"
        )

    return found


def _tags(values: Iterable[str] | None, place: str) -> tuple[str, ...]:
    if values is None:
        return ()

    return tuple(dict.fromkeys(_text(value, place) for value in _some(values, place)))


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise FilterError(
            f"{shown(value)} is neither True nor False",
            value=value,
            place=place,
            advice="say True or False",
        )

    return value


def _key(value: object) -> KeyValue:
    if not isinstance(value, tuple):
        return _key_part(value)

    return tuple(_key_part(part) for part in _some(value, "key"))


def _key_part(value: object) -> str | int:
    match value:
        case str():
            return _text(value, "key")
        case int() if not isinstance(value, bool):
            return _integer(value, "key")
        case _:
            raise FilterError(
                f"{shown(value)} is neither text nor integer",
                value=value,
                place="key",
                advice="give what the key's column holds: Key(*values), a tuple for several columns",
            )


def _integer(value: int, place: str) -> int:
    number = int.__int__(value)
    if number not in _INT64:
        raise FilterError(
            f"{shown(value)} does not fit 64 bits",
            value=value,
            place=place,
            advice="no column holds it",
        )

    return number


def _scalar(value: object, op: str, place: str) -> Scalar:
    match value:
        case bool():
            return value
        case int():
            return _integer(value, place)
        case float():
            number = float.__float__(value)
            if number - number != 0:  # an infinity or NaN
                raise FilterError(
                    f"{number!r} is no number to compare with",
                    value=value,
                    place=place,
                    advice="give a finite number",
                )
            return number
        case str():
            return _text(value, place) if op in _SEARCHES else _storable(value, place)
        case None:
            raise FilterError(
                "None is compared with nothing",
                place=place,
                advice=f"say field({place.removeprefix('field ')!r}).missing()",
            )
        case _:
            raise FilterError(
                f"{shown(value)} is neither text, number nor boolean",
                value=value,
                place=place,
                advice="give a str, int, float or bool; times are compared by Before, After, …",
            )


# --- how leaves are asked -------------------------------------------------------------------

_LACKING: Final = object()


def _member(stored: object, values: frozenset[Any]) -> Truth:
    if stored is None:
        return Truth.UNKNOWN
    parts = stored if isinstance(stored, tuple) else (stored,)
    # 1.0 and True would be found where 1 is.
    exact = all(isinstance(part, str | int) and not isinstance(part, bool) for part in parts)

    return Truth.of(exact and stored in values)


def _stored_time(memory: Memory, on: str) -> object:
    stored = memory.times.get(on, UNKNOWN)

    return (
        instants.instant(stored, f"memory.times {on}") if isinstance(stored, datetime) else stored
    )


def _kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "number"
        case float():
            return "not a number" if value != value else "number"  # noqa: PLR0124 - NaN
        case Decimal():
            return "not a number" if value.is_nan() else "number"
        case str():
            return "text"
        case _:
            return type(value).__name__


def _folded(value: object) -> str:
    return ascii_fold(str(value))


class _Operator(NamedTuple):
    kinds: frozenset[str]
    # Asked with a stored value and a wanted one, both of one of the kinds.
    ask: Callable[[Any, Any], bool]
    folds: bool


def _globbed(stored: str, pattern: str) -> bool:
    return globs.matches(globs.read(pattern, "glob"), stored)


_TEXT: Final = frozenset({"text"})
_ORDERED: Final = frozenset({"text", "number"})
_ALL: Final = frozenset({"text", "number", "boolean"})
_SEARCHES: Final = frozenset({"contains", "startswith", "endswith", "glob"})
_OPERATORS: Final = {
    "eq": _Operator(_ALL, operator.eq, folds=True),
    "ne": _Operator(_ALL, operator.ne, folds=True),
    "lt": _Operator(_ORDERED, operator.lt, folds=False),
    "le": _Operator(_ORDERED, operator.le, folds=False),
    "gt": _Operator(_ORDERED, operator.gt, folds=False),
    "ge": _Operator(_ORDERED, operator.ge, folds=False),
    "isin": _Operator(_ALL, operator.eq, folds=True),
    "missing": _Operator(frozenset(), operator.is_, folds=False),
    "contains": _Operator(_TEXT, operator.contains, folds=True),
    "startswith": _Operator(_TEXT, str.startswith, folds=True),
    "endswith": _Operator(_TEXT, str.endswith, folds=True),
    "glob": _Operator(_TEXT, _globbed, folds=True),
}


def _check_operands(op: str, values: tuple[Scalar, ...], place: str) -> None:
    takes = {"missing": "no value", "isin": "a list of values"}.get(op, "one value")
    fits = {"missing": not values, "isin": bool(values)}.get(op, len(values) == 1)
    if not fits:
        raise FilterError(
            f"{op} takes {takes}, and {len(values)} were given",
            value=values,
            place=place,
            advice="say isin for several values, missing for NULL",
        )
    kinds = {_kind(value) for value in values}
    known = _OPERATORS[op].kinds
    if not kinds <= known:
        raise FilterError(
            f"{op} compares {' or '.join(sorted(known))}, not {shown(values[0])}",
            value=values,
            place=place,
            advice="give a value of such a class",
        )
    if len(kinds) > 1:
        raise FilterError(
            f"{shown(list(values))} mixes {' and '.join(sorted(kinds))}",
            value=values,
            place=place,
            advice="a column holds one of them; for both, combine two filters with |",
        )


def _check_folding(op: str, values: tuple[Scalar, ...], place: str) -> None:
    if not _OPERATORS[op].folds or not values or not isinstance(values[0], str):
        raise FilterError(
            f"ignore_case=True means nothing for {op} here",
            value=True,
            place=place,
            advice="it folds the ASCII letters of text",
        )
    if op == "glob" and not all(map(_folds_whole, globs.read(values[0], place))):
        raise FilterError(
            f"folding the letters of {shown(values[0])} would change what lies in a range",
            value=values[0],
            place=place,
            advice="a range that has capitals begins and ends with one: [A-Z]",
        )


def _folds_whole(token: globs.Token) -> bool:
    # `[9-Z]` folded as text is `[9-z]`, which has `^` in it.
    return not isinstance(token, globs.CharacterClass) or all(
        high < "A" or low > "Z" or "A" <= low <= high <= "Z" for low, high in token.ranges
    )


# --- how filters are written ----------------------------------------------------------------


def _named(on: str) -> str:
    return "" if on == "created_at" else f", on={on!r}"


def _wrapped(filter: Filter, most: int | None) -> str:
    several = isinstance(filter, And | Or) and 1 < len(filter.parts) <= (most or _SHORT)
    text = filter._written(most)

    return f"({text})" if several else text


def _listed(values: tuple[object, ...], most: int | None) -> str:
    text = ", ".join(map(repr, values[:most]))
    left = 0 if most is None else len(values) - most

    return f"{text}, … {left} more" if left > 0 else text
