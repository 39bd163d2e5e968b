"""
The journal of operations: made where it is ours to make, and what may be written into it.

An entry commits with the rows it tells of. It repeats no content: values of columns declared as
content are kept as keyed digests, in filters and scopes alike. All operations that write visit.
"""

from __future__ import annotations

import hashlib

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import attrs

from memdelete import codec
from memdelete.errors import FilterError, StoreError
from memdelete.filters import Filter
from memdelete.questions import META, CreateTables, Look, Record, Secret, Site
from memdelete.receipts import Entry, Receipt, Verb
from memdelete.schema import Store
from memdelete.tags import JoinTable

from .digest import MOST_NAMED
from .plan import Desk, Order, sites_of
from .talk import Talk, ask


__all__ = ["journal_sites", "journalled", "remembered", "remembered_scope", "write_down"]


def journal_sites(desk: Desk, wanted: Order, ours: bool, *, bins: bool) -> Talk[tuple[Site, ...]]:  # noqa: FBT001 - told by `transaction`
    """
    The sites with the journal, and the bins, made where that is ours to do.
    """
    due = yield from ask(CreateTables(wanted.sites, bins=bins, dry_run=not ours))
    if due and not ours:
        raise StoreError(
            "the journal or a bin is not there yet, and this transaction is not memdelete's own",
            place=desk.store.name,
            advice="call prepare() once, outside of your transaction",
        )
    if not due:
        return wanted.sites

    return sites_of(desk, (yield from ask(Look())), [site.collection.name for site in wanted.sites])


def journalled(receipt: Receipt) -> dict[str, object]:
    """
    The receipt as the journal keeps it: committed, and without names where they are too many.
    """
    kept = attrs.evolve(receipt, durable=True)
    if receipt.removed > MOST_NAMED:
        kept = attrs.evolve(kept, hashes=(), keys={}, complete=False)

    return kept.to_dict()


def write_down(
    desk: Desk,
    site: Site,
    operation: str,
    verb: Verb,
    report: Mapping[str, object],
    *,
    at: datetime,
) -> Talk[None]:
    """
    Enter the operation into the journal, in the transaction that does it.
    """
    reason = report.get("reason")
    if reason is not None and not isinstance(reason, str):
        raise FilterError(f"{reason!r} is no text", value=reason, place="reason")
    scope = yield from remembered_scope(desk, site)
    entry = Entry(
        operation=operation,
        verb=verb,
        state="done",
        store=desk.store.name,
        scope=scope,
        report=report,
        at=at,
    )
    yield from ask(Record(site, entry))


def remembered(desk: Desk, site: Site, filter_: Filter) -> Talk[dict[str, object]]:
    """
    The filter as receipts may keep it: values of content columns as keyed digests.
    """
    secret = (yield from ask(Secret(site))) if site.schema.has(META) else None

    def conceal(value: object) -> object:
        if secret is None:  # where nothing was written there is no key either
            return {"redacted": True}
        told = hashlib.blake2b(repr(value).encode(), key=secret[:64], digest_size=16)
        return {"digest": told.hexdigest()}

    return _concealed(codec.to_dict(filter_), _content(desk.store), conceal)


def remembered_scope(desk: Desk, site: Site) -> Talk[dict[str, object] | None]:
    """
    The scope as the journal keeps it, to tell whose an operation was; None without one.
    """
    if desk.scope is None:
        return None

    return _in_order((yield from remembered(desk, site, desk.scope)))


def _content(store: Store) -> frozenset[str]:
    # The words of the dict form, and the names of fields, that ask for content.
    words: set[str] = set()
    for collection in store.collections:
        words |= {
            f"field {name}"
            for name, declared in collection.fields.items()
            if declared.column in collection.content
        }
        words |= {"hash"} if collection.hash in collection.content else set()
        tags = collection.tags
        if tags is not None and not isinstance(tags, JoinTable):
            words |= {"tags"} if tags.column in collection.content else set()

    return frozenset(words)


def _concealed(
    said: Mapping[str, object], content: frozenset[str], conceal: Callable[[object], object]
) -> dict[str, object]:
    found = dict(said)
    for word, value in said.items():
        match value:
            case list() if word in {"and", "or"}:
                found[word] = [_concealed(part, content, conceal) for part in value]
            case Mapping() if word == "not":
                found[word] = _concealed(value, content, conceal)
            case list() if word == "hash" and word in content:
                found[word] = _each(value, conceal)
            case Mapping() if word == "tags" and word in content:
                found[word] = {
                    name: _each(tags, conceal) if isinstance(tags, list) else tags
                    for name, tags in value.items()
                }
            case _ if word == "value" and f"field {said.get('field')}" in content:
                found[word] = _each(value if isinstance(value, list) else [value], conceal)

    return found


def _each(values: Iterable[object], conceal: Callable[[object], object]) -> list[object]:
    return [conceal(value) for value in values]


def _in_order(said: Mapping[str, object]) -> dict[str, object]:
    # Parts of And and Or have no order, so equal scopes must be written alike.
    found: dict[str, object] = {}
    for word, value in said.items():
        match value:
            case list() if word in {"and", "or"}:
                found[word] = sorted((_in_order(part) for part in value), key=codec.write_json)
            case Mapping() if word == "not":
                found[word] = _in_order(value)
            case _:
                found[word] = value

    return found
