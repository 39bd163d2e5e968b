"""
The products memdelete knows, each as data in one file: how to recognise it and what it holds.

A product is recognised by its live schema, never by a version number, since files in the wild are
older and younger than any sample. Exactly one must match. A store of your own is written just
as these are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from memdelete.errors import StoreError
from memdelete.schema import LiveSchema, Store

from . import ariel, demo, engram, mcp_memory_service


__all__ = ["KNOWN", "Recogniser", "recognise"]

Recogniser = Callable[[LiveSchema], Store | None]
"""Reads a live schema: the product's store in the variant that is there, or None."""

KNOWN: Final[Mapping[str, Recogniser]] = MappingProxyType(
    {
        ariel.NAME: ariel.recognise,
        demo.NAME: demo.recognise,
        engram.NAME: engram.recognise,
        mcp_memory_service.NAME: mcp_memory_service.recognise,
    }
)
"""Every product by name."""


def recognise(live: LiveSchema) -> Store:
    """
    The one store that is there; none or several is an error that lists the candidates.
    """
    found = {name: store for name, read in KNOWN.items() if (store := read(live)) is not None}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise StoreError(
            f"more than one known product fits: {', '.join(found)}",
            advice="say which by store=…",
            candidates=tuple(found),
        )
    tables = sorted(name for name, table in live.tables.items() if table.kind != "shadow")
    raise StoreError(
        f"no known memory store (known: {', '.join(KNOWN)}); "
        f"its tables: {', '.join(tables) or 'none'}",
        advice="describe it with store=Store(…)",
        candidates=tuple(KNOWN),
    )
