"""
Ariel (a-memory): entries, episodes and the nodes of a graph, of several users, in one SQLite file.

Read off the file of version 1.13. The three collections count their keys by themselves, so a
`Key` must name its collection; `user_id` and `layer` say whose a row is, and make a scope. There
is no tombstone: what can be undone is moved to memdelete's bin, which loses nothing.

Copies that stay, since these are ledgers or another's: `core_memory_history` and
`core_memory_temporal` (old and new values, by layer, user and key; no interval is closed),
`core_memory_snapshots`, `archived_memories` (Ariel's own bin), `l0_journal` (chained by hashes)
and `l0_cold_archive`, `mutation_proposals`, `memory_dispatch_rejections`, `memory_conflicts`,
`staging_memories`, `embedding_cache` and the wiki.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memdelete.schema import Collection, Edges, End, Field, Kind, LiveSchema, Rows, Sidecar, Store
from memdelete.tags import JoinTable, JSONArray
from memdelete.times import EpochSeconds


__all__ = ["NAME", "recognise"]

NAME = "ariel"

_OWNER: dict[str, Kind] = {"user_id": "text", "layer": "text"}
_ENTRY: dict[str, Kind] = {
    **_OWNER,
    "key": "text",
    "value": "text",
    "importance": "real",
    "is_conflict": "integer",
    "conflict_group_id": "text",
    "memory_kind": "text",
    "source": "text",
    "visibility": "text",
}
_EPISODE: dict[str, Kind] = {
    **_OWNER,
    "summary": "text",
    "emotional_weight": "real",
    "memory_kind": "text",
}
_NODE: dict[str, Kind] = {
    **_OWNER,
    "content": "text",
    "node_type": "text",
    "confidence": "real",
}


def recognise(live: LiveSchema) -> Store | None:
    """
    The store in the variant that is there: older files lack layers, episodes and the graph.
    """
    if not live.has("core_memory", "entry_id", "user_id", "key", "value", "created_at"):
        return None

    return Store(name=NAME, collections=tuple(_collections(live)))


def _collections(live: LiveSchema) -> Iterator[Collection]:
    owner = [name for name in _OWNER if live.has("core_memory", name)]
    yield Collection(
        table="core_memory",
        name="entries",
        key="entry_id",
        times=_times(live, "core_memory", "created_at", "updated_at", "expires_at"),
        fields=_fields(live, "core_memory", _ENTRY),
        content=[name for name in ("key", "value", "metadata") if live.has("core_memory", name)],
        twins=[["key", *owner]],
    )
    if live.has("episodes", "episode_id", "user_id", "summary"):
        yield Collection(
            table="episodes",
            key="episode_id",
            tags=JSONArray("tags") if live.has("episodes", "tags") else None,
            times=_times(live, "episodes", "created_at"),
            fields=_fields(live, "episodes", _EPISODE),
            content=["summary"],
        )
    if live.has("epi_nodes", "node_id", "user_id", "content"):
        yield Collection(
            table="epi_nodes",
            name="graph_nodes",
            key="node_id",
            tags=_node_tags(live),
            times=_times(live, "epi_nodes", "created_at"),
            fields=_fields(live, "epi_nodes", _NODE),
            content=["content"],
            sidecars=tuple(_sidecars(live)),
        )


def _times(live: LiveSchema, table: str, *names: str) -> dict[str, EpochSeconds]:
    return {name: EpochSeconds(name) for name in names if live.has(table, name)}


def _fields(live: LiveSchema, table: str, kinds: Mapping[str, Kind]) -> dict[str, Field]:
    return {name: Field(name, kind) for name, kind in kinds.items() if live.has(table, name)}


def _node_tags(live: LiveSchema) -> JSONArray | JoinTable | None:
    # The node's own list is what Ariel writes; the rows beside it are an index of that list.
    if live.has("epi_nodes", "tags"):
        return JSONArray("tags")

    return JoinTable("epi_tags", "node_id", "tag") if _tagged(live) else None


def _sidecars(live: LiveSchema) -> Iterator[Sidecar]:
    if live.has("epi_edges", "source_id", "target_id"):
        yield Edges("epi_edges", (End("source_id", by="key"), End("target_id", by="key")))
    if _tagged(live):
        yield Rows("epi_tags", "node_id")


def _tagged(live: LiveSchema) -> bool:
    return live.has("epi_tags", "node_id", "tag")
