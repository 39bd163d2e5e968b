"""
What an engine must be able to say, as one frozen record per engine.

Each function says one kind of condition *positively*: its expression is TRUE of exactly the rows
of which the condition is certain, and anything else (FALSE or NULL) of all others. A further
engine is one more file and one more line here; no other file asks which engine it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, Protocol

from attrs import frozen

from memdelete.errors import StoreError
from memdelete.schema import Kind
from memdelete.tags import TagStorage
from memdelete.times import TimeEncoding

from . import duckdb, postgres, sqlite
from .phrases import Site
from .render import Expression
from .values import Wanted


__all__ = ["Dialect", "dialect"]

Order = Literal["lt", "le", "gt", "ge"]
Search = Literal["contains", "startswith", "endswith", "glob"]


@frozen
class Dialect:
    """
    An engine's own words.

    - *kind*: the class of a column's values, by its declared type;
    - *among* / *outside*: the stored value has the wanted class and is (is not) in the list;
    - *rows_among*: the key of several columns is in the list;
    - *ordered*: the stored value has the wanted class and compares so;
    - *searched*: the stored text contains, begins, ends or matches so (or certainly does not);
    - *tagged*: the tags can be read and the set logic holds (or certainly does not);
    - *within*: the stored time can be read and lies in ``[start, end)``, in microseconds;
    - *tag_image*: the tags that lie in another table, as one text.
    """

    name: str
    kind: Callable[[str], str]
    among: Callable[[Site, str, Wanted], Expression]
    outside: Callable[[Site, str, Wanted], Expression]
