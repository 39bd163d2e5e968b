"""
What an operation may ask of a store.

The questions speak of collections, targets and sidecars, never of SQL or cursors, so that a store
without SQL can answer them too. Each is a frozen value whose type parameter is its answer.
Operations ask them, backends answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, Literal, TypeVar
from weakref import WeakKeyDictionary

import attrs

from attrs import frozen

from .filters import Filter, KeyValue
from .receipts import Entry, Include, Reason
from .schema import (
    Collection,
    Edges,
    Ledger,
    LiveSchema,
    LiveTable,
    References,
    Rows,
    Sidecar,
    Vectors,
)
from .tags import JoinTable, JSONArray
from .times import EpochMicros


__all__ = [
    "BIN",
    "MARK",
    "META",
    "Append",
    "ArchiveRows",
    "ArchiveTie",
    "Begin",
    "Clear",
    "Commit",
    "Count",
    "CountImages",
    "CountTie",
    "CountTies",
    "CountView",
    "CreateTables",
    "Discard",
    "DiscardTie",
    "Find",
    "Found",
    "Listed",
    "Look",
    "Lookup",
    "Mark",
    "Now",
    "PutBackRows",
    "PutBackTie",
    "Question",
    "Recall",
    "Record",
    "Referring",
    "Refuse",
    "RemoveRows",
    "RemoveTie",
    "Revive",
    "Rewritten",
    "Rollback",
    "Said",
    "Sample",
    "Secret",
    "Selection",
    "Site",
    "Stage",
    "StageBin",
    "Staged",
    "Still",
    "Targets",
    "Tell",
    "Unlike",
    "tie_bin",
]

Answer_co = TypeVar("Answer_co", covariant=True)

MARK = "memdelete_"
"""What the names of memdelete's own tables and columns begin with."""
META = "memdelete_meta"
"""The table of what memdelete knows of itself in this store."""
BIN = "memdelete_bin_"
"""What the name of a bin begins with."""


class Question(Generic[Answer_co]):
    """
    Something to ask of a store; the type parameter is what comes back.
    """

    __slots__ = ()


# --- what questions speak of ----------------------------------------------------------------


@frozen(eq=False)
class Site:
    """
    A collection as it was found: its mapping beside the live schema.

    *number* keeps its staging apart from the other collections'.
    """

    collection: Collection
    schema: LiveSchema
    number: int = 0

    @property
    def table(self) -> LiveTable:
        """
        The live table; that it is there was checked when the site was made.
        """
        return self.schema.tables[self.collection.table]

    @property
    def bin(self) -> str:
        """
        The name of the bin beside the table.
        """
        return f"{BIN}{self.collection.table}"

    @property
    def has_bin(self) -> bool:
        """
        Whether the bin is there already.
        """
        return self.schema.table(self.bin) is not None

    @property
    def binned(self) -> Collection:
        """
        The same mapping over the bin, where every row was deleted at ``deleted_at``.
        """
        found = _binned.get(self.collection)
        if found is None:  # kept, since what is compiled is kept by collection
            found = _binned[self.collection] = self._over_bin()

        return found

    def _over_bin(self) -> Collection:
        tags = self.collection.tags
        if isinstance(tags, JoinTable):
            tags = JSONArray("memdelete_tags")  # each image has its own, as they were
        times = {**self.collection.times, "deleted_at": EpochMicros("memdelete_at")}

        return attrs.evolve(
            self.collection,
            table=self.bin,
            name=self.collection.name,
            tags=tags,
            times=times,
            tombstone=None,
            sidecars=(),
        )


_binned: WeakKeyDictionary[Collection, Collection] = WeakKeyDictionary()


@frozen(eq=False)
class Selection:
    """
    Which rows: those in view of which *filter* and *scope* are TRUE and *protect* is FALSE.

    With *binned*, the rows of the bin instead of the table's. *outcome* asks for the rows of
    which the filter is something else than TRUE.
    """

    site: Site
    filter: Filter
    include: Include = "live"
    scope: Filter | None = None
    protect: Filter | None = None
    binned: bool = False
    outcome: Literal["true", "false"] = "true"


@frozen(eq=False)
class Staged:
    """
    The rows that were staged for *site*.
    """

    site: Site


Targets = Selection | Staged


