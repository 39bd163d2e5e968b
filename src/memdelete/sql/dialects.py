"""
What an engine must be able to say, as one frozen record per engine.

Each word says one kind of condition *certainly*: its expression is TRUE of exactly the rows of
which the condition is known to hold, and FALSE or NULL of all others. A further engine is one
more file and one more line here; no other room asks which engine it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from attrs import frozen

from memdelete.errors import Unsupported
from memdelete.tags import JoinTable, TagStorage
from memdelete.times import TimeEncoding

from . import duckdb, postgres, postgres_tags, sqlite, sqlite_tags, sqlite_times
from .phrases import Site
from .render import Expression
from .values import ColumnKind, RowsWanted, Span, TagsWanted, Wanted


__all__ = ["Dialect", "dialect"]


class _Compared(Protocol):
    def __call__(self, site: Site, name: str, wanted: Wanted) -> Expression: ...


class _Ordered(Protocol):
    def __call__(self, site: Site, name: str, sign: str, wanted: Wanted) -> Expression: ...


class _RowsCompared(Protocol):
    def __call__(self, site: Site, names: Sequence[str], wanted: RowsWanted) -> Expression: ...


class _Searched(Protocol):
    def __call__(
        self, site: Site, name: str, op: str, wanted: Wanted, *, holds: bool
    ) -> Expression: ...


class _Tagged(Protocol):
    def __call__(
        self, site: Site, storage: TagStorage, wanted: TagsWanted, *, holds: bool
    ) -> Expression: ...


class _Within(Protocol):
    def __call__(self, site: Site, encoding: TimeEncoding, span: Span) -> Expression: ...


@frozen
class Dialect:
    """
    An engine's own words.

    - *kind*: the class of a column's values, by its declared type;
    - *static*: whether every value of a column has that class;
    - *among*, *outside*: the stored value has the wanted class and is, or is not, in the list;
    - *rows_among*: the key of several columns is in the list;
    - *ordered*: the stored value has the wanted class and compares so;
    - *searched*: the stored text contains, begins, ends or matches so, or certainly does not;
    - *tagged*: the tags can be read and the set logic holds, or certainly does not;
    - *within*: the stored time can be read and lies in ``[start, end)``, in microseconds;
    - *tag_image*: the tags that lie in a table of their own, as one text.
    """

    name: str
    static: bool
    kind: Callable[[str], ColumnKind]
    among: _Compared
    outside: _Compared
    rows_among: _RowsCompared
    ordered: _Ordered
    searched: _Searched
    tagged: _Tagged
    within: _Within
    tag_image: Callable[[Site, JoinTable], Expression]


SQLITE: Final = Dialect(
    "sqlite",
    static=False,
    kind=sqlite.kind,
    among=sqlite.among,
    outside=sqlite.outside,
    rows_among=sqlite.rows_among,
    ordered=sqlite.ordered,
    searched=sqlite.searched,
    tagged=sqlite_tags.tagged,
    within=sqlite_times.within,
    tag_image=sqlite_tags.tag_image,
)
POSTGRES: Final = Dialect(
    "postgres",
    static=True,
    kind=postgres.kind,
    among=postgres.among,
    outside=postgres.outside,
    rows_among=postgres.rows_among,
    ordered=postgres.ordered,
    searched=postgres.searched,
    tagged=postgres_tags.tagged,
    within=postgres.within,
    tag_image=postgres_tags.tag_image,
)
DUCKDB: Final = Dialect(
    "duckdb",
    static=True,
    kind=duckdb.kind,
    among=duckdb.among,
    outside=duckdb.outside,
    rows_among=duckdb.rows_among,
    ordered=duckdb.ordered,
    searched=duckdb.searched,
    tagged=duckdb.tagged,
    within=duckdb.within,
    tag_image=duckdb.tag_image,
)

_ALL: Final = {each.name: each for each in (SQLITE, POSTGRES, DUCKDB)}


def dialect(name: str) -> Dialect:
    """
    The words of the engine called *name*.
    """
    found = _ALL.get(name)
    if found is None:
        raise Unsupported("anything", name, advice=f"known dialects: {', '.join(sorted(_ALL))}")

    return found
