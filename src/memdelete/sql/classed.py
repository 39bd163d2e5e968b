"""
What engines share whose columns have one class each, and which have arrays.

A row's tags are one array there, and NULL where they cannot be read: then every fact about them
is NULL, and certain of nothing under either want. The engines' files visit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from memdelete.errors import StoreError
from memdelete.memories import UNKNOWN
from memdelete.tags import JoinTable, TagStorage
from memdelete.times import EpochMicros, EpochMillis, EpochSeconds, from_micros

from .phrases import Reader, Site, all_of, any_of, negated, owner
from .render import Expression, column
from .values import ColumnKind, TagsWanted


__all__ = [
    "CALENDAR_DAY",
    "CLOCK",
    "EPOCH",
    "array_logic",
    "epoch_kind",
    "joined",
    "lone_surrogates",
    "moment",
    "refuse_no_text",
]

_SHORT: Final = "02-(?:0[1-9]|1[0-9]|2[0-8])"
_THIRTY: Final = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
_LONG: Final = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
_LEAP: Final = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29"
CALENDAR_DAY: Final = f"((?:[0-9]{{4}}-(?:{_LONG}|{_THIRTY}|{_SHORT})|{_LEAP}))"
"""A day of the calendar, so that no cast of it can fail; the year 0 is left to the caller."""

CLOCK: Final = (
    "(?:[T ]([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.]([0-9]{1,9}))?)?"
    " ?(Z|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)?)?"
)
"""What may follow it: groups for hour, minute, second, fraction, offset, its sign and parts."""

EPOCH: Final = "-?[0-9]{1,18}([.][0-9]{1,6})?"
"""`times.EPOCH_TEXT`, in every engine's language."""


def array_logic(
    site: Site,
    storage: TagStorage,
    wanted: TagsWanted,
    *,
    holds: bool,
    overlaps: Callable[[Expression], Expression],
    contains: Callable[[Expression], Expression],
    empty: Expression,
) -> Expression:
    """
    What is TRUE where the set logic holds, or certainly does not; each fact is three-valued.
    """

    def given(word: str) -> Expression:
        read: Reader = wanted.reader(word, storage)
        return site.bind(read)

    facts = []
    if wanted.any:
        facts.append(overlaps(given("any")))
    if wanted.all:
        facts.append(contains(given("all")))
    if wanted.none:
        facts.append(negated(overlaps(given("none"))))
    facts = facts or [empty]

    # All facts are NULL together, so NOT turns what is unknown into nothing else.
    return all_of(*facts) if holds else any_of(*map(negated, facts))


def lone_surrogates(text: str, replace: str) -> str:
    """
    A sentence for JSON text with half a surrogate pair in an escape, which no engine can read.

    Escapes that stand for themselves are blanked first, then whole pairs.
    """
    plain = replace.format(text, """'\\\\["\\\\/bfnrt]'""")
    paired = replace.format(
        plain, "'\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}'"
    )

    return f"{paired} ~ '\\\\u[dD][89a-fA-F]'"


def joined(
    site: Site, storage: JoinTable, kind: Callable[[str], ColumnKind]
) -> tuple[str, dict[str, Expression]]:
    """
    The FROM clause of a row's tags in their own table, and what its gaps are filled with.

    A tag without a name is NULL, and so are the tags of its memory.
    """
    names = storage.names
    named, table = (names.name, names.table) if names else (storage.tag, storage.table)
    live = site.live_column(named, table)
    if live and kind(live.type) != "text":
        raise _undeclared(site, f"{table}.{named}", live.type, "tags as text")
    parts: dict[str, Expression] = {
        "memory": column(storage.memory, "memdelete_tag"),
        "own": site.column(owner(site.collection, storage)),
        "joined": site.table(storage.table, "memdelete_tag"),
        "tag": column(storage.tag, "memdelete_tag"),
    }
    if storage.names is None:
        return "joined", parts
    parts["named"] = site.table(storage.names.table, "memdelete_name")
    parts["named_key"] = column(storage.names.key, "memdelete_name")
    parts["tag_key"] = parts["tag"]
    parts["tag"] = column(storage.names.name, "memdelete_name")

    return "joined LEFT JOIN named ON :named_key = :tag_key", parts


def epoch_kind(
    site: Site,
    encoding: EpochSeconds | EpochMillis | EpochMicros,
    kind: Callable[[str], ColumnKind],
) -> ColumnKind:
    """
    How the column holds an epoch: as it is found to be, else as it is declared.
    """
    live = site.live_column(encoding.column)
    if live is None:
        return encoding.storage
    found = kind(live.type)
    either = found in {"integer", "real"} and encoding.storage != "text"
    if found == encoding.storage or (either and not isinstance(encoding, EpochMicros)):
        return found
    raise _undeclared(site, encoding.column, live.type, f"epochs as {encoding.storage}")


def refuse_no_text(site: Site, name: str, kind: Callable[[str], ColumnKind]) -> None:
    """
    Times or tags that are declared as text are text.
    """
    live = site.live_column(name)
    if live and kind(live.type) != "text":
        raise _undeclared(site, name, live.type, "text")


def moment(micros: int, offset: str) -> str:
    """
    An instant, or the one after the last, as engines read timestamps in every session.
    """
    at = from_micros(micros)
    if at is UNKNOWN:
        return f"10000-01-01 00:00:00{offset}"

    return f"{at.replace(tzinfo=None).isoformat(' ', 'microseconds')}{offset}"


def _undeclared(site: Site, name: str, found: str, declared: str) -> StoreError:
    return StoreError(
        f"the column {name!r} is {found}, and declared to hold {declared}",
        place=site.collection.name,
        advice="declare what it holds",
    )
