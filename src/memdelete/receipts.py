"""
What is reported: previews, receipts, restorations and the journal's entries, as plain values.

A receipt remembers that something went, never what: counts, ids, digests, filter, actor, reason.
Only a preview, which is never stored, shows a sample. Nothing here asks a store; everybody may
print, send or keep these.
"""

from __future__ import annotations

import html

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from attrs import Factory, field, frozen

from .filters import Filter, KeyValue


__all__ = [
    "Entry",
    "Include",
    "Mode",
    "Preview",
    "Reason",
    "Receipt",
    "Refusal",
    "Restoration",
    "Verb",
]

Mode = Literal["soft", "archive", "hard"]
"""How rows go: marked by the store's own tombstone, moved to the bin, or gone."""
Include = Literal["live", "deleted", "all"]
"""Which rows filters see."""
Verb = Literal["delete", "restore", "purge"]
Reason = Literal[
    "purged",
    "key_taken",
    "unique_taken",
    "live_twin",
    "changed_since",
    "not_found",
    "ambiguous",
    "schema_changed",
]
"""Why a row did not come back."""

Keys = Mapping[str, Sequence[KeyValue]]


@frozen(kw_only=True)
class Preview:
    """
    What a delete would take, exactly; pass it to `delete` to get that or `PreviewStale`.

    `matched` rows go, over all collections; `unknown` rows survive because the filter is neither
    true nor false of them; `protected` rows would match but for the deleter's `protect`.
    `tables` counts the rows each table would lose or change. `sample` shows a few rows. `filter`
    has every time resolved.
    """

    matched: int
    hashes: tuple[str, ...]
    keys: Keys
    not_found: tuple[KeyValue, ...]
    already: tuple[KeyValue, ...]
    unknown: int
    protected: int
    view: int
    tables: Mapping[str, int]
    sample: tuple[Mapping[str, object], ...]
    filter: Filter
    sql: Mapping[str, str]
    digest: str
    mode: Mapping[str, Mode]
    include: Include
    collections: tuple[str, ...]
    at: datetime
    scope: Filter | None = None
    protect: Filter | None = None
    fingerprints: Mapping[tuple[str, KeyValue], int] | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, object]:
        """
        Plain JSON values, without the fingerprints.
        """
        return {
            "matched": self.matched,
            "hashes": list(self.hashes),
            "keys": _plain_keys(self.keys),
            "not_found": list(map(_plain, self.not_found)),
            "already": list(map(_plain, self.already)),
            "unknown": self.unknown,
            "protected": self.protected,
            "view": self.view,
            "tables": dict(self.tables),
            "sample": [{name: _plain(value) for name, value in row.items()} for row in self.sample],
            "filter": self.filter.to_dict(),
            "sql": dict(self.sql),
            "digest": self.digest,
            "mode": dict(self.mode),
            "include": self.include,
            "at": self.at.isoformat(),
        }

    def __str__(self) -> str:
        what = f"would go ({_modes(self.mode)})" if self.mode else "lie in the bin"
        lines = [f"{_rows(self.matched)} of {self.view} {what}"]
        lines.append(f"  filter     {self.filter}")
        lines += _counts(self.tables)
        for word, count in (("unknown", self.unknown), ("protected", self.protected)):
            lines += [f"  {word:<10} {count} stay"] if count else []
        for word, values in (("not found", self.not_found), ("already", self.already)):
            lines += [f"  {word:<10} {_listed(values)}"] if values else []
        lines += [f"  e.g.       {_row(row)}" for row in self.sample]

        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _html("Preview", self)


@frozen(kw_only=True)
class Receipt:
    """
    That an operation was done: handed out only after its commit.

    `durable` is False inside the caller's own transaction, whose commit is theirs. `complete`
    tells that `hashes` and `keys` are whole. `copies_left` names what still holds the rows: the
    bin, or a ledger. `filter` is the dict form, with content values kept as keyed digests.
    """

    operation: str
    verb: Verb
    mode: Mapping[str, Mode]
    matched: int
    removed: int
    hashes: tuple[str, ...] = ()
    keys: Keys = Factory(dict)
    not_found: tuple[KeyValue, ...] = ()
    already: tuple[KeyValue, ...] = ()
    tables: Mapping[str, int] = Factory(dict)
    complete: bool = True
    durable: bool = True
    digest: str = ""
    filter: Mapping[str, object] | None = None
    actor: str | None = None
    reason: str | None = None
    started_at: datetime
    finished_at: datetime
    copies_left: Mapping[str, int] = Factory(dict)

    def to_dict(self) -> dict[str, object]:
        """
        Plain JSON values.
        """
        return {
            "operation": self.operation,
            "verb": self.verb,
            "mode": dict(self.mode),
            "matched": self.matched,
            "removed": self.removed,
            "hashes": list(self.hashes),
            "keys": _plain_keys(self.keys),
            "not_found": list(map(_plain, self.not_found)),
            "already": list(map(_plain, self.already)),
            "tables": dict(self.tables),
            "complete": self.complete,
            "durable": self.durable,
            "digest": self.digest,
            "filter": self.filter,
            "actor": self.actor,
            "reason": self.reason,
            "started_at": self.started_at.isoformat(),
            "finished_at": self.finished_at.isoformat(),
            "copies_left": dict(self.copies_left),
        }

    def __str__(self) -> str:
        lines = [f"{_rows(self.removed)} removed ({_modes(self.mode) or self.verb})"]
        lines += [f"  operation  {self.operation}"] if self.matched else []
        lines += _counts(self.tables)
        for word, values in (("not found", self.not_found), ("already", self.already)):
            lines += [f"  {word:<10} {_listed(values)}"] if values else []
        lines += [f"  copies in  {name}: {count}" for name, count in self.copies_left.items()]
        lines += [] if self.durable else ["  not durable until your own transaction commits"]

        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _html("Receipt", self)


