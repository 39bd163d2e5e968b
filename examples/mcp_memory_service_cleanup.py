# ruff: noqa: INP001, T201 - a script, and it prints
"""
Tidy a store of mcp-memory-service: old drafts go, what is pinned stays, all can be taken back.

Run it: python examples/mcp_memory_service_cleanup.py PATH [--yes]
"""

from __future__ import annotations

import sys

import memdelete

from memdelete import MemdeleteError, OlderThan, Tags


def main(path: str, *, really: bool) -> int:
    """
    Show what would go; with *really*, let exactly that go.
    """
    stale = Tags(any=["temporary", "draft", "test"]) & OlderThan("90d")
    with memdelete.open(
        path,
        protect=Tags(any=["pinned", "important"]),
        max_share=0.5,  # a cleanup that takes half of the store is no cleanup
        actor="cleanup",
    ) as memories:
        preview = memories.preview(stale)
        print(preview)
        if not really or preview.matched == 0:
            return 0
        receipt = memories.delete(preview, reason="old drafts")
        print(receipt)
        print(f"To take it back: memdelete restore {path} {receipt.operation}")

    return 0


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--yes"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    try:
        sys.exit(main(arguments[0], really="--yes" in sys.argv))
    except MemdeleteError as error:
        sys.exit(f"{type(error).__name__}: {error}")
