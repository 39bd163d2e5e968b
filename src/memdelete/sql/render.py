"""
From a tree to the text a driver takes, by way of a guard.

Trees are built with neutral placeholders (`parameter`), rendered, parsed back and compared
before the driver's own style is written; what does not read back as it was meant is never sent.
Compilers and statements visit; nothing here knows a filter.
"""

from __future__ import annotations

import re

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args

import sqlglot

from attrs import Factory, frozen
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from memdelete.errors import MemdeleteError, StoreError, Unsupported


__all__ = [
    "Expression",
    "Form",
    "Paramstyle",
    "Result",
    "Statement",
    "Template",
    "Unfaithful",
    "column",
    "flatten",
    "form",
    "identifier",
    "mark",
    "parameter",
    "parse_predicate",
    "prepare",
    "proven",
    "read_back",
    "render",
    "styled",
    "substituted",
    "table",
]

Expression: TypeAlias = exp.Expr
"""A tree of sqlglot; always of its stock nodes, since compiled ones cannot be subclassed."""

Paramstyle = Literal["qmark", "named", "format", "pyformat", "numeric_dollar", "dollar"]
"""How a driver marks parameters: ``?``, ``:a``, ``%s``, ``%(a)s``, ``$1``, ``$a``."""

Form: TypeAlias = object
"""What a tree says, as nested tuples that compare: see `form`."""

# A mark cannot be mistaken: no identifier and no literal may hold its sign.
_MARK: Final = re.compile("\x01([A-Za-z_][A-Za-z0-9_]*)\x01")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@frozen
class Statement:
    """
    One statement as a driver takes it; *params* is a mapping or a sequence, as its style wants.
    """

    sql: str
    params: Mapping[str, object] | Sequence[object] = Factory(dict)


@frozen
class Result:
    """
    What came back: *rows*, and how many rows the statement itself *changed* (triggers aside).
    """

    rows: Sequence[tuple[object, ...]] = ()
    changed: int = 0


class Unfaithful(MemdeleteError):
    """
    A fault of memdelete: the text it wrote does not read back as what it meant.

    Nothing was sent. Please report it, with *sql*.
    """

    def __init__(self, problem: str, *, sql: str) -> None:
        self.problem = problem
        self.sql = sql
        super().__init__(f"{problem}: {sql!r} was not sent; this is a fault of memdelete")


@frozen
class Template:
    """
    A guarded text in one driver's style, ready for any values of its *parameters*.

    *order* names them as the text does, once for each place.
    """

    sql: str
    order: tuple[str, ...]
    paramstyle: Paramstyle

    def arrange(self, params: Mapping[str, object]) -> Mapping[str, object] | tuple[object, ...]:
        """
        The values as the style wants them: by name, or in the order of the text.
        """
        if self.paramstyle in {"named", "pyformat", "dollar"}:
            return {name: params[name] for name in self.order}

        return tuple([params[name] for name in self.order])

    def bind(self, params: Mapping[str, object]) -> Statement:
        """
        The statement for these values.
        """
        return Statement(self.sql, self.arrange(params))


def parameter(name: str) -> exp.Placeholder:
    """
    A value to be bound, by name: neutral, until the driver's style is written.
    """
    if not _NAME.fullmatch(name):
        raise StoreError(f"{name!r} cannot name a parameter")

    return exp.Placeholder(this=name)


def identifier(name: str) -> exp.Identifier:
    """
    *name* in quotes, whatever it holds; control characters are refused.
    """
    if not name or _CONTROL.search(name):
        raise StoreError(
            f"{name!r} cannot be the name of a table or column here",
            advice="names are not empty and hold no control characters",
        )

    return exp.to_identifier(name, quoted=True)


def column(name: str, relation: str | None = None) -> exp.Column:
    """
    A column, qualified with its *relation* so that no inner query can capture its name.
    """
    return exp.Column(this=identifier(name), table=identifier(relation) if relation else None)


