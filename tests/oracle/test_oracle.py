"""
Every engine against the oracle: random filters on random rows, good and bad.

Rows are written raw and decoded from what the engine gives back, so the only thing on trial is
what the SQL makes of them.
"""

from __future__ import annotations

import pytest

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.benches import cases, check
from tests.oracle.sqlite_bench import SQLiteBench


@pytest.fixture(scope="module")
def sqlite() -> SQLiteBench:
    """
    The standard library's SQLite.
    """
    return SQLiteBench()


@given(data=st.data())
def test_sqlite(sqlite, data):
    """
    SQLite selects, deletes and leaves exactly the rows that the oracle says.
    """
    check(sqlite, data.draw(cases(sqlite)))
