"""
Forget on purpose: composable filters, one selection for preview and delete, undo, and proof.

Every name is fetched from its own room when it is first asked for, so that a server which imports
memdelete and never deletes anything pays for nothing. sqlglot comes with the first deletion, a
driver with the first store that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from . import tags, times
    from .deleter import AsyncDeleter, Deleter
    from .errors import (
        BackendError,
        FilterError,
        InDoubt,
        MemdeleteError,
        PreviewStale,
        Refused,
        StoreError,
        Unsupported,
        Unverified,
    )
    from .filters import (
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
    from .memories import UNKNOWN, Memory, Truth
    from .opening import open, open_async
    from .receipts import Entry, Preview, Receipt, Refusal, Restoration
    from .schema import (
        Collection,
        Edges,
        End,
        Field,
        Flag,
        FullText,
        Ledger,
        References,
        Rows,
        Store,
        Vectors,
    )
    from .sql.compile import compile_filter

    __version__: str


__all__ = [
    "UNKNOWN",
    "After",
    "And",
    "AsyncDeleter",
    "BackendError",
    "Before",
    "Between",
    "Collection",
    "Deleter",
    "Edges",
    "End",
    "Entry",
    "Everything",
    "Field",
    "Filter",
    "FilterError",
    "Flag",
    "FullText",
    "Hash",
    "InDoubt",
    "Key",
    "Ledger",
    "MemdeleteError",
    "Memory",
    "NewerThan",
    "Not",
    "OlderThan",
    "Or",
    "Preview",
    "PreviewStale",
    "Receipt",
    "References",
    "Refusal",
    "Refused",
    "Restoration",
    "Rows",
    "Since",
    "Store",
    "StoreError",
    "Tags",
    "Truth",
    "Unsupported",
    "Untagged",
    "Until",
    "Unverified",
    "Vectors",
    "__version__",
    "compile_filter",
    "field",
    "open",
    "open_async",
    "tags",
    "times",
]

# Where each name lives. The imports above tell type checkers the same; `test_public` compares.
_ROOMS = {
    "deleter": "AsyncDeleter Deleter",
    "errors": (
        "BackendError FilterError InDoubt MemdeleteError PreviewStale Refused StoreError "
        "Unsupported Unverified"
    ),
    "filters": (
        "After And Before Between Everything Filter Hash Key NewerThan Not OlderThan Or Since "
        "Tags Untagged Until field"
    ),
    "memories": "UNKNOWN Memory Truth",
    "opening": "open open_async",
    "receipts": "Entry Preview Receipt Refusal Restoration",
    "schema": "Collection Edges End Field Flag FullText Ledger References Rows Store Vectors",
    "sql.compile": "compile_filter",
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}


if not TYPE_CHECKING:  # or every misspelt name would pass the type checkers

    def __getattr__(name: str) -> object:
        if name in {"tags", "times"}:
            return import_module(f".{name}", __name__)
        if name == "__version__":
            value = _version()
        elif name in _HOMES:
            value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        globals()[name] = value

        return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__all__", "__doc__", "__name__", "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - heavy, rarely asked

    try:
        return version(__name__)
    except PackageNotFoundError:  # a checkout that nobody installed
        return "0+unknown"