def table(name: str, schema: str | None = None, alias: str | None = None) -> exp.Table:
    """
    A table, with its schema where it has one.
    """
    return exp.Table(
        this=identifier(name),
        db=identifier(schema) if schema else None,
        alias=exp.TableAlias(this=identifier(alias)) if alias else None,
    )


def render(
    tree: Expression, *, dialect: str, paramstyle: Paramstyle, params: Mapping[str, object]
) -> Statement:
    """
    The statement or bare predicate *tree* as text in the driver's style, read back and compared.

    Where the same tree is wanted for other values, keep what `prepare` returns.
    """
    return prepare(tree, dialect=dialect, paramstyle=paramstyle).bind(params)


def prepare(tree: Expression, *, dialect: str, paramstyle: Paramstyle) -> Template:
    """
    The guarded text of *tree*, once for all values.
    """
    return styled(proven(tree, dialect), paramstyle)


def proven(tree: Expression, dialect: str) -> str:
    """
    The text of *tree* with its parameters marked, after a parser read in it what was meant.
    """
    text = _marked(tree, dialect)
    if isinstance(tree, exp.Delete) and not tree.args.get("where"):
        raise Unfaithful("a DELETE without its condition takes all", sql=text)
    said = _said(_readable(text, dialect), dialect, whole=not isinstance(tree, exp.Condition))
    if said != form(tree):
        raise Unfaithful("the statement does not read back", sql=text)

    return text


def substituted(text: str, parts: Mapping[str, str]) -> str:
    """
    A marked text with a text in the place of each mark.
    """
    return _MARK.sub(lambda found: parts[found[1]], text)


def mark(name: str) -> str:
    """
    How the parameter *name* stands in a marked text.
    """
    return f"\x01{name}\x01"


def styled(text: str, paramstyle: Paramstyle) -> Template:
    """
    A marked text in the driver's own style.
    """
    if paramstyle not in get_args(Paramstyle):
        raise StoreError(
            f"{paramstyle!r} is no parameter style",
            advice=f"known: {', '.join(get_args(Paramstyle))}",
        )
    literal = _MARK.split(text)
    order = tuple(literal[1::2])
    if paramstyle in {"format", "pyformat"}:
        literal[::2] = [part.replace("%", "%%") for part in literal[::2]]
    names = tuple(dict.fromkeys(order))
    literal[1::2] = [_placeholder(name, names, paramstyle) for name in order]
    numbered = paramstyle in {"numeric_dollar", "named", "pyformat", "dollar"}

    return Template("".join(literal), names if numbered else order, paramstyle)


def read_back(tree: Expression, dialect: str) -> Form:
    """
    What the text of the predicate *tree* says to a parser that never saw the tree.
    """
    return _said(_readable(_marked(tree, dialect), dialect), dialect, whole=False)


def parse_predicate(sql: str, dialect: str) -> Expression:
    """
    One predicate from its text with placeholders ``:name``.
    """
    return _parse(sql, dialect, whole=False)


# --- what a tree says -----------------------------------------------------------------------


def form(node: object) -> Form:
    """
    The meaning of a tree, as far as a dropped parenthesis or part could change it.

    Parentheses are gone and runs of And or Or are one; everything else is there: the kind of
    each node with all its parts.
    """
    read = _FORMS.get(type(node))
    if read is not None:
        return read(node)
    if isinstance(node, exp.Expr):
        return (node.key, *_parts(node))
    if isinstance(node, list | tuple):
        return tuple([form(part) for part in node])

    return node


def _is(node: exp.Is) -> Form:
    # IS NOT NULL is read as NOT around IS, as IS before NOT, or (PostgreSQL) with a mark.
    right, negated = node.expression, bool(node.args.get("negate"))
    if isinstance(right, exp.Not):
        right, negated = right.this, not negated
    said = ("is", form(node.this), form(right))

    return ("not", said) if negated else said


def flatten(node: exp.And | exp.Or) -> Iterator[Form]:
    """
    The forms of the operands of a run of And or of Or, however it is nested.
    """
    waiting: list[Any] = [node]
    while waiting:
        part = waiting.pop()
        while isinstance(part, exp.Paren):
            part = part.this
        if type(part) is type(node):
            waiting += [part.expression, part.this]
        else:
            yield form(part)


