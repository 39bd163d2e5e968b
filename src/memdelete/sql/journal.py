"""
The journal: one row per operation, written in the same transaction as what it tells of.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from sqlglot import exp

from memdelete.codec import parse_json, write_json
from memdelete.questions import Recall, Record, Secret, Site
from memdelete.receipts import Entry
from memdelete.times import from_micros, to_micros

from .build import Speech, column, insert, ordered, say, select, table
from .ddl import JOURNAL, META
from .render import Result, Statement, parameter


__all__ = ["recall", "record", "secret"]

_COLUMNS = ("operation", "verb", "state", "store", "scope", "report", "at")


def record(asked: Record, speech: Speech) -> Generator[Statement, Result, None]:
    """
    Write the operation down.
    """
    entry = asked.entry
    values = {
        "operation": entry.operation,
        "verb": entry.verb,
        "state": entry.state,
        "store": entry.store,
        "scope": None if entry.scope is None else write_json(entry.scope),
        "report": write_json(entry.report),
        "at": to_micros(entry.at),
    }
    source = exp.Select(expressions=[parameter(name) for name in _COLUMNS])
    yield say(speech, insert(table(asked.site, JOURNAL), _COLUMNS, source), values)


def recall(asked: Recall, speech: Speech) -> Generator[Statement, Result, Sequence[Entry]]:
    """
    What was written down, newest first.
    """
    site: Site = asked.site
    if site.schema.table(JOURNAL) is None:
        return []
    tree = select([column(JOURNAL, name) for name in _COLUMNS], table(site, JOURNAL))
    asks: dict[str, object] = {"store": asked.store}
    asks |= {"operation": asked.operation} if asked.operation is not None else {}
    asks |= {"scope": write_json(asked.scope)} if asked.scope is not None else {}
    for name in asks:
        tree.where(exp.EQ(this=column(JOURNAL, name), expression=parameter(name)), copy=False)
    ordered(tree, [column(JOURNAL, name) for name in ("at", "rowid")], speech, desc=True)
    result = yield say(speech, tree.limit(asked.limit, copy=False), asks)

    return [_entry(row) for row in result.rows]


def secret(asked: Secret, speech: Speech) -> Generator[Statement, Result, bytes]:
    """
    The store's own key for digests.
    """
    tree = select(
        [column(META, "value")],
        table(asked.site, META),
        exp.EQ(this=column(META, "key"), expression=exp.Literal.string("secret")),
    )
    result = yield say(speech, tree)

    return str(result.rows[0][0]).encode()


def _entry(row: Sequence[object]) -> Entry:
    operation, verb, state, store, scope, report, at = row

    return Entry(
        operation=str(operation),
        verb=verb,  # type: ignore[arg-type]  # only `record` writes it
        state=str(state),
        store=str(store),
        scope=None if scope is None else _object(scope),
        report=_object(report),
        at=from_micros(int(at)),  # type: ignore[arg-type,call-overload]
    )


def _object(text: object) -> Mapping[str, object]:
    found = parse_json(str(text))

    return found if isinstance(found, Mapping) else {}
