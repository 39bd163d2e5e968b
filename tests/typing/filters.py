"""
How filters look to a type checker. Checked by mypy and pyright, never run.

Where a line must *not* type-check it carries an ignore, and mypy complains once it is not needed.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import assert_type

from memdelete import (
    After,
    And,
    Before,
    Between,
    Everything,
    Filter,
    Hash,
    Key,
    NewerThan,
    Not,
    OlderThan,
    Or,
    Since,
    Tags,
    Untagged,
    Until,
    field,
)


# What is composed is a Filter, whatever the parts are.
assert_type(Tags(any=["temporary", "draft"]) & Before("2024-01-01"), Filter)
assert_type(Tags(all=("a",)) | Untagged(), Filter)
assert_type(~Tags(none={"pinned"}, ignore_case=True), Filter)
assert_type(Everything() & ~Hash("abc", "def"), Filter)

assert_type(And(Untagged(), Or(Hash("a"), Key(1))).parts, tuple[Filter, ...])
assert_type(Not(Everything()).part, Filter)

# Times come as text, dates and datetimes; another time is named.
Before("2024-01-01")
After(date(2024, 1, 1))
Since(datetime(2024, 1, 1, tzinfo=UTC), on="updated_at")
Until("2024-01-01T10:00Z")
Between("2024-01-01", date(2025, 1, 1))
OlderThan("30d")
NewerThan(timedelta(hours=36), on="updated_at")

# Keys are what tables have.
Key(7)
Key("a", "b", collection="episodes")
Key((1, "ana"))

# What a filter is made of can be read, and not written.
assert_type(Hash("abc").values, tuple[str, ...])
assert_type(Tags(any=["a"]).none, tuple[str, ...])
assert_type(Before("2024-01-01").at, datetime | date)
assert_type(Before("2024-01-01").on, str)
assert_type(field("owner").eq("ana").op, str)

# A field's comparisons are filters.
assert_type(field("owner").eq("ana") & field("project").missing(), Filter)
assert_type(field("importance").lt(0.5) | field("layer").isin(["user", "agent"]), Filter)
assert_type(field("name").startswith("tmp") & field("name").glob("tmp-*"), Filter)

# There and back, and asking.
stale: Filter = Filter.from_dict({"untagged": True})
assert_type(stale.to_dict(), dict[str, object])
assert_type(stale.resolve(zone="Europe/Vienna", now=datetime(2024, 1, 1, tzinfo=UTC)), Filter)

# What makes no sense is refused before it runs.
Before(1704067200)  # type: ignore[arg-type]
Hash(17)  # type: ignore[arg-type]
Tags(["temporary"])  # type: ignore[call-arg]
OlderThan(30)  # type: ignore[arg-type]
Between("2024-01-01")  # type: ignore[call-arg]
Key(1.0)  # type: ignore[arg-type]
And(Untagged(), "a")  # type: ignore[arg-type]
Or([Untagged()])  # type: ignore[arg-type]
Not(None)  # type: ignore[arg-type]
field("x").eq(None)  # type: ignore[arg-type]
field("x").contains(1)  # type: ignore[arg-type]
Untagged() & None  # type: ignore[operator]
