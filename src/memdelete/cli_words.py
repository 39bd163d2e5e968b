"""
What may be said on the command line, and the filter that it means.

Words come in and a namespace or a filter goes out; no store is opened here and nothing is
printed. A condition given twice is refused, since the second would silently replace the first;
so is an abbreviation, which another version might read as something else.
"""

from __future__ import annotations

import argparse
import re
import sys

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from . import codec
from .errors import FilterError
from .filters import (
    After,
    And,
    Before,
    Everything,
    Filter,
    Hash,
    Key,
    NewerThan,
    OlderThan,
    Since,
    Tags,
    Untagged,
    Until,
)


if TYPE_CHECKING:
    from .deleter import Deleter

__all__ = ["UsageError", "conditions", "json_filter", "parse", "wanted"]

_CONDITIONS = (
    "hash",
    "key",
    "tags",
    "untagged",
    "before",
    "after",
    "since",
    "until",
    "older_than",
    "newer_than",
    "filter",
    "everything",
)
_TIMES: Mapping[str, Any] = {
    "before": Before,
    "after": After,
    "since": Since,
    "until": Until,
    "older_than": OlderThan,
    "newer_than": NewerThan,
}
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,18})", re.ASCII)
_INTEGER = re.compile(r"\b(tiny|small|medium|big|huge|u)?int(eger|\d)?\b|serial", re.IGNORECASE)

_CODES = "Exit codes: 0 done (zero matches too), 1 refused or failed, 2 wrong usage."
_HELD = (
    "All conditions that are given must hold. A TIME is 2024-01-31, 2024-01-31T10:00 (both in "
    "--zone) or 2024-01-31T10:00Z; an AGE is 30d, 6mo, 1y or 36h."
)
_COMMANDS = {
    "preview": ("show what a delete would take", "Show what a delete would take; writes nothing."),
    "delete": ("delete what the conditions say", "Delete what the conditions say, after asking."),
    "restore": ("take a deletion back", "Take a deletion back: by its id, or what conditions say."),
    "purge": (
        "remove deleted memories for good",
        "Remove deleted memories for good, after asking; by itself, what fills the bin for 30 days.",
    ),
    "history": ("show what was done", "Show what was done, newest first."),
    "prepare": (
        "make the journal and the bins",
        "Make the journal and the bins beforehand, and print the statements for it.",
    ),
    "demo": (
        "play it all through, with proofs",
        "Make a store, delete from it and take it back, and prove each step.",
    ),
}
_USAGE = {
    "preview": "STORE CONDITIONS [options]",
    "delete": "STORE CONDITIONS [options]",
    "restore": "STORE (OPERATION | CONDITIONS) [options]",
    "purge": "STORE [--older-than AGE | --deleted-before TIME] [CONDITIONS] [options]",
    "history": "STORE [OPERATION] [options]",
    "prepare": "STORE [options]",
    "demo": "[--keep PATH]",
}


class UsageError(Exception):
    """
    Words that make no command.
    """


def parse(words: Sequence[str]) -> argparse.Namespace:
    """
    The command and its options, checked as far as that goes without a store.
    """
    said = _parser().parse_args(words)
    if said.command is None and not said.version:
        raise UsageError("say what to do; see memdelete --help")
    given = conditions(said)
    if said.command in {"preview", "delete"} and not given:
        raise UsageError(f"{said.command} needs a condition; --everything says all of them")
    if said.command == "restore" and bool(given) is (said.operation is not None):
        raise UsageError("restore needs either an OPERATION or conditions")
    if said.command == "purge" and said.bin and (said.collection or said.reason is not None):
        raise UsageError("--bin takes neither --collection nor --reason")
    if getattr(said, "tag_match", None) is not None and said.tags is None:
        raise UsageError("--tag-match says how to match --tags, and there are none")
    if [getattr(said, word, None) for word in ("filter", "scope", "protect")].count("-") > 1:
        raise UsageError("only one option can read from stdin")

    return said


def conditions(said: argparse.Namespace) -> list[str]:
    """
    The words that were said of what is to go.
    """
    return [word for word in _CONDITIONS if getattr(said, word, None) not in (None, False)]


