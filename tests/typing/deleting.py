"""
How the front door looks to a type checker. Checked by mypy and pyright, never run.
"""

from __future__ import annotations

from typing import assert_type

import memdelete

from memdelete import (
    AsyncDeleter,
    Before,
    Collection,
    Deleter,
    Filter,
    Hash,
    Preview,
    Receipt,
    Restoration,
    Store,
    Tags,
    compile_filter,
    field,
    tags,
    times,
)


STORE = Store(
    name="notes",
    collections=[
        Collection(
            table="notes",
            key="id",
            hash="sha",
            tags=tags.JSONArray("labels"),
            times={"created_at": times.EpochSeconds("created")},
            tombstone=times.EpochSeconds("deleted"),
            fields={"project": "project", "owner": "user_id"},
            content=["body"],
        )
    ],
)


def in_one_colour(memories: Deleter, stale: Filter) -> None:
    preview = memories.preview(stale, include="all")
    assert_type(preview, Preview)
    assert_type(preview.matched, int)
    assert_type(preview.to_dict(), dict[str, object])

    # A preview can be deleted as it was shown, and so can a filter.
    receipt = memories.delete(preview, reason="spring clean")
    assert_type(receipt, Receipt)
    assert_type(memories.delete(stale, mode="hard", at_most=1, collections=["notes"]), Receipt)
    assert_type(receipt.durable, bool)

    # A receipt, its operation and a filter can each be restored.
    assert_type(memories.restore(receipt), Restoration)
    assert_type(memories.restore(receipt.operation), Restoration)
    assert_type(memories.restore(stale), Restoration)

    memories.delete(stale, mode="gently")  # type: ignore[arg-type]
    memories.delete("everything")  # type: ignore[arg-type]


async def in_the_other(memories: AsyncDeleter, stale: Filter) -> None:
    preview = await memories.preview(stale)
    assert_type(preview, Preview)
    receipt = await memories.delete(preview)
    assert_type(receipt, Receipt)
    assert_type(await memories.restore(receipt), Restoration)


def opened() -> None:
    with memdelete.open("memory.db", scope=field("owner").eq("ana")) as memories:
        assert_type(memories, Deleter)
        memories.delete(Hash("abc123"), mode="hard", at_most=1)


async def opened_async() -> None:
    async with await memdelete.open_async("memory.db", protect=Tags(any=["pinned"])) as memories:
        assert_type(memories, AsyncDeleter)


def compiled() -> None:
    predicate = compile_filter(Before("2024-01-01T00:00Z"), STORE, dialect="sqlite")
    assert_type(predicate.sql, str)
