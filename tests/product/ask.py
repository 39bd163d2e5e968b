"""
Asks the real mcp-memory-service about a store, in a process of its own, and prints JSON.

    python ask.py STORE '{"write": 30}'          let the service write memories
    python ask.py STORE '{"find": ["text", …]}'  what it lists, finds and thinks of its health
    python ask.py STORE '{"again": "text"}'      store that content again
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile

import pysqlite3


# The service imports plain sqlite3, which may come without loadable extensions.
sys.modules["sqlite3"] = pysqlite3
sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
os.environ["MCP_MEMORY_BASE_DIR"] = tempfile.mkdtemp(prefix="memdelete-product-")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MCP_SYNC_EVENTLOG", "on")
logging.disable(logging.CRITICAL)

from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from mcp_memory_service.utils.hashing import generate_content_hash
from mcp_memory_service.utils.health_check import HealthCheckFactory


WORDS = (
    *("amber", "birch", "cedar", "delta", "ember"),
    *("fjord", "grove", "harbor", "island", "jasper"),
)


def _memory(content: str, number: int = 0) -> Memory:
    return Memory(
        content=content,
        content_hash=generate_content_hash(content),
        tags=[f"group{number % 3}", "all"] + ["draft"] * (number % 4 == 0),
        memory_type="note",
        metadata={"number": number},
        created_at=1_700_000_000.0 + number * 3600,
    )


async def _ask(path: str, wish: dict[str, object]) -> dict[str, object]:
    storage = SqliteVecMemoryStorage(path)
    await storage.initialize()
    told: dict[str, object] = {}
    try:
        for number in range(int(wish.get("write", 0))):  # type: ignore[call-overload]
            words = " ".join(WORDS[(number * step) % 10] for step in (1, 3, 7, 9))
            ok, said = await storage.store(_memory(f"memory {number} of {words}", number))
            assert ok, said
        if "again" in wish:
            told["again"] = list(await storage.store(_memory(str(wish["again"]))))
        told["count"] = await storage.count_all_memories(store=None)
        told["listed"] = sorted(m.content_hash for m in await storage.get_all_memories(store=None))
        told["tagged"] = sorted(m.content_hash for m in await storage.search_by_tag(["draft"]))
        told["health"] = await _health(storage)
        found: dict[str, list[bool]] = {}
        for content in wish.get("find", ()):  # type: ignore[attr-defined]
            hash_ = generate_content_hash(content)
            semantic = [
                hit.memory.content_hash for hit in await storage.retrieve(content, n_results=3)
            ]
            words = [
                hit[0] if isinstance(hit, tuple) else hit
                for hit in await storage._search_bm25(content, 5)
            ]
            found[content] = [
                hash_ in semantic,
                hash_ in words,
                await storage.get_by_hash(hash_) is not None,
            ]
        told["found"] = found
    finally:
        await storage.close()

    return told


async def _health(storage: SqliteVecMemoryStorage) -> object:
    ok, _, stats = await HealthCheckFactory.create(storage).check_health(storage)

    return [
        bool(ok),
        {k: v for k, v in stats.items() if isinstance(v, str | int) and "size" not in k},
    ]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_ask(sys.argv[1], json.loads(sys.argv[2]))), default=str))
