"""
What a raw row says: a `Memory`, read with the store's own declarations.

The oracle's side of every comparison with an engine; no SQL, no engine. Tests visit.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..memories import UNKNOWN, Memory
from ..schema import Collection, Kind


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
    known = dict(kinds or {})
    storage, stored = collection.tags, tags
    if storage is not None and hasattr(storage, "column"):
        stored = row[storage.column]

    return Memory(
        key=None if None in key else key[0] if len(key) == 1 else tuple(key),  # type: ignore[arg-type]
        hash=row[collection.hash] if collection.hash else None,  # type: ignore[arg-type]
        tags=UNKNOWN if storage is None else storage.decode(stored),
        times={name: time.decode(row[time.column]) for name, time in collection.times.items()},
        fields={
            name: field_value(row[field.column], field.kind or known.get(name, "any"))
            for name, field in collection.fields.items()
        },
        collection=collection.name,
    )


def field_value(raw: object, kind: Kind) -> object:
    """
    The value of a field as a filter sees it: an engine without booleans stores 0 and 1.
    """
    if kind != "boolean" or raw is None or isinstance(raw, bool):
        return raw
    if isinstance(raw, int) and raw in {0, 1}:
        return raw == 1

    return UNKNOWN
