"""
The command line: call the deleter, print what comes back.

Results go to stdout, everything else to stderr. Nothing is decided here but when to ask: a
deletion is previewed, shown and then done exactly as shown. What may be said is told by
`cli_words`.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import threading

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, TextIO

from . import opening
from .cli_words import UsageError, conditions, json_filter, parse, wanted
from .errors import FilterError, MemdeleteError, Refused, StoreError
from .filters import Filter


if TYPE_CHECKING:
    from .deleter import Deleter
    from .receipts import Entry, Preview, Receipt, Restoration

__all__ = ["main"]

_DONE, _FAILED, _WRONG, _INTERRUPTED, _NOBODY_READS = 0, 1, 2, 130, 141
_TICK = 1.0
_BEGINNING = re.compile(r"[0-9a-f]{4,31}", re.ASCII)
_ALL = 2**31 - 1
_COLOURS = {"bold": "1", "red": "31"}


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run one command and answer its exit code; *argv* is what follows the program's name.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _tell("interrupted; memdelete history shows what had been done by then")
        return _INTERRUPTED
    except BrokenPipeError:
        # Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS

    return code


def _run(words: list[str]) -> int:
    as_json = "--json" in words
    try:
        said = parse(words)
        if said.version:
            print(f"memdelete {_version()}")
            return _DONE
        return _COMMANDS[said.command](said)
    except (UsageError, FilterError) as error:
        return _fail(error, _WRONG, as_json=as_json)
    except MemdeleteError as error:
        return _fail(error, _FAILED, as_json=as_json)
    except ModuleNotFoundError as error:
        missing = StoreError(
            f"the package {error.name} is not installed",
            advice=f"pip install 'memdelete[{error.name}]'",
        )
        return _fail(missing, _FAILED, as_json=as_json)


# --- the commands ---------------------------------------------------------------------------


def _preview(said: Namespace) -> int:
    with _opened(said) as memories, _patience(said, "looking"):
        found = memories.preview(
            wanted(said, memories),
            mode=said.mode,
            collections=said.collection,
            include=said.include,
        )
    _show(said, found, str(found.matched))

    return _DONE


def _delete(said: Namespace) -> int:
    how: dict[str, Any] = {
        "mode": said.mode,
        "collections": said.collection,
        "include": said.include,
    }
    with _opened(said) as memories:
        what: Filter | Preview = (asked := wanted(said, memories))
        if not said.yes:
            with _patience(said, "looking"):
                what = seen = memories.preview(asked, **how)
            how = {}  # the preview says it
            _ask_about(said, seen)
        with _patience(said, "deleting"):
            receipt = memories.delete(what, reason=said.reason, **how)
    _show(said, receipt, receipt.operation)
    if receipt.removed and "hard" not in receipt.mode.values() and not (said.json or said.quiet):
        _tell(f"to take it back: memdelete restore {shlex.quote(said.store)} {receipt.operation}")

    return _DONE


def _ask_about(said: Namespace, seen: Preview) -> None:
    # Nothing to ask of nothing, nor of what is certainly refused: more rows than the ceiling.
    if seen.matched == 0 or (said.at_most is not None and seen.matched > said.at_most):
        return
    _need_somebody()
    if not said.quiet:
        print(seen, file=sys.stderr)
    ending = " for good" if "hard" in seen.mode.values() else ""
    _ask(f"Delete {_memories(seen.matched)}{ending}?")


def _restore(said: Namespace) -> int:
    with _opened(said) as memories:
        what: Filter | str
        if said.operation is None:
            what = wanted(said, memories)
        else:
            what = _whole(memories, said.operation)
        with _patience(said, "restoring"):
            back = memories.restore(
                what, collections=said.collection, strict=said.strict, reason=said.reason
            )
    _show(said, back, back.operation)
    if back.refused:
        _tell(f"{_memories(len(back.refused))} could not come back")

    return _FAILED if back.refused else _DONE


def _purge(said: Namespace) -> int:
    with _opened(said) as memories:
        words: dict[str, Any] = {
            "older_than": said.deleted_age,
            "deleted_before": said.deleted_before,
            "filter": wanted(said, memories) if conditions(said) else None,
        }

        def purge(at_most: int | None) -> Receipt:
            with _patience(said, "purging"):
                if said.bin:
                    return memories.bin.purge(**words, at_most=at_most)
                return memories.purge(
                    **words, collections=said.collection, reason=said.reason, at_most=at_most
                )

        receipt = purge(None) if said.yes else _purge_asking(purge)
    _show(said, receipt, receipt.operation)

    return _DONE


def _purge_asking(purge: Callable[[int | None], Receipt]) -> Receipt:
    """
    A purge has no preview: the ceiling of 0 counts, and then no more may go than were counted.
    """
    _need_somebody()
    try:
        return purge(0)
    except Refused as refused:
        if refused.guard != "at_most" or refused.found is None:
            raise
        found = int(refused.found)
    _ask(f"Purge {_memories(found)} for good?")

    return purge(found)


def _history(said: Namespace) -> int:
    with _opened(said) as memories:
        operation = said.operation and _whole(memories, said.operation)
        entries = memories.history(operation, limit=said.limit)
    if said.operation is not None:
        if not entries:
            raise StoreError(
                f"there is no operation {said.operation!r}",
                place=said.store,
                advice="it did not happen, or not within this scope",
            )
        _show(said, entries[0], entries[0].operation)
    elif said.json:
        _print_json({"operations": [entry.to_dict() for entry in entries]})
    elif said.quiet:
        for entry in entries:
            print(entry.operation)
    else:
        _print_entries(entries)

    return _DONE


def _prepare(said: Namespace) -> int:
    with _opened(said) as memories:
        statements = memories.prepare(dry_run=said.dry_run)
    if said.json:
        _print_json({"dry_run": said.dry_run, "statements": list(statements)})
    elif not said.quiet:
        for statement in statements:
            print(f"{statement.strip().removesuffix(';')};")
        if not statements:
            print("nothing to do: the journal and the bins are there", file=sys.stderr)

    return _DONE


def _demo(said: Namespace) -> int:
    from .demo import play  # noqa: PLC0415 - the other commands do without

    return _DONE if play(said.keep, lambda line: print(line, flush=True)) else _FAILED


_COMMANDS: Mapping[str, Callable[[Namespace], int]] = {
    "preview": _preview,
    "delete": _delete,
    "restore": _restore,
    "purge": _purge,
    "history": _history,
    "prepare": _prepare,
    "demo": _demo,
}


def _opened(said: Namespace) -> Deleter:
    given: dict[str, Any] = {
        word: value
        for word in ("zone", "at_most", "max_share", "actor")
        if (value := getattr(said, word, None)) is not None
    }
    for word in ("scope", "protect"):
        if (text := getattr(said, word, None)) is not None:
            given[word] = json_filter(text, f"--{word}")

    return opening.open(said.store, **given)


def _version() -> str:
    try:
        return version("memdelete")
    except PackageNotFoundError:
        return "0+unknown"


def _whole(memories: Deleter, operation: str) -> str:
    """
    The operation whose id begins so, where it is exactly one; else the text as it is.
    """
    if not _BEGINNING.fullmatch(operation):
        return operation
    found = [
        entry.operation
        for entry in memories.history(limit=_ALL)
        if entry.operation.startswith(operation)
    ]
    if len(found) > 1:
        raise StoreError(
            f"{len(found)} operations begin with {operation!r}",
            place=memories.store.name,
            advice="write more of it",
        )

    return found[0] if found else operation


# --- asking ---------------------------------------------------------------------------------


def _need_somebody() -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused(
            "nothing was deleted: there is nobody to ask",
            guard="yes",
            advice="look with memdelete preview, then say --yes",
        )


def _ask(question: str) -> None:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Refused("nothing was deleted: the answer was not yes", guard="yes")


@contextmanager
def _patience(said: Namespace, doing: str) -> Iterator[None]:
    """
    Tell on a terminal that it still goes on, once it takes longer than a second.
    """
    if said.json or said.quiet or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def tick() -> None:
        ticks = 0
        while not done.wait(_TICK):
            ticks += 1
            print(f"\r{doing}, {ticks * _TICK:.0f} s ", end="", file=sys.stderr, flush=True)
        if ticks:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield
    finally:
        done.set()
        ticking.join()


# --- telling --------------------------------------------------------------------------------


def _show(said: Namespace, report: Preview | Receipt | Restoration | Entry, essence: str) -> None:
    if said.json:
        _print_json(report.to_dict())
    elif said.quiet:
        print(essence)
    else:
        first, newline, rest = str(report).partition("\n")
        print(f"{_painted(first, 'bold', sys.stdout)}{newline}{rest}")


def _print_entries(entries: Sequence[Entry]) -> None:
    head = ("when (UTC)", "operation", "what", "rows", "who", "why")
    rows = [
        (
            f"{entry.at:%Y-%m-%d %H:%M:%S}",
            entry.operation,
            _deed(entry),
            str(entry.report.get("restored", entry.report.get("removed", ""))),
            str(entry.report.get("actor") or ""),
            str(entry.report.get("reason") or ""),
        )
        for entry in entries
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for number, row in enumerate([head, *rows]):
        cells = [
            cell.rjust(width) if name == "rows" else cell.ljust(width)
            for name, cell, width in zip(head, row, widths, strict=True)
        ]
        line = "  ".join(cells).rstrip()
        print(line if number else _painted(line, "bold", sys.stdout))


def _deed(entry: Entry) -> str:
    modes = entry.report.get("mode")
    said = sorted(set(modes.values())) if isinstance(modes, Mapping) else []

    return f"{entry.verb} ({', '.join(said)})" if said else entry.verb


def _print_json(report: object) -> None:
    # Escaped, so that it is one line of plain ASCII wherever it goes.
    print(json.dumps(report))


def _fail(error: Exception, code: int, *, as_json: bool) -> int:
    if as_json:
        attributes = {name: _plain(value) for name, value in vars(error).items()}
        _print_json({"error": type(error).__name__, "message": str(error), **attributes})
    else:
        _tell(str(error))

    return code


def _plain(value: object) -> object:
    match value:
        case Mapping():
            return {str(name): _plain(part) for name, part in value.items()}
        case tuple() | list() | set() | frozenset():
            return [_plain(part) for part in value]
        case str() | int() | float() | bool() | None:
            return value
        case Filter():
            return value.to_dict()
        case _:
            return str(value)


def _tell(text: str) -> None:
    with suppress(BrokenPipeError):
        print(f"{_painted('memdelete:', 'red', sys.stderr)} {text}", file=sys.stderr, flush=True)


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _painted(text: str, colour: str, stream: TextIO) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not stream.isatty():
        return text

    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"
