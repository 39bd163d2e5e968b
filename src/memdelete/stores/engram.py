"""
engram: observations, prompts and sessions in SQLite, written by a Go program.

Read off the file of version 1.7 and the schema of version 2. All times are UTC text of one
second's grain. A soft delete sets `deleted_at` and `updated_at`; whether the full-text index
keeps the tombstones is for the product's own triggers, which differ between the versions.

Several observations at once are best asked for with ``collections=["observations"]``: a filter
that sessions answer too would remove sessions, and those in use are refused.

Not done as the product does it: `memory_relations` of version 2 stay as they are (a hard delete
of the product's marks them orphaned), an outbox row never says that a delete was hard, and
prompts tell the outbox nothing. Copies that stay: `sync_mutations` (payloads of earlier saves),
chunks and files of a sync, and the version history of younger files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memdelete.schema import Collection, Field, FullText, Kind, Ledger, LiveSchema, Sidecar, Store
from memdelete.times import ISOText


__all__ = ["NAME", "recognise"]

NAME = "engram"

_FORM = "%Y-%m-%d %H:%M:%S"
_NOW = f"strftime('{_FORM}', :now, 'unixepoch')"
_OBSERVATION: dict[str, Kind] = {
    "session_id": "text",
    "type": "text",
    "title": "text",
    "content": "text",
    "tool_name": "text",
    "project": "text",
    "scope": "text",
    "topic_key": "text",
    "normalized_hash": "text",
    "revision_count": "integer",
    "duplicate_count": "integer",
    "sync_id": "text",
    "pinned": "integer",
}
_PROMPT: dict[str, Kind] = {
    "session_id": "text",
    "content": "text",
    "project": "text",
    "sync_id": "text",
}
_SESSION: dict[str, Kind] = {"project": "text", "directory": "text", "summary": "text"}
# What a later save of the same thing shares with it: by topic, and by what it says.
_TWINS = (
    ("topic_key", "project", "scope"),
    ("normalized_hash", "project", "scope", "type", "title"),
)


def recognise(live: LiveSchema) -> Store | None:
    """
    The store in the variant that is there: older files lack tombstones, topics and prompts.
    """
    known = ("id", "session_id", "type", "title", "content", "project", "created_at")
    if not live.has("observations", *known):
        return None

    return Store(name=NAME, collections=tuple(_collections(live)))


def _collections(live: LiveSchema) -> Iterator[Collection]:
    tombstone = ISOText("deleted_at", _FORM) if live.has("observations", "deleted_at") else None
    touched = tombstone is not None and live.has("observations", "updated_at")
    yield Collection(
        table="observations",
        key="id",
        times=_times(
            live,
            "observations",
            ("created_at", "updated_at", "last_seen_at", "review_after", "expires_at"),
        ),
        tombstone=tombstone,
        touch=[ISOText("updated_at", _FORM)] if touched else [],
        fields=_fields(live, "observations", _OBSERVATION),
        content=["title", "content"],
        sidecars=tuple(_sidecars(live)),
        twins=[columns for columns in _TWINS if live.has("observations", *columns)],
    )
    if live.has("user_prompts", "id", "content", "created_at"):
        yield Collection(
            table="user_prompts",
            key="id",
            times=_times(live, "user_prompts", ("created_at",)),
            fields=_fields(live, "user_prompts", _PROMPT),
            content=["content"],
            sidecars=[FullText("prompts_fts")] if live.table("prompts_fts") else [],
        )
    if live.has("sessions", "id", "project"):
        yield Collection(
            table="sessions",
            key="id",
            times=_times(live, "sessions", ("started_at", "ended_at")),
            fields=_fields(live, "sessions", _SESSION),
            content=["summary"] if live.has("sessions", "summary") else [],
        )


def _times(live: LiveSchema, table: str, names: tuple[str, ...]) -> dict[str, ISOText]:
    return {name: ISOText(name, _FORM) for name in names if live.has(table, name)}


def _fields(live: LiveSchema, table: str, kinds: Mapping[str, Kind]) -> dict[str, Field]:
    return {name: Field(name, kind) for name, kind in kinds.items() if live.has(table, name)}


def _sidecars(live: LiveSchema) -> Iterator[Sidecar]:
    if live.table("observations_fts"):
        yield FullText("observations_fts")
    outbox = ("target_key", "entity", "entity_key", "op", "payload", "source")
    told = ("sync_id", "tool_name", "scope", "topic_key")
    if live.has("sync_mutations", *outbox) and live.has("observations", *told):
        yield _outbox(live)


def _outbox(live: LiveSchema) -> Ledger:
    shared = {
        "target_key": "'cloud'",
        "entity": "'observation'",
        "entity_key": "observations.sync_id",
        "source": "'local'",
    }
    if live.has("sync_mutations", "project"):
        shared["project"] = "coalesce(observations.project, '')"
    if live.has("sync_mutations", "occurred_at"):
        shared["occurred_at"] = _NOW
    own = ("sync_id", "session_id", "project")
    said = (*own, "type", "title", "content", "tool_name", "scope", "topic_key")
    # Younger files count and date what they sync, and would take what is left out for zero.
    counted = ("revision_count", "duplicate_count", "last_seen_at", "created_at", "updated_at")
    young = live.has("observations", "pinned") and live.has("observations", *counted)
    gone = f"{_pairs(own)}, 'deleted', json('true'), 'deleted_at', {_NOW}"
    back = _pairs((*said, *counted) if young else said)

    return Ledger(
        table="sync_mutations",
        deleted={**shared, "op": "'delete'", "payload": f"json_object({gone})"},
        restored={**shared, "op": "'upsert'", "payload": f"json_object({back})"},
        # Sync is on or off by the program's settings; a file that has mutations was written on.
        active=(
            "coalesce(observations.sync_id, '') <> '' "
            "AND EXISTS(SELECT 1 FROM sync_mutations WHERE target_key = 'cloud')"
        ),
        also=_STATE if live.has("sync_state", "lifecycle", "last_enqueued_seq") else (),
    )


_STATE = (
    (
        "UPDATE sync_state SET lifecycle = 'pending', last_enqueued_seq = "
        "(SELECT max(seq) FROM sync_mutations WHERE target_key = 'cloud'), "
        "updated_at = strftime('%Y-%m-%d %H:%M:%S', :now, 'unixepoch') "
        "WHERE target_key = 'cloud'"
    ),
)


def _pairs(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}', observations.{name}" for name in names)