def wanted(said: argparse.Namespace, memories: Deleter) -> Filter:
    """
    The conditions as one filter: all of them must hold.
    """
    parts = [_filter(word, said, memories) for word in conditions(said)]

    return parts[0] if len(parts) == 1 else And(*parts)


def json_filter(text: str, option: str) -> Filter:
    """
    A filter's dict form: the text itself, ``@FILE``, or ``-`` for what comes in.
    """
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise FilterError(f"{text} cannot be read: {error}", value=text, place=option) from error
    try:
        return Filter.from_json(text)
    except FilterError as error:
        raise error.within(option) from None


# --- from words to filters ------------------------------------------------------------------


def _filter(word: str, said: argparse.Namespace, memories: Deleter) -> Filter:
    value = getattr(said, word)
    match word:
        case "hash":
            return Hash(*value)
        case "key":
            return _keys(said, memories)
        case "tags":
            names = [name.strip() for name in value.split(",")]
            return Tags(all=names) if said.tag_match == "all" else Tags(any=names)
        case "untagged":
            return Untagged()
        case "everything":
            return Everything()
        case "filter":
            return json_filter(value, "--filter")
        case _:
            return _TIMES[word](value)  # type: ignore[no-any-return]  # each makes a filter


def _keys(said: argparse.Namespace, memories: Deleter) -> Filter:
    """
    Numbers where the key's column is declared as an integer, else texts.

    Where the key has several columns, each is a JSON array: ``["ana", 7]``.
    """
    store = memories.store
    several = len(store.collections) > 1
    name = said.collection[0] if said.collection and len(set(said.collection)) == 1 else None
    if name is None and several:
        names = ", ".join(collection.name for collection in store.collections)
        raise FilterError(
            "a key is one collection's", place="--key", advice=f"say --collection, of: {names}"
        )
    collection = store.collection(name) if name is not None else store.collections[0]
    values = said.key
    match collection.key:
        case (column,) if _is_integer(memories, collection.table, column):
            values = [int(text) if _NUMBER.fullmatch(text) else text for text in values]
        case (_, _, *_):
            values = [_parts(text) for text in values]

    return Key(*values, collection=collection.name if several else None)


def _parts(text: str) -> tuple[Any, ...]:
    found = codec.parse_json(text)
    if not isinstance(found, list):
        raise FilterError(
            f"{text!r} is no JSON array", value=text, place="--key", advice='say ["ana", 7]'
        )

    return tuple(found)


def _is_integer(memories: Deleter, table: str, name: str) -> bool:
    live = memories.backend.introspect().table(table)
    column = live.column(name) if live is not None else None

    return column is not None and _INTEGER.search(column.type) is not None


# --- the words there are --------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


class _Once(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given = vars(namespace).setdefault("given", set())
        if self.dest in given:
            parser.error(f"{option_string} is given twice")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


def _parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="memdelete",
        usage="memdelete COMMAND STORE [options]",
        description="Forget memories safely: see first, delete exactly that, take it back.",
        epilog=f"memdelete COMMAND --help tells more. {_CODES}",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog="memdelete"
    )
    made = {name: _command(commands, name) for name in _COMMANDS}
    for name in ("preview", "delete", "restore", "purge"):
        _add_conditions(made[name], ages=name != "purge")
    for name in ("preview", "delete"):
        _add_how(made[name])
    _add_restore(made["restore"])
    _add_purge(made["purge"])
    _add_history(made["history"])
    for name in ("preview", "delete", "restore", "purge", "history"):
        _add_guards(made[name], most=name in {"delete", "purge"}, share=name == "delete")
    for name in ("delete", "restore", "purge"):
        _add_deed(made[name], asks=name != "restore")
    made["prepare"].add_argument("--dry-run", action="store_true", help="only print them")
    made["demo"].add_argument("--keep", metavar="PATH", help="make the store here and leave it")

    return top


