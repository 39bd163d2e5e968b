"""
mcp-memory-service: SQLite with vectors (sqlite-vec), full text, a graph and an event log.

Read off the files of versions 8.24 to 12.4. What its own soft delete throws away for good
(vectors and edges) goes to the bin here; its tombstones keep their full-text entries, as it
keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator

from memdelete.schema import (
    Collection,
    Edges,
    End,
    Field,
    FullText,
    Ledger,
    LiveSchema,
    References,
    Sidecar,
    Store,
    Vectors,
)
from memdelete.tags import CommaText
from memdelete.times import EpochSeconds


__all__ = ["NAME", "recognise"]

NAME = "mcp-memory-service"

_FIELDS = {
    "content": "text",
    "memory_type": "text",
    "store": "text",
    "parent_id": "text",
    "superseded_by": "text",
    "version": "integer",
    "confidence": "real",
    "embedding_pending": "integer",
}
_NEW_ID = (
    "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)"
    " || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))"
)
# Peers order events by this clock, and a delete or its undo must come after all that was said.
_CLOCK = (
    "max(CAST(:now * 1000 AS INTEGER), "
    "coalesce((SELECT max(hlc_physical) FROM sync_events), 0) + 1)"
)
_LAST_DELETE = (
    "(SELECT {what} FROM sync_events AS told WHERE told.content_hash = memories.content_hash "
    "AND told.op = 'delete' ORDER BY {latest} LIMIT 1)"
)
_TAGS = (
    "json(CASE WHEN coalesce(tags, '') = '' THEN '[]' "
    """ELSE '[' || replace(json_quote(replace(tags, ', ', ',')), ',', '","') || ']' END)"""
)


def recognise(live: LiveSchema) -> Store | None:
    """
    The store in the variant that is there: older files lack tombstones, graph, text or log.
    """
    if not live.has("memories", "id", "content_hash", "content", "tags", "created_at"):
        return None
    if not (
        live.has("memories", "created_at_iso", "memory_type") or live.table("memory_embeddings")
    ):
        return None

    def there(*names: str) -> Iterator[str]:
        return (name for name in names if live.has("memories", name))

    times = {name: EpochSeconds(name) for name in there("created_at", "updated_at")}
    times |= {name: EpochSeconds(name, "integer") for name in there("last_accessed")}

    return Store(
        name=NAME,
        collections=[
            Collection(
                table="memories",
                key="id",
                hash="content_hash",
                tags=CommaText("tags"),
                times=times,
                tombstone=next((EpochSeconds(name) for name in there("deleted_at")), None),
                fields={name: Field(name, _FIELDS[name]) for name in there(*_FIELDS)},  # type: ignore[arg-type]  # the literals above
                content=there("content", "metadata"),
                sidecars=tuple(_sidecars(live)),
                revive=dict.fromkeys(there("embedding_pending"), 1),
            )
        ],
    )


def _sidecars(live: LiveSchema) -> Iterator[Sidecar]:
    if live.table("memory_embeddings"):
        yield Vectors("memory_embeddings")
    if live.table("memory_content_fts"):
        yield FullText("memory_content_fts")
    if live.has("memory_graph", "source_hash", "target_hash"):
        typed = live.has("memory_graph", "relationship_type")
        entity = {"unless": "relationship_type", "values": ("has_entity",)} if typed else {}
        yield Edges("memory_graph", (End("source_hash"), End("target_hash", **entity)))  # type: ignore[arg-type]
    for name in ("derived_from", "contradicted_by"):
        if live.has("beliefs", "id", name):
            yield References("beliefs", "id", name)
    if live.has("sync_events", "agent_id", "event_id", "op", "content_hash", "payload"):
        yield _log(live)


def _log(live: LiveSchema) -> Ledger:
    # The log is on or off by the service's environment; a file that has events was written on.
    clocked = live.has("sync_events", "hlc_physical", "hlc_logical")
    shared = {
        "schema_version": "1",
        "agent_id": "'memdelete'",
        "event_id": _NEW_ID,
        "content_hash": "memories.content_hash",
        "created_at": ":now",
    }
    if live.has("sync_events", "created_at_iso"):
        shared["created_at_iso"] = "strftime('%Y-%m-%dT%H:%M:%SZ', :now, 'unixepoch')"
    if clocked:
        shared["hlc_physical"] = _CLOCK
        shared["hlc_logical"] = "row_number() OVER (ORDER BY memories.id) - 1"

    return Ledger(
        table="sync_events",
        deleted={
            **shared,
            "op": "'delete'",
            "payload": ("json_object('content_hash', memories.content_hash, 'deleted_at', :now)"),
        },
        restored={**shared, "op": "'create'", "payload": _created(live, clocked=clocked)},
        active="EXISTS(SELECT 1 FROM sync_events)",
        also=_CLOCKS if clocked and live.has("metadata", "key", "value") else (),
    )


_CLOCKS = (
    (
        "UPDATE metadata SET value = (SELECT max(hlc_physical) FROM sync_events) "
        "WHERE key = 'sync_hlc_physical'"
    ),
    (
        "UPDATE metadata SET value = (SELECT max(hlc_logical) FROM sync_events WHERE hlc_physical = "
        "(SELECT max(hlc_physical) FROM sync_events)) WHERE key = 'sync_hlc_logical'"
    ),
)


def _created(live: LiveSchema, *, clocked: bool) -> str:
    # A peer takes a create for an undo only if it names the delete that it undoes.
    clock = "told.hlc_physical DESC, told.hlc_logical DESC, told.event_id DESC"
    latest = clock if clocked else "told.seq DESC"
    undone = _LAST_DELETE.format(what="told.event_id", latest=latest)
    pairs = [
        "'content_hash', memories.content_hash",
        "'content', content",
        "'memory_type', memory_type",
        f"'tags', {_TAGS}",
        "'created_at', memories.created_at",
        "'updated_at', updated_at",
        "'metadata', json(CASE WHEN json_valid(metadata) THEN metadata ELSE '{}' END)",
        f"'recreate_of', coalesce({undone}, '')",
    ]
    if live.has("memories", "store"):
        pairs.append("'store', coalesce(store, 'default')")
    if live.has("memories", "superseded_by"):
        pairs.append("'superseded_by', superseded_by")
    if clocked:
        told = "json_array(told.hlc_physical, told.hlc_logical, told.agent_id)"
        pairs.append(f"'recreate_of_hlc', json({_LAST_DELETE.format(what=told, latest=latest)})")

    return f"json_object({', '.join(pairs)})"
