"""
What a leaf wants, in the form that engines take: lists of one class, tags, edges of time.

The compiler fills these records from a leaf's shape; the engines bind what their readers give.
No SQL may enter.
"""

from __future__ import annotations

import re

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from attrs import frozen

from memdelete.errors import StoreError
from memdelete.filters import ascii_fold
from memdelete.memories import Scalar
from memdelete.schema import Kind
from memdelete.tags import TagStorage


__all__ = [
    "LETTERS",
    "ColumnKind",
    "Edge",
    "RowsWanted",
    "Span",
    "TagsWanted",
    "ValueClass",
    "Wanted",
    "bare_type",
    "day_after",
    "day_before",
    "fraction",
    "plain",
    "to_kind",
]

ColumnKind: TypeAlias = Kind | Literal["numeric"]
"""The class of a column's values; `numeric` are exact decimals."""

ValueClass: TypeAlias = Literal["text", "integer", "number", "boolean"]
"""The class of a filter's values. A key is an `integer`, and no 1.0; a field holds a `number`."""

Edge: TypeAlias = int | Callable[[Any], int]
"""An edge of an interval of time, in microseconds since 1970: fixed, or read from the leaf."""

Span: TypeAlias = tuple[Edge, Edge]
"""A half-open interval of time, from its first instant to the one after its last."""

LETTERS: Final = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
"""What ``ignore_case`` folds, and nothing else."""

_INT64: Final = range(-(2**63), 2**63)


@frozen
class Wanted:
    """
    The values of one class that a column is compared with.

    *read* takes the leaf and gives them in the column's *kind*; *many* tells whether more than
    one is given, and *fractions* how many of them are no integers (only `plain` knows).
    """

    value_class: ValueClass
    read: Callable[[Any], Sequence[Scalar | Decimal]]
    many: bool = False
    kind: ColumnKind = "any"
    fractions: int = 0
    fold: bool = False

    def one(self, leaf: Any) -> Scalar | Decimal:
        """
        The only value.
        """
        (value,) = self.read(leaf)

        return value


@frozen
class RowsWanted:
    """
    The keys of several columns that are wanted, all with the same *classes*, column by column.
    """

    classes: tuple[ValueClass, ...]
    read: Callable[[Any], Sequence[tuple[str | int, ...]]]

    def part(self, place: int) -> Callable[[Any], list[object]]:
        """
        Takes the leaf, gives the values of one column.
        """
        return lambda leaf: [row[place] for row in self.read(leaf)]


@frozen
class TagsWanted:
    """
    The set logic of a tags leaf: which lists are given, or that there are no tags at all.
    """

    any: bool = False
    all: bool = False
    none: bool = False
    fold: bool = False

    def reader(self, word: str, storage: TagStorage) -> Callable[[Any], list[str]]:
        """
        Takes the leaf, gives the tags it lists under *word*, if the storage can hold them.
        """
        fold = self.fold

        def read(leaf: Any) -> list[str]:
            tags = [storage.holding(tag) for tag in getattr(leaf, word)]
            return list(dict.fromkeys(map(ascii_fold, tags))) if fold else tags

        return read


def to_kind(kind: ColumnKind, value: Scalar, place: str) -> Scalar | Decimal:
    """
    A number in the class of the column, or a `StoreError`: engines would round in silence.
    """
    match kind, value:
        case "integer", float() if value.is_integer() and int(value) in _INT64:
            return int(value)
        case "integer", float():
            problem = f"{value!r} is no integer of 64 bits, and the column holds integers"
        case "real", int() if not _representable(value):
            problem = f"{value!r} is no number of the column: reals do not hold it exactly"
        case "real", int():
            return float(value)
        case "numeric", int() | float():
            return Decimal(value)
        case _:
            return value

    raise StoreError(problem, place=place, advice="give a number that the column can hold")


def fraction(value: object) -> bool:
    """
    Whether it is a number that no 64-bit integer equals.
    """
    return isinstance(value, float) and not (value.is_integer() and int(value) in _INT64)


def plain(values: Sequence[Scalar | Decimal]) -> tuple[list[int | str], list[float]]:
    """
    The values that JSON text holds exactly, and the others.
    """
    exact: list[int | str] = []
    others: list[float] = []
    for value in values:
        match value:
            case float() if fraction(value):
                others.append(value)
            case str():
                exact.append(value)
            case _:
                exact.append(int(value))

    return exact, others


def day_before(micros: int) -> str:
    """
    A date before which no ISO text, whatever its offset, reads as *micros* or later.
    """
    return date.fromordinal(max(1, _ordinal(micros) - 2)).isoformat()


def day_after(micros: int) -> str:
    """
    A date from which no ISO text, whatever its offset, reads as earlier than *micros*.
    """
    ordinal = _ordinal(micros) + 2

    # No text begins with a z; letters follow digits in every collation.
    return date.fromordinal(ordinal).isoformat() if ordinal <= date.max.toordinal() else "zzzz"


def bare_type(declared: str) -> str:
    """
    A column's type in small letters, without its sizes.
    """
    return " ".join(re.sub(r"\([^)]*\)", " ", declared).lower().split()).replace(" []", "[]")


def _ordinal(micros: int) -> int:
    return date(1970, 1, 1).toordinal() + micros // 86_400_000_000


def _representable(value: int) -> bool:
    return int(float(value)) == value
