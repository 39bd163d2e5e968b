"""
What a raw row says: a `Memory`, read with the store's own declarations.

The oracle's side of every comparison with an engine; no SQL, no engine. Tests visit.
"""

from __future__ import annotations

from collections.abc import Mapping

from memdelete.memories import UNKNOWN, Memory, Unknown
from memdelete.schema import Collection, Kind
from memdelete.tags import JoinTable, TagStorage


__all__ = ["decoded", "field_value"]


def decoded(
    collection: Collection,
    row: Mapping[str, object],
    *,
    tags: object = None,
    kinds: Mapping[str, Kind] | None = None,
) -> Memory:
    """
    The memory in a *row* of raw values by column.

    *tags* is the list of tags where they lie in a table of their own; *kinds* are the kinds of
    fields that are not declared. A key with a NULL in any of its columns is unknown.
    """
    key = [row[name] for name in collection.key]
    known: Mapping[str, Kind] = kinds or {}

    return Memory(
        key=None if None in key else key[0] if len(key) == 1 else tuple(key),  # type: ignore[arg-type]
        hash=row[collection.hash] if collection.hash else None,  # type: ignore[arg-type]
        tags=_tags(collection.tags, row, tags),
        times={name: time.decode(row[time.column]) for name, time in collection.times.items()},
        fields={
            name: field_value(row[field.column], field.kind or known.get(name, "any"))
            for name, field in collection.fields.items()
        },
        collection=collection.name,
    )


def _tags(
    storage: TagStorage | None, row: Mapping[str, object], own: object
) -> frozenset[str] | Unknown:
    match storage:
        case None:
            return UNKNOWN
        case JoinTable():
            return storage.decode(own)
        case _:
            return storage.decode(row[storage.column])


def field_value(raw: object, kind: Kind) -> object:
    """
    The value of a field as a filter sees it: an engine without booleans stores 0 and 1.
    """
    if kind != "boolean" or raw is None or isinstance(raw, bool):
        return raw
    if isinstance(raw, int) and raw in {0, 1}:
        return raw == 1

    return UNKNOWN