def _ordered(node: exp.Ordered) -> Form:
    return ("descending", form(node.this)) if node.args.get("desc") else form(node.this)


def _parameter(node: exp.Parameter) -> Form:
    inner = node.this

    return ("parameter", inner.this) if type(inner) is exp.Var else (node.key, *_parts(node))


def _parts(node: Expression) -> list[tuple[str, Form]]:
    args = node.args
    return [
        (name, form(value))
        for name in sorted(args)
        if (value := args[name]) is not None and value is not False and value != []
    ]


def _anonymous(node: exp.Anonymous) -> Form:
    # A function that sqlglot does not know keeps its name as text, in the case it was written.
    return (node.name.lower(), *[part for part in _parts(node) if part[0] != "this"])


# Asked by class and not by `match`, since a tree of any statement is read through here.
_FORMS: Final[Mapping[type, Callable[[Any], Form]]] = {
    exp.Paren: lambda node: form(node.this),
    exp.And: lambda node: (node.key, *flatten(node)),
    exp.Or: lambda node: (node.key, *flatten(node)),
    exp.Is: _is,
    exp.Not: lambda node: ("not", form(node.this)),
    exp.Placeholder: lambda node: ("parameter", node.this),
    exp.Parameter: _parameter,
    exp.Identifier: lambda node: ("name", node.this),
    exp.Ordered: _ordered,
    exp.Anonymous: _anonymous,
}


# --- texts ----------------------------------------------------------------------------------


def _marked(tree: Expression, dialect: str) -> str:
    marked = tree.copy()
    names = []
    for node in list(marked.find_all(exp.Placeholder)):
        names.append(str(node.this))
        stand_in = exp.Var(this=mark(node.this))
        if node is marked:
            marked = stand_in
        else:
            node.replace(stand_in)
    try:
        # Generators rewrite nodes in place, but this copy is our own.
        text = marked.sql(dialect=dialect, copy=False, unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise Unsupported(tree.key, dialect, advice=str(error)) from error
    if sorted(names) != sorted(_MARK.findall(text)) or text.count("\x01") != 2 * len(names):
        raise Unfaithful("parameters were lost or doubled", sql=text)

    return text


def _readable(text: str, dialect: str) -> str:
    # To DuckDB, what stands before a colon is an alias: `(:a AND …` is read as nothing good.
    return _MARK.sub(r"$\1" if dialect == "duckdb" else r":\1", text)


@lru_cache(maxsize=512)
def _said(sql: str, dialect: str, *, whole: bool) -> Form:
    # What a text says never changes; what the tree means, that it came from, is asked each time.
    return form(_parse(sql, dialect, whole=whole))


def _parse(sql: str, dialect: str, *, whole: bool) -> Expression:
    try:
        read = sqlglot.parse(sql if whole else f"SELECT 1 WHERE {sql}", dialect=dialect)
    except (SqlglotError, RecursionError) as error:
        raise Unfaithful(f"it does not parse ({error})", sql=sql) from error
    (only,) = read if len(read) == 1 else (None,)
    if only is None or isinstance(only, exp.Command):
        raise Unfaithful("it is not one statement", sql=sql)
    if whole:
        return only
    bare = exp.Select(expressions=[exp.Literal.number(1)], where=only.args.get("where"))
    if form(bare) != form(only) or only.args.get("where") is None:
        raise Unfaithful("it is more than a predicate", sql=sql)

    return only.args["where"].this  # type: ignore[no-any-return]


def _placeholder(name: str, names: tuple[str, ...], paramstyle: Paramstyle) -> str:
    match paramstyle:
        case "qmark":
            return "?"
        case "named":
            return f":{name}"
        case "format":
            return "%s"
        case "pyformat":
            return f"%({name})s"
        case "numeric_dollar":
            return f"${names.index(name) + 1}"
        case "dollar":
            return f"${name}"