@frozen(kw_only=True)
class Refusal:
    """
    A row that did not come back, and why.
    """

    collection: str
    key: KeyValue
    reason: Reason
    detail: str = ""

    def to_dict(self) -> dict[str, object]:
        """
        Plain JSON values.
        """
        return {
            "collection": self.collection,
            "key": _plain(self.key),
            "reason": self.reason,
            "detail": self.detail,
        }


@frozen(kw_only=True)
class Restoration:
    """
    What came back. `restored` counts memories; `incomplete` names what of them could not come.
    """

    operation: str
    restored: int
    hashes: tuple[str, ...] = ()
    keys: Keys = Factory(dict)
    refused: tuple[Refusal, ...] = ()
    incomplete: Mapping[str, int] = Factory(dict)
    tables: Mapping[str, int] = Factory(dict)
    durable: bool = True
    actor: str | None = None
    reason: str | None = None
    started_at: datetime
    finished_at: datetime

    def to_dict(self) -> dict[str, object]:
        """
        Plain JSON values.
        """
        return {
            "operation": self.operation,
            "verb": "restore",
            "restored": self.restored,
            "hashes": list(self.hashes),
            "keys": _plain_keys(self.keys),
            "refused": [refusal.to_dict() for refusal in self.refused],
            "incomplete": dict(self.incomplete),
            "tables": dict(self.tables),
            "durable": self.durable,
            "actor": self.actor,
            "reason": self.reason,
            "started_at": self.started_at.isoformat(),
            "finished_at": self.finished_at.isoformat(),
        }

    def __str__(self) -> str:
        lines = [f"{_rows(self.restored)} restored", f"  operation  {self.operation}"]
        lines += _counts(self.tables)
        lines += [
            f"  refused    {refusal.key!r}: {refusal.reason}, {refusal.detail}".rstrip(", ")
            for refusal in self.refused[:10]
        ]
        lines += [f"  … {len(self.refused) - 10} more refused"] if len(self.refused) > 10 else []
        lines += [f"  incomplete {name}: {count}" for name, count in self.incomplete.items()]

        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _html("Restoration", self)


@frozen(kw_only=True)
class Entry:
    """
    One row of the journal: an operation that was committed, with its report.
    """

    operation: str
    verb: Verb
    state: str
    store: str
    scope: Mapping[str, object] | None
    report: Mapping[str, object]
    at: datetime

    def to_dict(self) -> dict[str, object]:
        """
        Plain JSON values.
        """
        return {
            "operation": self.operation,
            "verb": self.verb,
            "state": self.state,
            "store": self.store,
            "scope": self.scope,
            "at": self.at.isoformat(),
            "report": dict(self.report),
        }

    def __str__(self) -> str:
        count = self.report.get("restored", self.report.get("removed", 0))

        return f"{self.at:%Y-%m-%d %H:%M:%S}  {self.operation}  {self.verb:<8} {count}"

    def _repr_html_(self) -> str:
        return _html("Entry", self)


def _plain(value: object) -> object:
    match value:
        case tuple() | list():
            return [_plain(part) for part in value]
        case bytes():
            return f"<{len(value)} bytes>"
        case str() | int() | float() | bool() | None:
            return value
        case _:
            return str(value)


def _plain_keys(keys: Keys) -> dict[str, list[object]]:
    return {name: [_plain(key) for key in values] for name, values in keys.items()}


def _counts(tables: Mapping[str, int]) -> list[str]:
    width = max(map(len, tables), default=0)

    return [f"  {table:<{max(width, 10)}} {count}" for table, count in tables.items()]


def _rows(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _modes(modes: Mapping[str, Mode]) -> str:
    return ", ".join(dict.fromkeys(modes.values()))


def _listed(values: Sequence[object], most: int = 8) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""

    return ", ".join(map(str, values[:most])) + more


def _row(row: Mapping[str, object]) -> str:
    return "  ".join(str(value) for value in row.values() if value is not None)


def _html(title: str, report: Preview | Receipt | Restoration | Entry) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td>{html.escape(_short(value))}</td></tr>"
        for name, value in report.to_dict().items()
        if value not in (None, [], {}, "")
    )

    return f"<table><caption>{html.escape(title)}</caption>{rows}</table>"


def _short(value: object, most: int = 300) -> str:
    text = str(value)

    return text if len(text) <= most else f"{text[:most]}…"
