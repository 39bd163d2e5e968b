"""
From a tree to the text a driver takes, by way of a guard.

Trees are built with neutral placeholders (`parameter`), rendered, parsed back and compared
before the driver's own style is written; what does not read back as it was meant is never sent.
Compilers and statements visit; nothing here knows a filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import Factory, frozen


__all__ = ["Paramstyle", "Result", "Statement"]

Paramstyle = Literal["qmark", "named", "format", "pyformat", "numeric_dollar", "dollar"]
"""How a driver marks parameters: ``?``, ``:a``, ``%s``, ``%(a)s``, ``$1``, ``$a``."""


@frozen
class Statement:
    """
    One statement as a driver takes it; *params* is a mapping or a sequence, as its style wants.
    """

    sql: str
    params: Mapping[str, object] | Sequence[object] = Factory(dict)


@frozen
class Result:
    """
    What came back: *rows*, and how many rows the statement itself *changed* (triggers aside).
    """

    rows: Sequence[tuple[object, ...]] = ()
    changed: int = 0
