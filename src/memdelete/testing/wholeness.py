"""
What a SQLite store holds, bit for bit, so that before and after can be compared.

*Whole* means: every ordinary table equal in rowid, storage class and bytes, with ledgers, bins,
journal and `sqlite_sequence` aside; of virtual tables what they answer: vectors by rowid as
bytes, and the vocabulary of full-text indexes with where each word stands.
"""

from __future__ import annotations

import struct

from collections.abc import Callable, Iterable, Mapping, Sequence


__all__ = ["Rows", "dump", "integrity"]

Rows = Callable[[str], Sequence[tuple[object, ...]]]
"""Runs one statement and returns its rows."""

_OURS = ("memdelete_", "sqlite_")
_INNER = (
    *("data", "idx", "content", "docsize", "config"),
    *("info", "chunks", "rowids", "vector_chunks00", "auxiliary"),
    *(f"metadatachunks0{number}" for number in range(10)),
    *(f"metadatatext0{number}" for number in range(10)),
)


def dump(rows: Rows, *, aside: Iterable[str] = ()) -> Mapping[str, Sequence[object]]:
    """
    Every table's rows in the order of their rowids; *aside* names tables left out (ledgers).
    """
    listed = rows(
        "SELECT name, type, wr, (SELECT sql FROM sqlite_schema AS s WHERE s.name = l.name)"
        " FROM pragma_table_list AS l WHERE schema = 'main' ORDER BY name"
    )
    left_out = set(aside)
    # A virtual table's inner tables are known as such only while its module is loaded.
    inner = {
        f"{name}_{suffix}"
        for name, _, _, sql in listed
        if "CREATE VIRTUAL" in str(sql).upper()
        for suffix in _INNER
    }
    found: dict[str, Sequence[object]] = {}
    for name, kind, without_rowid, sql in listed:
        if str(name).startswith(_OURS) or name in left_out or name in inner:
            continue
        match kind:
            case "table":
                found[str(name)] = _table(rows, str(name), rowid=not without_rowid)
            case "virtual":
                found[str(name)] = _virtual(rows, str(name), str(sql).lower())
            case _:
                continue

    return found


def integrity(rows: Rows) -> Mapping[str, object]:
    """
    The engine's own checks: of the file, and of each full-text index against its table.
    """
    checks: dict[str, object] = {"file": rows("PRAGMA integrity_check")[0][0]}
    indexes = rows("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5%' ORDER BY name")
    for (name,) in indexes:
        try:
            rows(
                f"INSERT INTO {_quoted(name)}({_quoted(name)}, rank) VALUES ('integrity-check', 1)"
            )
            checks[str(name)] = "ok"
        except Exception as error:  # noqa: BLE001 - each driver has its own class for a corrupt index
            checks[str(name)] = str(error)

    return checks


def _table(rows: Rows, name: str, *, rowid: bool) -> Sequence[object]:
    hidden = "rowid, " if rowid else ""
    plain = [row[0] for row in rows(f"SELECT name FROM pragma_table_xinfo({_text(name)})")]
    order = "rowid" if rowid else ", ".join(map(_quoted, plain))
    kinds = ", ".join(f"typeof({_quoted(column)})" for column in plain)
    columns = ", ".join(map(_quoted, plain))

    return [
        tuple(map(_bits, row))
        for row in rows(f"SELECT {hidden}{columns}, {kinds} FROM {_quoted(name)} ORDER BY {order}")
    ]


def _virtual(rows: Rows, name: str, sql: str) -> Sequence[object]:
    if "using vec0" in sql:
        return [
            tuple(map(_bits, row))
            for row in rows(f"SELECT rowid, * FROM {_quoted(name)} ORDER BY rowid")
        ]
    if "using fts5" in sql:
        kept = (
            []
            if "content=" in sql.replace(" ", "")
            else rows(f"SELECT rowid, * FROM {_quoted(name)}")
        )
        rows(
            f"CREATE VIRTUAL TABLE temp.memdelete_words USING fts5vocab('main', {_text(name)}, 'instance')"
        )
        try:
            words = rows("SELECT * FROM temp.memdelete_words ORDER BY 1, 2, 3, 4")
            return [*map(tuple, words), *map(tuple, kept)]
        finally:
            rows("DROP TABLE temp.memdelete_words")

    return []


def _bits(value: object) -> object:
    # 0.0 == -0.0 and 1 == 1.0 in Python; on disk they differ.
    return struct.pack(">d", value) if isinstance(value, float) else value


def _quoted(name: object) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _text(name: object) -> str:
    return "'" + str(name).replace("'", "''") + "'"
