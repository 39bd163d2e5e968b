"""
One memory as a filter sees it, and the three truths.

Plain values without I/O: what a row says (`Memory`), what a filter can say of it (`Truth`), and
why (`Explanation`). Filters come to visit; so does whoever wants to ask a filter about a memory
without any database.
"""

from __future__ import annotations

import enum

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from attrs import Factory, field, frozen

from .errors import FilterError, shown


if TYPE_CHECKING:
    from .filters import Filter

__all__ = ["UNKNOWN", "Explanation", "Memory", "Scalar", "Truth", "Unknown"]

Scalar: TypeAlias = str | int | float | bool
"""A value a field can be compared with."""


class Truth(enum.Enum):
    """
    Kleene's three values. Only `TRUE` deletes.
    """

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError(f"{self} has three values, not two; compare it: truth is Truth.TRUE")

    def __invert__(self) -> Truth:
        match self:
            case Truth.TRUE:
                return Truth.FALSE
            case Truth.FALSE:
                return Truth.TRUE
            case Truth.UNKNOWN:
                return Truth.UNKNOWN

    @classmethod
    def of(cls, fact: bool) -> Truth:  # noqa: FBT001 - the one place where two values become three
        """
        `TRUE` or `FALSE`.
        """
        return cls.TRUE if fact else cls.FALSE

    @classmethod
    def all(cls, truths: Collection[Truth]) -> Truth:
        """
        Conjunction: the least of them, where false < unknown < true.
        """
        if cls.FALSE in truths:
            return cls.FALSE

        return cls.UNKNOWN if cls.UNKNOWN in truths else cls.TRUE

    @classmethod
    def any(cls, truths: Collection[Truth]) -> Truth:
        """
        Disjunction: the greatest of them.
        """
        if cls.TRUE in truths:
            return cls.TRUE

        return cls.UNKNOWN if cls.UNKNOWN in truths else cls.FALSE


class Unknown(enum.Enum):
    """
    The type of `UNKNOWN`.
    """

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final[Literal[Unknown.UNKNOWN]] = Unknown.UNKNOWN
"""A stored value that is there but cannot be read as what it should be (tags that are no list of
strings, a time that is no time). NULL is None; a column that the collection lacks is left out."""


def _tags(value: Collection[str] | Unknown | None) -> Collection[str] | Unknown:
    if value is None:
        return ()
    if isinstance(value, Unknown):
        return value
    if (
        isinstance(value, str | bytes | Mapping)
        or not isinstance(value, Collection)
        or not all(isinstance(tag, str) for tag in value)
    ):
        raise FilterError(
            f"{shown(value)} is no list of tags",
            value=value,
            place="memory.tags",
            advice="give a list of str, or UNKNOWN where the stored value is none",
        )

    return value


@frozen(kw_only=True)
class Memory:
    """
    What one row says, decoded: the oracle's view of it.

    You would want it to test a filter without a database. `tags` is empty for a row without
    tags and `UNKNOWN` where they cannot be read or the collection has no tags column. In
    `times` and `fields`, None is NULL; a name that is left out is a column the collection lacks.
    """

    key: str | int | tuple[str | int, ...] | None = None
    hash: str | None = None
    tags: Collection[str] | Unknown = field(default=(), converter=_tags)
    times: Mapping[str, datetime | Unknown | None] = Factory(dict)
    fields: Mapping[str, object] = Factory(dict)
    collection: str | None = None


@frozen
class Explanation:
    """
    Why a filter is true, false or unknown of a memory.

    A leaf carries what it *wanted* and what it *got*; a connective carries its parts.
    `deciding` are the leaves that made the outcome.
    """

    filter: Filter
    truth: Truth
    wanted: object = None
    got: object = None
    parts: tuple[Explanation, ...] = ()

    @property
    def deciding(self) -> tuple[Explanation, ...]:
        """
        The leaves that decided: those whose own truth carried up to the whole.
        """
        if not self.parts:
            return (self,)
        if len(self.parts) == 1:
            return self.parts[0].deciding

        # A leaf that stands in several parts is told once.
        found = {
            leaf.filter: leaf
            for part in self.parts
            if part.truth is self.truth
            for leaf in part.deciding
        }

        return tuple(found.values())

    def __str__(self) -> str:
        lines = [f"{self.filter} is {self.truth.value}"]
        lines += [
            f"  because {leaf.filter} is {leaf.truth.value}: "
            f"wanted {shown(leaf.wanted)}, got {shown(leaf.got)}"
            for leaf in self.deciding
        ]

        return "\n".join(lines)
