"""
Every error memdelete raises, under one root, grouped by whose fault it is.

Attributes come first and the sentence is composed from them: it names the value, the place
and what to do instead. Nothing here knows a filter, a store or an engine; everybody visits.
"""

from __future__ import annotations

import reprlib

from collections.abc import Mapping, Sequence


__all__ = [
    "BackendError",
    "FilterError",
    "InDoubt",
    "MemdeleteError",
    "PreviewStale",
    "Refused",
    "StoreError",
    "Unsupported",
    "Unverified",
    "shown",
]


class MemdeleteError(Exception):
    """
    The root: catch this to catch everything that memdelete raises on purpose.
    """

    def __reduce__(self) -> tuple[object, ...]:
        # Python would call the class with the sentence alone, and an error that cannot be
        # unpickled takes a pool of workers down with it.
        return _again, (type(self), self.args, self.__dict__)


class FilterError(MemdeleteError, ValueError):
    """
    You built a filter that means nothing, or that would mean everything by accident.

    Raised where the filter is built, before any store is opened.
    """

    def __init__(
        self, problem: str, *, value: object = None, place: str = "", advice: str = ""
    ) -> None:
        self.problem = problem
        self.value = value
        self.place = place
        self.advice = advice
        super().__init__(_sentence(place, problem, advice))

    def within(self, place: str) -> FilterError:
        """
        The same error, told from one level further out: ``and[1]`` before ``tags.any``.
        """
        inner = self.place if self.place.startswith("[") else f".{self.place}"
        joined = f"{place}{inner}" if self.place else place

        return FilterError(self.problem, value=self.value, place=joined, advice=self.advice)


class StoreError(MemdeleteError):
    """
    The mapping does not fit what is there: no such table, field, column class or product.
    """

    def __init__(
        self,
        problem: str,
        *,
        place: str = "",
        advice: str = "",
        candidates: Sequence[str] = (),
    ) -> None:
        self.problem = problem
        self.place = place
        self.advice = advice
        self.candidates = tuple(candidates)
        super().__init__(_sentence(place, problem, advice))


class Unsupported(MemdeleteError):
    """
    This engine cannot say it exactly, so it is not said at all.

    Names the node, the dialect and what would work instead.
    """

    def __init__(self, node: str, dialect: str, *, advice: str = "") -> None:
        self.node = node
        self.dialect = dialect
        self.advice = advice
        super().__init__(_sentence(dialect, f"cannot say {node} exactly", advice))


class Refused(MemdeleteError):
    """
    A guard said no: nothing was deleted.

    *limit* and *found* are numbers where the guard counts (``at_most``, ``max_share``).
    """

    def __init__(
        self,
        problem: str,
        *,
        guard: str,
        limit: float | None = None,
        found: float | None = None,
        advice: str = "",
    ) -> None:
        self.problem = problem
        self.guard = guard
        self.limit = limit
        self.found = found
        self.advice = advice
        super().__init__(_sentence("", problem, advice))


class PreviewStale(MemdeleteError):
    """
    What the preview showed is no longer what a delete would take; nothing was changed.

    *came*, *gone* and *changed* hold keys by collection. Above 10,000 rows names are not kept:
    the tuples are empty then and only the *counts* speak.
    """

    def __init__(
        self,
        *,
        came: Mapping[str, Sequence[object]],
        gone: Mapping[str, Sequence[object]],
        changed: Mapping[str, Sequence[object]],
        expected: int,
        found: int,
    ) -> None:
        self.came = {name: tuple(keys) for name, keys in came.items()}
        self.gone = {name: tuple(keys) for name, keys in gone.items()}
        self.changed = {name: tuple(keys) for name, keys in changed.items()}
        self.expected = expected
        self.found = found
        told = [
            f"{word} {_some(name, keys)}"
            for word, group in (
                ("came", self.came),
                ("gone", self.gone),
                ("changed", self.changed),
            )
            for name, keys in group.items()
            if keys
        ]
        detail = "; ".join(told) or "too many rows to name them"
        super().__init__(
            f"the preview is stale: it showed {expected} rows, now {found} match ({detail}). "
            "Nothing was changed; preview again"
        )


class BackendError(MemdeleteError):
    """
    The engine or its driver failed. Always raised ``from`` the driver's own error.

    *locked* is True when another connection holds the store: worth trying again. *in_doubt* is
    True when a commit was sent and nobody can tell whether it arrived.
    """

    def __init__(
        self,
        problem: str,
        *,
        place: str = "",
        advice: str = "",
        locked: bool = False,
        in_doubt: bool = False,
    ) -> None:
        self.problem = problem
        self.place = place
        self.advice = advice
        self.locked = locked
        self.in_doubt = in_doubt
        super().__init__(_sentence(place, problem, advice))


class InDoubt(MemdeleteError):
    """
    The commit was sent and its outcome is unknown.

    ``history(operation)`` settles it: the journal row commits with the rows, so the operation
    happened exactly if it is found there.
    """

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(
            f"operation {operation}: the commit was sent but its outcome is unknown; "
            f"ask history({operation!r}): it is there exactly if it happened"
        )


class Unverified(MemdeleteError):
    """
    After the statements ran, something is not as promised; everything was rolled back.

    *remains* says what, by table: rows or entries that differ from the promise.
    """

    def __init__(self, problem: str, *, remains: Mapping[str, int], advice: str = "") -> None:
        self.problem = problem
        self.remains = dict(remains)
        self.advice = advice
        super().__init__(_sentence("", problem, advice))


def shown(value: object) -> str:
    """
    *value* as a sentence can name it: short, and a text whatever it is.

    A wrong value may be endless, nested without a floor, an integer of more digits than Python
    writes, or have a `repr` of its own that fails; the error about it must still be raised.
    """
    try:
        return _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - a stranger's repr may raise anything
        return f"<{type(value).__name__}>"


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxstring = _SHORT.maxother = 120


def _again(
    kind: type[MemdeleteError], args: tuple[object, ...], attributes: dict[str, object]
) -> MemdeleteError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)

    return error


def _sentence(place: str, problem: str, advice: str) -> str:
    text = f"{place}: {problem}" if place else problem

    return f"{text}; {advice}" if advice else text


def _some(name: str, keys: Sequence[object], most: int = 5) -> str:
    told = ", ".join(map(shown, keys[:most]))
    more = f" and {len(keys) - most} more" if len(keys) > most else ""

    return f"{name} {told}{more}"
