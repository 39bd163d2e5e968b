"""
What was done: the journal within the deleter's scope, and making room for it beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence

from memdelete.errors import FilterError
from memdelete.filters import Everything
from memdelete.questions import META, CreateTables, Look, Now, Recall
from memdelete.receipts import Entry

from .journal import remembered_scope
from .plan import Desk, order, sites_of
from .talk import Talk, ask, transaction


__all__ = ["history", "prepare"]


def history(desk: Desk, *, operation: str | None = None, limit: int = 100) -> Talk[Sequence[Entry]]:
    """
    The journal's entries, newest first; a scoped deleter sees those of its own scope only.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise FilterError(
            f"{limit!r} is no limit", value=limit, place="limit", advice="give 1 or more"
        )

    def body(_: bool) -> Talk[Sequence[Entry]]:  # noqa: FBT001 - nothing is written
        sites = sites_of(desk, (yield from ask(Look())))
        if not sites[0].schema.has(META):
            return []
        scope = yield from remembered_scope(desk, sites[0])
        return (yield from ask(Recall(sites[0], desk.store.name, operation, limit, scope)))

    return (yield from transaction(body, write=False))


def prepare(desk: Desk, *, dry_run: bool = False) -> Talk[Sequence[str]]:
    """
    Make the journal and the bins, or with *dry_run* only tell the statements that would.
    """

    def body(_: bool) -> Talk[Sequence[str]]:  # noqa: FBT001 - the statements are told alike
        now = yield from ask(Now())
        sites = sites_of(desk, (yield from ask(Look())))
        order(desk, sites, Everything(), now=now, mode=None, include=None)
        return (yield from ask(CreateTables(sites, dry_run=dry_run)))

    return (yield from transaction(body, write=not dry_run))
