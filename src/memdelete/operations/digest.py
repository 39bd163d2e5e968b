"""
A digest of selected rows: the same for the same rows in any order, different after any change.

Each row is hashed with its collection, key, hash and the columns that the filter reads; the
hashes are added up. It says *that* rows are the same, and nothing of what they hold.
"""

from __future__ import annotations

import hashlib

from collections.abc import Iterable

from memdelete.filters import KeyValue
from memdelete.questions import Found


__all__ = ["MOST_NAMED", "Digest"]

MOST_NAMED = 10_000
"""Above so many rows a preview keeps no fingerprints, and staleness is told in counts."""

_SPACE = 1 << 128


class Digest:
    """
    Adds up rows as they stream by.
    """

    def __init__(self) -> None:
        self.count = 0
        self._sum = 0
        self._rows: dict[tuple[str, KeyValue], int] | None = {}

    def add(self, collection: str, rows: Iterable[Found]) -> None:
        """
        Count in *rows* of *collection*.
        """
        for row in rows:
            fingerprint = _fingerprint(collection, row)
            self._sum = (self._sum + fingerprint) % _SPACE
            self.count += 1
            if self._rows is not None:
                self._rows[collection, row.key] = fingerprint
        if self._rows is not None and self.count > MOST_NAMED:
            self._rows = None

    @property
    def fingerprints(self) -> dict[tuple[str, KeyValue], int] | None:
        """
        One number a row, or None where there are too many rows to name.
        """
        return None if self._rows is None else dict(self._rows)

    def __str__(self) -> str:
        return f"{self.count}:{self._sum:032x}"


def _fingerprint(collection: str, row: Found) -> int:
    # repr tells 1 from 1.0 and "1", and text from bytes; that is all a fingerprint needs.
    said = repr((collection, row.key, row.hash, row.image)).encode("utf-8", "surrogatepass")

    return int.from_bytes(hashlib.blake2b(said, digest_size=16).digest(), "big")
