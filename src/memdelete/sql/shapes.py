"""
What of a filter decides its SQL: the shape, without the values.

Two filters of one shape share a text and differ only in what is bound. Nothing is compiled here;
the compiler asks once per filter, so this is written to be quick.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeAlias

from memdelete.errors import FilterError
from memdelete.filters import (
    After,
    And,
    Before,
    Between,
    Compare,
    Everything,
    Filter,
    Hash,
    Key,
    KeyValue,
    Not,
    Or,
    Since,
    Tags,
    Untagged,
    Until,
)

from .values import ValueClass, fraction


__all__ = ["Pattern", "Shape", "pattern", "shape", "value_class"]

Shape: TypeAlias = tuple[object, ...]
"""Compares equal exactly where the same SQL serves."""

Pattern: TypeAlias = ValueClass | tuple[ValueClass, ...]
"""The class of a key, or of each part of it."""


def shape(filter: Filter, leaves: list[Filter]) -> Shape:
    """
    The shape of a resolved *filter*; its *leaves* are appended in the order of the text.
    """
    kind = type(filter)
    if kind is And or kind is Or:
        return (kind, *[shape(part, leaves) for part in filter.parts])  # type: ignore[attr-defined]
    if kind is Not:
        return (Not, shape(filter.part, leaves))  # type: ignore[attr-defined]
    reader = _LEAVES.get(kind)
    if reader is None:
        raise FilterError(
            f"{filter!r} is not resolved"
            if isinstance(filter, Filter)
            else f"{filter!r} is no filter",
            value=filter,
            advice='resolve it first, such as resolve(zone="UTC", now=...)',
        )
    leaves.append(filter)

    return reader(filter)


def pattern(key: KeyValue) -> Pattern:
    """
    The class of *key*.
    """
    if isinstance(key, tuple):
        parts: list[ValueClass] = [_key_class(part) for part in key]
        return tuple(parts)

    return _key_class(key)


def value_class(value: object) -> ValueClass:
    """
    The class of a field's value.
    """
    match value:
        case bool():
            return "boolean"
        case str():
            return "text"
        case _:
            return "number"


def _key_class(part: str | int) -> ValueClass:
    return "text" if isinstance(part, str) else "integer"


def _key(leaf: Key) -> Shape:
    found: dict[Pattern, int] = {}
    for value in leaf.values:
        kind = pattern(value)
        found[kind] = found.get(kind, 0) + 1

    return (Key, leaf.collection, *[(kind, many > 1) for kind, many in found.items()])


def _tags(leaf: Tags) -> Shape:
    return (Tags, bool(leaf.any), bool(leaf.all), bool(leaf.none), leaf.ignore_case)


def _time(leaf: Before | After | Since | Until) -> Shape:
    _refuse_open(leaf, leaf.at)

    return (type(leaf), leaf.on)


def _between(leaf: Between) -> Shape:
    _refuse_open(leaf, leaf.start)
    _refuse_open(leaf, leaf.end)

    return (Between, leaf.on)


def _compare(leaf: Compare) -> Shape:
    values = leaf.values
    if not values:
        return (Compare, leaf.name, leaf.op)
    fractions = sum(map(fraction, values)) if len(values) > 1 else 0

    return (
        Compare,
        leaf.name,
        leaf.op,
        value_class(next(iter(values))),
        len(values) > 1,
        fractions,
        leaf.ignore_case,
    )


def _refuse_open(leaf: Filter, at: object) -> None:
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise FilterError(
            f"{leaf!r} is not resolved",
            value=leaf,
            advice='resolve it first, such as resolve(zone="UTC", now=...)',
        )


_LEAVES: Final[dict[type, Callable[[Any], Shape]]] = {
    Hash: lambda leaf: (Hash, len(leaf.values) > 1),
    Key: _key,
    Tags: _tags,
    Untagged: lambda _: (Untagged,),
    Before: _time,
    After: _time,
    Since: _time,
    Until: _time,
    Between: _between,
    Compare: _compare,
    Everything: lambda _: (Everything,),
}
