"""
Where memories live, as data: collections, their columns, and what hangs on each memory.

Two halves face each other here: what a `Store` declares, and what a `LiveSchema` says is there.
Nothing connects to anything; backends fill the live half, `stores/` and users write the declared
one, and everybody above reads both.
"""

from __future__ import annotations

import re

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from attrs import Factory, field, frozen
from attrs.validators import in_

from .errors import StoreError
from .tags import JoinTable, TagStorage
from .times import TimeEncoding


__all__ = [
    "By",
    "Collection",
    "Edges",
    "End",
    "Field",
    "Flag",
    "FullText",
    "Kind",
    "Ledger",
    "LiveColumn",
    "LiveForeignKey",
    "LiveIndex",
    "LiveSchema",
    "LiveTable",
    "LiveTrigger",
    "References",
    "Rows",
    "Sidecar",
    "Store",
    "Vectors",
]

Kind: TypeAlias = Literal["text", "integer", "real", "boolean", "any"]
"""The class of a column's values; `any` where the engine leaves it to each row."""
By: TypeAlias = Literal["key", "hash"]
"""Which of a memory's own values a tie holds."""
OnSoft: TypeAlias = Literal["keep", "remove"]
"""What a soft delete does with what hangs on a memory; `remove` moves it to the bin."""

_KINDS: Final = ("text", "integer", "real", "boolean", "any")


# Named, and not `tuple` and `dict`, so that type checkers know what may be given.