@frozen
class Found:
    """
    One row that was found: its key, its hash, and the columns that were asked for.
    """

    key: KeyValue
    hash: str | None
    image: tuple[object, ...] = ()


@frozen
class Tell:
    """
    One row that cannot be restored, by key, and why.
    """

    key: KeyValue
    reason: Reason
    detail: str = ""


def tie_bin(sidecar: Sidecar) -> str:
    """
    The name of a sidecar's bin; each array of references has one of its own.
    """
    if isinstance(sidecar, References):
        return f"{BIN}{sidecar.table}__{sidecar.column}"

    return f"{BIN}{sidecar.table}"


# --- time and transactions ------------------------------------------------------------------


@frozen
class Begin(Question[bool]):
    """
    Open a transaction; False when it is a savepoint within the caller's own.
    """

    write: bool


@frozen
class Commit(Question[None]):
    """
    Make it last (or give the savepoint back to the caller's transaction).
    """


@frozen
class Rollback(Question[None]):
    """
    Undo all since `Begin`; harmless where nothing is open.
    """


@frozen
class Now(Question[datetime]):
    """
    The backend's clock, in UTC; asked once per operation.
    """


# --- what is there --------------------------------------------------------------------------


@frozen
class Look(Question[LiveSchema]):
    """
    The live schema, as it is now.
    """


@frozen(eq=False)
class Count(Question[int]):
    """
    How many rows are selected.
    """

    selection: Selection


@frozen(eq=False)
class CountView(Question[int]):
    """
    How many rows are in view at all, within the scope.
    """

    selection: Selection


@frozen(eq=False)
class Find(Question[Sequence[Found]]):
    """
    The targets, in the order of their keys, each with what the *selection* reads of it.
    """

    targets: Targets
    selection: Selection


@frozen(eq=False)
class Listed(Question[Sequence[Found]]):
    """
    The rows that are staged for *site*, in the order of their keys.
    """

    site: Site


@frozen(eq=False)
class Said(Question[str]):
    """
    The selection as the backend would say it, for people to read.
    """

    selection: Selection


@frozen(eq=False)
class Lookup(Question[Sequence[tuple[KeyValue, bool]]]):
    """
    Which of the *values* of a key (or, with *hashes*, of a hash) are there, and which are live.

    Within the selection's scope only: what lies outside of it does not exist. Of a selection on
    the bin, nothing is live.
    """

    selection: Selection
    values: tuple[KeyValue, ...]
    hashes: bool


@frozen(eq=False)
class Sample(Question[Sequence[Mapping[str, object]]]):
    """
    A few of the selected rows, for people to look at: key, hash, tags, a time, some content.
    """

    selection: Selection
    size: int = 5


@frozen(eq=False)
class CountTie(Question[int]):
    """
    How many rows of *sidecar* hang on the targets.
    """

    targets: Targets
    sidecar: Sidecar


@frozen(eq=False)
class CountTies(Question[int]):
    """
    How many rows of one table hang on any of the targets, by any of the sidecars over it.
    """

    pairs: tuple[tuple[Targets, Edges | Rows], ...]


@frozen(eq=False)
class CountImages(Question[int]):
    """
    How many images the bin holds of rows with the targets' keys.
    """

    targets: Targets


@frozen(eq=False)
class Clear(Question[None]):
    """
    Forget what was staged for *sites*.
    """

    sites: tuple[Site, ...]


@frozen(eq=False)
class Referring(Question[int]):
    """
    How many rows of *child* refer to the targets by the foreign key *columns* → *parent_columns*.
    """

    targets: Targets
    child: str
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]


# --- going ----------------------------------------------------------------------------------


@frozen(eq=False)
class CreateTables(Question[Sequence[str]]):
    """
    Make what is missing of the journal and, with *bins*, the bins of *sites*; answers how.

    With *dry_run* nothing is made.
    """

    sites: tuple[Site, ...]
    bins: bool = True
    dry_run: bool = False


@frozen(eq=False)
class Stage(Question[int]):
    """
    Remember the selected rows for the rest of the transaction; answers how many.

    With *imageless*, only rows of which the bin holds no image.
    """

    selection: Selection
    imageless: bool = False


