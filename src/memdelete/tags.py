"""
How stores hold tags: one frozen record per storage, with its reading in Python.

A storage reads what a row holds as a set of strings, or finds it unreadable; the dialects say
the same in SQL. No SQL may enter. Stores and compilers visit.
"""

from __future__ import annotations

import json
import re

from collections.abc import Iterable

from attrs import field, frozen

from .errors import StoreError, shown
from .memories import UNKNOWN, Unknown


__all__ = [
    "BLANKS",
    "CommaText",
    "JSONArray",
    "JoinTable",
    "NativeArray",
    "TagNames",
    "TagStorage",
]

BLANKS = " \t\n\v\f\r"
"""The ASCII blanks that comma text may hold around a tag."""


_HALF = re.compile("[\ud800-\udfff]")


def _separator(_: object, __: object, value: object) -> None:
    one = value if isinstance(value, str) and len(value) == 1 else " "
    if one.isalnum() or one in " \0" or _HALF.search(one):
        raise StoreError(
            f"{shown(value)} cannot separate tags",
            place="CommaText",
            advice="give one character that is no letter, digit or blank",
        )


@frozen
class CommaText:
    """
    Tags joined by *separator* in one text column, with or without blanks around each.

    NULL and empty text are no tags; an empty piece is no tag.
    """

    column: str
    separator: str = field(default=",", validator=_separator)

    def decode(self, raw: object) -> frozenset[str] | Unknown:
        """
        The tags of a stored value, or `UNKNOWN` where it is no text.
        """
        if raw is None:
            return frozenset()
        if not isinstance(raw, str) or "\0" in raw:
            return UNKNOWN
        pieces = (piece.strip(BLANKS) for piece in raw.split(self.separator))

        return frozenset(piece for piece in pieces if piece)

    def encode(self, tags: Iterable[str]) -> str:
        """
        What a store would write for *tags*; a tag it cannot hold is a `StoreError`.
        """
        return self.separator.join(self.holding(tag) for tag in tags)

    def holding(self, tag: str) -> str:
        """
        *tag* itself, if this storage can hold it; else a `StoreError`.
        """
        if self.separator in tag or tag != tag.strip(BLANKS) or not tag:
            raise StoreError(
                f"the tag {tag!r} cannot be held in text separated by {self.separator!r}",
                place=self.column,
                advice="no row of this store can have it: check the tag",
            )

        return tag


@frozen
class JSONArray:
    """
    Tags as a JSON array of strings, in a text or JSON column.

    NULL, empty text and ``[]`` are no tags; anything else that is no array of strings is
    unreadable.
    """

    column: str

    def decode(self, raw: object) -> frozenset[str] | Unknown:
        """
        The tags of a stored value (text, or the list a driver made of it), or `UNKNOWN`.
        """
        if raw is None or raw == "":
            return frozenset()
        if isinstance(raw, str):
            # Engines cut a string at an escaped NUL, so a text that has one is not read at all.
            if "\\u0000" in raw or "\0" in raw:
                return UNKNOWN
            try:
                raw = json.loads(raw, parse_constant=_no_constant)
            except (ValueError, RecursionError):
                return UNKNOWN

        tags = _strings(raw)

        # Half a surrogate pair can be escaped in JSON, but is no text for an engine.
        return UNKNOWN if tags is not UNKNOWN and any(map(_HALF.search, tags)) else tags

    def encode(self, tags: Iterable[str]) -> str:
        """
        What a store would write for *tags*.
        """
        return json.dumps(list(tags), ensure_ascii=False)

    def holding(self, tag: str) -> str:
        """
        *tag* itself: JSON holds every tag.
        """
        return tag


@frozen
class NativeArray:
    """
    Tags as the engine's own array or list of text. NULL and the empty array are no tags.
    """

    column: str

    def decode(self, raw: object) -> frozenset[str] | Unknown:
        """
        The tags of a stored list, or `UNKNOWN` where an element is no text.
        """
        return frozenset() if raw is None else _strings(raw)

    def encode(self, tags: Iterable[str]) -> list[str]:
        """
        What a driver writes for *tags*.
        """
        return list(tags)

    def holding(self, tag: str) -> str:
        """
        *tag* itself: an array holds every tag.
        """
        return tag


@frozen
class TagNames:
    """
    The table that names the tags, where a join table holds only their keys.
    """

    table: str
    key: str
    name: str


@frozen
class JoinTable:
    """
    Tags in rows of their own: *table* with the memory in *memory* and the tag in *tag*.

    *memory* holds the collection's key, or its hash with ``by="hash"``. With *names*, *tag*
    holds the key of a row that names the tag. A NULL tag makes the row's tags unreadable.
    """

    table: str
    memory: str
    tag: str
    by: str = "key"
    names: TagNames | None = None

    def decode(self, raw: object) -> frozenset[str] | Unknown:
        """
        The tags of the list of tag values that belong to one memory, or `UNKNOWN`.
        """
        return frozenset() if raw is None else _strings(raw)

    def encode(self, tags: Iterable[str]) -> list[str]:
        """
        The tag values of the rows to write.
        """
        return list(tags)

    def holding(self, tag: str) -> str:
        """
        *tag* itself: a row holds every tag.
        """
        return tag


TagStorage = CommaText | JSONArray | NativeArray | JoinTable


def _strings(raw: object) -> frozenset[str] | Unknown:
    if not isinstance(raw, list | tuple) or not all(isinstance(tag, str) for tag in raw):
        return UNKNOWN

    return frozenset(raw)


def _no_constant(name: str) -> object:
    raise ValueError(name)