def _names(value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise StoreError(
            f"{value!r} is one text where a list of names belongs",
            advice="it would be read letter by letter; put it in brackets",
        )

    return tuple(value)


def _twins(value: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(map(_names, value))


def _ends(value: Iterable[End]) -> tuple[End, ...]:
    return tuple(value)


def _encodings(value: Iterable[TimeEncoding]) -> tuple[TimeEncoding, ...]:
    return tuple(value)


def _sidecars(value: Iterable[Sidecar]) -> tuple[Sidecar, ...]:
    return tuple(value)


def _collections(value: Iterable[Collection]) -> tuple[Collection, ...]:
    return tuple(value)


def _texts(value: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(value))


def _times(value: Mapping[str, TimeEncoding]) -> Mapping[str, TimeEncoding]:
    return MappingProxyType(dict(value))


def _revived(value: Mapping[str, int | str]) -> Mapping[str, int | str]:
    return MappingProxyType(dict(value))


def _fields(value: Mapping[str, Field | str]) -> Mapping[str, Field]:
    return MappingProxyType(
        {name: Field(to) if isinstance(to, str) else to for name, to in value.items()}
    )


def _key(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _own_name(collection: Collection) -> str:
    return collection.table


# --- what is declared -----------------------------------------------------------------------


@frozen
class Field:
    """
    A column that filters may compare. Its *kind* is taken from the live schema when left out.
    """

    column: str
    kind: Kind | None = field(default=None, validator=in_((None, *_KINDS)))


@frozen
class Flag:
    """
    A tombstone without a time: *column* is *live* for live rows and *dead* for deleted ones.
    """

    column: str
    live: int | str | bool = 0
    dead: int | str | bool = 1


@frozen
class Vectors:
    """
    A vec0 table whose rowids are the memories' keys.
    """

    table: str
    on_soft: OnSoft = "remove"


@frozen
class FullText:
    """
    An FTS5 table whose rowids are the memories' rowids.

    Its content mode and the shape of the triggers that fill it are read off the live schema. A
    soft delete leaves it to those triggers.
    """

    table: str


@frozen
class End:
    """
    One end of an edge: *column* holds a memory's hash or key.

    Rows in which the column *unless* holds one of *values* have something else at this end (the
    name of an entity, say), and are not tied by it.
    """

    column: str
    by: By = "hash"
    unless: str | None = None
    values: tuple[str, ...] = ()


@frozen
class Edges:
    """
    Rows between memories; one goes when any of its ends goes, and comes back when both are there.
    """

    table: str
    ends: tuple[End, ...] = field(converter=_ends)
    on_soft: OnSoft = "remove"


@frozen
class Rows:
    """
    Rows that belong to one memory: a join table, chunks, scores.
    """

    table: str
    column: str
    by: By = "key"
    on_soft: OnSoft = "keep"

    @property
    def ends(self) -> tuple[End, ...]:
        """
        The one end, so that rows are handled as edges with nothing at the other side.
        """
        return (End(self.column, self.by),)


@frozen
class References:
    """
    A JSON array of hashes or keys in rows of another *table*, known by *key*.

    A removed memory is taken out of the array, an undo puts it back where it was; the row itself
    stays.
    """

    table: str
    key: str
    column: str
    by: By = "hash"
    on_soft: OnSoft = "keep"


@frozen
class Ledger:
    """
    An append-only event log of the product: a delete appends *deleted*, an undo *restored*.

    Each maps a column of *table* to SQL over the memory's own columns and the parameter
    ``:now`` (seconds since 1970). Rows are appended only while *active*, a condition in SQL,
    holds; *also* are updates that the product makes beside an append (a clock it keeps).
    """

    table: str
    deleted: Mapping[str, str] = field(converter=_texts)
    restored: Mapping[str, str] = field(converter=_texts)
    active: str = "TRUE"
    also: tuple[str, ...] = field(default=(), converter=_names)


Sidecar: TypeAlias = Vectors | FullText | Edges | Rows | References | Ledger


@frozen(kw_only=True, eq=False)
class Collection:
    """
    One table of memories.

    *hash* is a UNIQUE column (else it is a field), *tombstone* the encoding of the time of
    deletion (NULL for live rows) or a `Flag`; as a time it is also named ``deleted_at``. *touch*
    are further times that a soft delete sets, *content* the columns whose values no receipt may
    repeat, *twins* sets of columns in which a live row makes a restored one a double (NULL is
    equal to NULL, but in the first of them, where it has no double), *revive* what to set in a
    row whose sidecars cannot come back because the product threw them away.
    """

    table: str
    key: tuple[str, ...] = field(converter=_key)
    name: str = field(default=Factory(_own_name, takes_self=True))
    schema: str | None = None
    hash: str | None = None
    tags: TagStorage | None = None
    times: Mapping[str, TimeEncoding] = field(factory=dict, converter=_times)
    tombstone: TimeEncoding | Flag | None = None
    touch: tuple[TimeEncoding, ...] = field(default=(), converter=_encodings)
    fields: Mapping[str, Field] = field(factory=dict, converter=_fields)
    content: tuple[str, ...] = field(default=(), converter=_names)
    sidecars: tuple[Sidecar, ...] = field(default=(), converter=_sidecars)
    twins: tuple[tuple[str, ...], ...] = field(default=(), converter=_twins)
    revive: Mapping[str, int | str] = field(factory=dict, converter=_revived)

    def __attrs_post_init__(self) -> None:
        if self.tombstone and not isinstance(self.tombstone, Flag):
            times = {"deleted_at": self.tombstone, **self.times}
            object.__setattr__(self, "times", MappingProxyType(times))

    @property
    def ties(self) -> tuple[Sidecar, ...]:
        """
        The sidecars, and the rows of a tag table that nobody declared.
        """
        declared = {sidecar.table for sidecar in self.sidecars}
        match self.tags:
            case JoinTable(table, memory, _, by) if table not in declared:
                return (*self.sidecars, Rows(table, memory, "hash" if by == "hash" else "key"))
            case _:
                return self.sidecars

    @property
    def names(self) -> tuple[str, ...]:
        """
        The names that `field` and ``on=`` may say, sorted.
        """
        return tuple(sorted({*self.fields, *self.times}))

    @property
    def columns(self) -> tuple[str, ...]:
        """
        Every column of the table that this mapping speaks of, without repeats.
        """
        said = [*self.key, *self.content]
        said += [encoding.column for encoding in (*self.times.values(), *self.touch)]
        said += [declared.column for declared in self.fields.values()]
        said += [self.hash] if self.hash else []
        said += [self.tombstone.column] if self.tombstone else []
        said += [self.tags.column] if self.tags and not isinstance(self.tags, JoinTable) else []
        said += [name for names in self.twins for name in names]
        said += self.revive

        return tuple(dict.fromkeys(said))


@frozen(kw_only=True, eq=False)
class Store:
    """
    A memory store: one or more collections, under a name that receipts repeat.
    """

    name: str
    collections: tuple[Collection, ...] = field(converter=_collections)

    def __attrs_post_init__(self) -> None:
        if not self.collections:
            raise StoreError("a store without collections", place=self.name)
        tables = {collection.table for collection in self.collections}
        for collection in self.collections:
            for tie in collection.ties:
                own = isinstance(tie, References) and tie.table != collection.table
                if tie.table in tables and not (own or isinstance(tie, Ledger)):
                    raise StoreError(
                        f"{tie.table!r} is a collection, and a sidecar of {collection.name!r} too",
                        place=self.name,
                        advice="declare it as one of them",
                    )
        names = [collection.name for collection in self.collections]
        if len(set(names)) < len(names):
            raise StoreError("two collections share a name", place=self.name, candidates=names)

    def collection(self, name: str) -> Collection:
        """
        The collection called *name*; an unknown one is an error that lists those there are.
        """
        for collection in self.collections:
            if collection.name == name:
                return collection
        names = [collection.name for collection in self.collections]
        raise StoreError(
            f"no collection {name!r}",
            place=self.name,
            advice=f"there are: {', '.join(names)}",
            candidates=names,
        )


# --- what is there --------------------------------------------------------------------------


@frozen
class LiveColumn:
    """
    A column as the engine describes it; *collation* in capitals, None where it has none.
    """

    name: str
    type: str = ""
    not_null: bool = False
    default: str | None = None
    primary: int = 0
    generated: bool = False
    identity: bool = False
    collation: str | None = None


@frozen
class LiveIndex:
    """
    An index; an expression stands as None among its columns.
    """

    name: str
    columns: tuple[str | None, ...]
    unique: bool = False
    partial: bool = False
    collations: tuple[str | None, ...] = ()


@frozen
class LiveForeignKey:
    """
    A foreign key of the table that holds it, towards *parent*.
    """

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    on_delete: str = "NO ACTION"


@frozen
class LiveTrigger:
    """
    A trigger with its whole SQL text: what it does is read, not assumed.
    """

    name: str
    sql: str

    def fires_on(self, event: str) -> bool:
        """
        Whether it fires on ``insert``, ``update`` or ``delete``.
        """
        head = re.split(r"\bbegin\b", self.sql, maxsplit=1, flags=re.IGNORECASE)[0]
        found = re.search(rf"\b{event}\b(?:\s+of\s.*?)?\s+on\b", head, re.IGNORECASE | re.DOTALL)

        return found is not None

    def inserts_into(self, table: str) -> bool:
        """
        Whether its text inserts into *table*, however that is quoted.
        """
        return table.lower() in self._named(r"insert\s+(?:or\s+\w+\s+)?into")

    def deletes_from(self) -> frozenset[str]:
        """
        The tables, in small letters, that its text deletes from.
        """
        return self._named(r"delete\s+from")

    def _named(self, words: str) -> frozenset[str]:
        name = r"""(?:\w+\s*\.\s*)?("(?:[^"]|"")+"|`[^`]+`|\[[^\]]+\]|\w+)"""
        found = re.findall(rf"\b{words}\s+{name}", self.sql, re.IGNORECASE)

        return frozenset(each.strip('"`[]').replace('""', '"').lower() for each in found)


@frozen
class LiveTable:
    """
    A table, view or virtual table as it is.

    *kind* is ``table``, ``view``, ``virtual`` or ``shadow`` (the inner tables of a virtual one);
    *rowid* tells whether rows have SQLite's hidden rowid; *module* and *arguments* describe a
    virtual table.
    """

    name: str
    kind: Literal["table", "view", "virtual", "shadow"] = "table"
    schema: str | None = None
    columns: tuple[LiveColumn, ...] = ()
    rowid: bool = False
    strict: bool = False
    sql: str | None = None
    module: str | None = None
    arguments: tuple[str, ...] = ()
    indexes: tuple[LiveIndex, ...] = ()
    foreign_keys: tuple[LiveForeignKey, ...] = ()
    triggers: tuple[LiveTrigger, ...] = ()

    @property
    def options(self) -> Mapping[str, str]:
        """
        The ``word=value`` arguments of a virtual table, words in small letters, values bare.
        """
        pairs = (argument.partition("=") for argument in self.arguments if "=" in argument)

        return {word.strip().lower(): value.strip().strip("'\"`[]") for word, _, value in pairs}

    def column(self, name: str) -> LiveColumn | None:
        """
        The column called *name*, or None.
        """
        return next((column for column in self.columns if column.name == name), None)

    @property
    def primary(self) -> tuple[str, ...]:
        """
        The columns of the primary key, in its order.
        """
        keyed = sorted((column.primary, column.name) for column in self.columns if column.primary)

        return tuple(name for _, name in keyed)


@frozen(eq=False)
class LiveSchema:
    """
    What a backend found: the tables by name, and what the engine is.

    *version* is the engine's, as numbers; *ascii_case* tells whether its `lower` folds ASCII
    letters only, as ``ignore_case`` needs.
    """

    dialect: str
    tables: Mapping[str, LiveTable]
    version: tuple[int, ...] = ()
    ascii_case: bool = True

    def table(self, name: str) -> LiveTable | None:
        """
        The table called *name*, or None.
        """
        return self.tables.get(name)

    def has(self, table: str, *columns: str) -> bool:
        """
        Whether *table* is there with all of *columns*: how stores recognise their own.
        """
        found = self.tables.get(table)

        return found is not None and {*columns} <= {column.name for column in found.columns}