@frozen(eq=False)
class ArchiveRows(Question[int]):
    """
    Copy the targets' rows to the bin, under *operation*, as deleted *at*.
    """

    targets: Targets
    operation: str
    at: datetime


@frozen(eq=False)
class ArchiveTie(Question[int]):
    """
    Copy what hangs on the targets in *sidecar* to its bin.
    """

    targets: Targets
    sidecar: Sidecar
    operation: str
    at: datetime


@frozen(eq=False)
class RemoveTie(Question[int]):
    """
    Remove what hangs on the targets in *sidecar*.
    """

    targets: Targets
    sidecar: Sidecar


@frozen(eq=False)
class Mark(Question[int]):
    """
    Set the targets' tombstone, and the times a soft delete touches, to *at*.
    """

    targets: Targets
    at: datetime


@frozen(eq=False)
class RemoveRows(Question[int]):
    """
    Remove the targets' rows.
    """

    targets: Targets


@frozen(eq=False)
class Still(Question[int]):
    """
    How many of the targets are still there (or, with *live*, still live).
    """

    targets: Targets
    live: bool = False


@frozen(eq=False)
class Rewritten(Question[int]):
    """
    How many marked targets differ from their image in the bin beyond the marks themselves.
    """

    targets: Targets
    operation: str


@frozen(eq=False)
class Append(Question[int]):
    """
    Append the product's own event for each target to *ledger*.
    """

    targets: Targets
    ledger: Ledger
    event: Literal["deleted", "restored"]
    at: datetime


# --- coming back ----------------------------------------------------------------------------


@frozen(eq=False)
class StageBin(Question[int]):
    """
    Remember the rows of the bin that *selection* selects, of *operation* alone where it is given.

    With *absent*, only images of rows that are no longer in the table.
    """

    selection: Selection
    operation: str | None = None
    absent: bool = False


@frozen(eq=False)
class Refuse(Question[Sequence[Tell]]):
    """
    Take out of the staged rows those that cannot come back for *reason*; answers them.

    With *absent*, those that an insert passed over: some unique index took them. With *in_place*,
    the staged rows are tombstones of the table itself, without an image in the bin.
    """

    site: Site
    reason: Reason
    detail: str = ""
    absent: bool = False
    in_place: bool = False


@frozen(eq=False)
class PutBackRows(Question[int]):
    """
    Give the staged rows back, whole: unmark those still in place, insert the others.
    """

    site: Site


@frozen(eq=False)
class Unlike(Question[int]):
    """
    How many of the staged rows, put back, are not in every column what their image says.

    With *untouched*, the times that a soft delete touches do not count.
    """

    site: Site
    untouched: bool = False


@frozen(eq=False)
class PutBackTie(Question[tuple[int, int]]):
    """
    Give back what hung on the staged rows in *sidecar*; answers how much came and how much waits.
    """

    site: Site
    sidecar: Sidecar


@frozen(eq=False)
class Revive(Question[int]):
    """
    Unmark staged rows that the product itself had marked; answers how many.

    Rows that lack what *vectors* should hold are also set as the collection's `revive` says.
    """

    site: Site
    vectors: Vectors | None = None


@frozen(eq=False)
class Discard(Question[int]):
    """
    Take the staged rows out of the bin; with *of_table*, the images of staged table rows.

    Within *scope* only, as far as one is given.
    """

    site: Site
    of_table: bool = False
    scope: Filter | None = None


@frozen(eq=False)
class DiscardTie(Question[int]):
    """
    Take out of a sidecar's bin what no image claims any more.

    All *pairs* keep their rows in the same bin: each collection with its own tie to the table.
    """

    pairs: tuple[tuple[Site, Sidecar], ...]


# --- the journal ----------------------------------------------------------------------------


@frozen(eq=False)
class Secret(Question[bytes]):
    """
    The store's own key for digests, made with the journal.
    """

    site: Site


@frozen(eq=False)
class Record(Question[None]):
    """
    Write the operation into the journal, which lies beside the table of *site*.
    """

    site: Site
    entry: Entry


@frozen(eq=False)
class Recall(Question[Sequence[Entry]]):
    """
    The entries of *store* in the journal, newest first: all, or the one of *operation*.

    With *scope*, those of that scope alone.
    """

    site: Site
    store: str
    operation: str | None = None
    limit: int = 100
    scope: Mapping[str, object] | None = None
