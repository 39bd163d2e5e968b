"""
Reading the text of a CREATE statement, for what no catalog tells.

SQLite names the collation of an index but not of a column, and describes a virtual table only
where its module is loaded; both stand in the text that it keeps. This is its lexer and just
enough grammar. `introspect` visits.
"""

from __future__ import annotations

import re

from collections.abc import Callable, Iterable, Mapping

from attrs import frozen

from memdelete.schema import LiveColumn


__all__ = ["Virtual", "collations", "is_shadow", "lone_names", "options", "virtual"]


@frozen
class Virtual:
    """
    What ``CREATE VIRTUAL TABLE … USING`` says; *columns* is None for modules that we don't know.
    """

    module: str
    arguments: tuple[str, ...] = ()
    columns: tuple[LiveColumn, ...] | None = None


def collations(sql: str) -> dict[str, str]:
    """
    The collation of each column that names one, by the column's name in small letters.
    """
    found: dict[str, str] = {}
    if "COLLATE" not in sql.upper():  # most tables, and much faster
        return found
    for item in _items(sql):
        if item[0].word in _CONSTRAINTS:
            break
        outer = list(_outer(item))
        for place, token in enumerate(outer[:-1]):
            if token.word == "COLLATE":
                found[item[0].name.lower()] = outer[place + 1].name.upper()

    return found


def options(sql: str) -> frozenset[str]:
    """
    What stands behind the columns of a table: ``STRICT``, ``WITHOUT ROWID``.
    """
    if "WITHOUT" not in (capitals := sql.upper()) and "STRICT" not in capitals:
        return frozenset()
    tokens = list(_tokens(sql))
    _, end = _parentheses(tokens)
    rest = " ".join(token.word for token in tokens[end + 1 :])

    return frozenset(filter(None, (part.strip() for part in rest.split(","))))


def virtual(sql: str) -> Virtual:
    """
    The module of a virtual table, its arguments as written, and the columns that they make.
    """
    tokens = list(_tokens(sql))
    using = next(place for place, token in enumerate(tokens) if token.word == "USING")
    module = tokens[using + 1].name.lower()
    items = _items(sql)
    columns = _MODULES.get(module)

    return Virtual(
        module,
        tuple(sql[item[0].start : item[-1].end] for item in items),
        tuple(filter(None, map(columns, items))) if columns else None,
    )


def is_shadow(name: str, owners: Mapping[str, Virtual]) -> bool:
    """
    Is the table one of those in which a virtual table keeps its data?

    A table that FTS5 is told to read with ``content=`` is not, whatever its name.
    """
    for owner, found in owners.items():
        suffix = name.lower().removeprefix(f"{owner.lower()}_")
        if suffix != name.lower() and _SHADOWS.get(found.module, _NEVER).fullmatch(suffix):
            return name.lower() not in {
                _option(argument, "content").lower() for argument in found.arguments
            }

    return False


def lone_names(sql: str) -> tuple[str | None, ...]:
    """
    The columns of a CREATE INDEX; an expression stands as None among them.
    """
    return tuple(item[0].name if _is_lone(item) else None for item in _items(sql))


# --- the lexer ------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""
    (?P<blank> \s+ | --[^\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<quoted> "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | '(?:[^']|'')*' )
  | (?P<word> [\w$]+ )
  | .
    """,
    re.VERBOSE | re.DOTALL,
)
_CONSTRAINTS = {"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"}
_NEVER = re.compile(r"(?!)")


@frozen
class _Token:
    """
    *word* is empty for what is quoted, so that a keyword is never mistaken.
    """

    text: str
    start: int
    word: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def name(self) -> str:
        """
        The text without its quotes.
        """
        return unquoted(self.text)


def unquoted(text: str) -> str:
    """
    A name as it is meant, whichever of the four kinds of quotes it stands in.
    """
    match text[:1]:
        case "[":
            return text[1:-1]
        case '"' | "`" | "'" as quote:
            return text[1:-1].replace(quote * 2, quote)
        case _:
            return text


def _tokens(sql: str) -> Iterable[_Token]:
    for found in _TOKEN.finditer(sql):
        if found.lastgroup != "blank":
            text = found[0]
            yield _Token(text, found.start(), "" if found.lastgroup == "quoted" else text.upper())


def _parentheses(tokens: list[_Token]) -> tuple[int, int]:
    """
    Where the first pair opens and closes; nowhere where there is none.
    """
    depth, start = 0, len(tokens)
    for place, token in enumerate(tokens):
        if token.word == "(":
            start = min(start, place)
            depth += 1
        elif token.word == ")":
            depth -= 1
            if not depth:
                return start, place

    return start, len(tokens)


def _items(sql: str) -> list[list[_Token]]:
    """
    What stands in the first parentheses, cut at the commas.
    """
    tokens = list(_tokens(sql))
    start, end = _parentheses(tokens)
    items: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens[start + 1 : end]:
        depth += (token.word == "(") - (token.word == ")")
        if token.word == "," and not depth:
            items.append([])
        else:
            items[-1].append(token)

    return [item for item in items if item]


def _outer(item: list[_Token]) -> Iterable[_Token]:
    """
    The tokens that stand in no further parentheses.
    """
    depth = 0
    for token in item:
        depth += (token.word == "(") - (token.word == ")")
        if not depth:
            yield token


def _is_lone(item: list[_Token]) -> bool:
    return len(item) == 1 or (len(item) == 2 and item[1].word in {"ASC", "DESC"})


# --- virtual tables -------------------------------------------------------------------------


def _option(argument: str, key: str) -> str:
    name, equals, value = argument.partition("=")

    return unquoted(value.strip()) if equals and name.strip().lower() == key else ""


def _fts5_column(item: list[_Token]) -> LiveColumn | None:
    """
    ``title``, ``title UNINDEXED``; no ``tokenize = …``.
    """
    if len(item) > 1 and item[1].word == "=":
        return None

    return LiveColumn(item[0].name)


def _vec0_column(item: list[_Token]) -> LiveColumn | None:
    """
    ``embedding float[384] distance_metric=cosine``, ``owner text partition key``, ``+note text``.
    """
    if len(item) > 1 and item[1].word == "=":
        return None
    said = item[1:] if item[0].word == "+" else item
    # To this lexer, as to SQLite's, the `[384]` of `float[384]` is a quoted name.
    shape = 3 if len(said) > 2 and said[2].text.startswith("[") else 2
    words = " ".join(token.word for token in said[shape:])

    return LiveColumn(
        said[0].name,
        "".join(token.text for token in said[1:shape]),
        primary=int(words.startswith("PRIMARY KEY")),
    )


_MODULES: Mapping[str, Callable[[list[_Token]], LiveColumn | None]] = {
    "fts5": _fts5_column,
    "vec0": _vec0_column,
}
_SHADOWS = {
    "fts5": re.compile("data|idx|content|docsize|config"),
    "fts4": re.compile("content|segments|segdir|docsize|stat"),
    "fts3": re.compile("content|segments|segdir|docsize|stat"),
    "rtree": re.compile("node|rowid|parent"),
    "geopoly": re.compile("node|rowid|parent"),
    "vec0": re.compile(
        r"info|chunks|rowids|auxiliary|(?:vector_|metadata)chunks\d+|metadatatext\d+"
    ),
}