def _command(commands: Any, name: str) -> argparse.ArgumentParser:
    short, long = _COMMANDS[name]
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=short,
        description=long,
        usage=f"memdelete {name} {_USAGE[name]}",
        epilog=f"{_HELD} {_CODES}" if "CONDITIONS" in _USAGE[name] else _CODES,
        allow_abbrev=False,
    )
    if name != "demo":
        made.add_argument("store", metavar="STORE", help="a file, or the URL of a database")
        made.add_argument("--json", action="store_true", help="print one JSON object")
        made.add_argument("--quiet", action="store_true", help="print the bare count or id")

    return made


def _add_conditions(to: argparse.ArgumentParser, *, ages: bool) -> None:
    add = to.add_argument_group("conditions").add_argument
    add("--hash", action="append", metavar="HASH", help="the content hash; repeatable")
    add("--key", action="append", metavar="KEY", help="the table's own key; repeatable")
    add("--tags", action=_Once, metavar="A,B", help="whole tags, never parts of them")
    add(
        "--tag-match",
        action=_Once,
        choices=("any", "all"),
        help="any of the tags (default), or all",
    )
    add("--untagged", action="store_true", help="without tags")
    add("--before", action=_Once, metavar="TIME", help="created before")
    add("--after", action=_Once, metavar="TIME", help="created after")
    add("--since", action=_Once, metavar="TIME", help="created then or later")
    add("--until", action=_Once, metavar="TIME", help="created then or earlier")
    if ages:
        add("--older-than", action=_Once, metavar="AGE", help="created longer ago")
        add("--newer-than", action=_Once, metavar="AGE", help="created less long ago")
    add("--filter", action=_Once, metavar="JSON", help="any filter; @FILE, or - for stdin")
    add("--everything", action="store_true", help="all of them")
    add("--collection", action="append", metavar="NAME", help="only in this one; repeatable")


def _add_how(to: argparse.ArgumentParser) -> None:
    add = to.add_argument_group("how").add_argument
    modes, views = ("soft", "archive", "hard"), ("live", "deleted", "all")
    add("--mode", action=_Once, choices=modes, help="soft and archive can be taken back")
    add("--include", action=_Once, choices=views, help="which rows are looked at (live)")


def _add_guards(to: argparse.ArgumentParser, *, most: bool, share: bool) -> None:
    add = to.add_argument_group("guards").add_argument
    if most:
        add("--at-most", action=_Once, type=_count, metavar="N", help="refuse, if there are more")
    if share:
        add(
            "--max-share", action=_Once, type=_share, metavar="0.2", help="likewise, of all in view"
        )
    add("--protect", action=_Once, metavar="JSON", help="a filter; what it may be true of stays")
    add("--scope", action=_Once, metavar="JSON", help="a filter; what is outside is out of reach")
    add("--zone", action=_Once, default="UTC", help="of times that name none (UTC)")


def _add_deed(to: argparse.ArgumentParser, *, asks: bool) -> None:
    add = to.add_argument_group("journal").add_argument
    add("--actor", action=_Once, metavar="WHO", help="who does it")
    add("--reason", action=_Once, metavar="WHY", help="why")
    if asks:
        to.add_argument("--yes", action="store_true", help="do not ask")


def _add_restore(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "operation", nargs="?", metavar="OPERATION", help="the id of a deletion, or its beginning"
    )
    to.add_argument("--strict", action="store_true", help="all of it or none of it")


def _add_purge(to: argparse.ArgumentParser) -> None:
    group = to.add_argument_group("when they were deleted")
    age = group.add_mutually_exclusive_group()
    age.add_argument("--older-than", dest="deleted_age", action=_Once, metavar="AGE")
    age.add_argument("--deleted-before", action=_Once, metavar="TIME")
    to.add_argument("--bin", action="store_true", help="from the bin alone, not from the store")


def _add_history(to: argparse.ArgumentParser) -> None:
    to.add_argument("operation", nargs="?", metavar="OPERATION", help="only this one")
    to.add_argument("--limit", action=_Once, type=_count, default=100, metavar="N", help="(100)")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is no count")

    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share: more than 0, at most 1")

    return share
