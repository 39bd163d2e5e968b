"""
Arrays of references, put back: what came back is woven in where it stood.

The array may have changed since, by others or by other operations of ours; what they did stays.
`returning` visits.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from attrs import define
from sqlglot import exp

from memdelete.codec import read_array, write_json
from memdelete.questions import (
    Site,
    tie_bin,
)
from memdelete.schema import (
    References,
)

from .build import (
    Speech,
    across,
    column,
    counted,
    delete,
    each_of,
    number_in,
    say,
    select,
    staging,
    table,
    update,
)
from .render import Expression, Result, Statement, parameter


__all__ = ["put_back_references"]

Changing = Generator[Statement, Result, int]

_ONE = exp.Literal.number(1)


def put_back_references(
    site: Site, sidecar: References, speech: Speech
) -> Generator[Statement, Result, tuple[int, int]]:
    """
    Put what is staged back into the arrays; answers how many came whole and how many wait.
    """
    # The array may have changed since: what came back is woven in where it stood before, and
    # what others put there stays. Untouched, it is given back as it was, byte for byte.
    by = "h" if sidecar.by == "hash" else "k0"
    staged = select([column("staged", by), column("staged", "o")], staging(site, "staged"))
    rows = (yield say(speech, staged)).rows
    back, operations = {row[0] for row in rows}, {row[1] for row in rows}
    arrays: dict[object, list[_Image]] = {}
    for row in (yield say(speech, _images(site, sidecar))).rows:
        arrays.setdefault(row[2], []).append(_Image(*row))
    came = waits = 0
    for images in arrays.values():
        for image in images:
            items = read_array(image.taken)
            returning = [item for item in items if item in back]
            if image.operation not in operations or not returning:
                continue
            rest = [item for item in items if item not in back]
            came, waits = came + 1, waits + bool(rest)
            yield from _weave((site, sidecar), image, images, (returning, rest), speech)
    lost = counted(
        table(site, tie_bin(sidecar), "image"), _ours("image", site), _rowless(site, sidecar)
    )

    return came, waits + number_in((yield say(speech, lost)))


def _weave(
    at: tuple[Site, References],
    image: _Image,
    images: Sequence[_Image],
    items: tuple[list[object], list[object]],
    speech: Speech,
) -> Generator[Statement, Result, None]:
    (site, sidecar), (returning, rest) = at, items
    name, stood, now = tie_bin(sidecar), read_array(image.before), image.now
    woven = str(image.before) if now == image.after and not rest else _woven(now, returning, stood)
    yield from _set(site, sidecar.table, {sidecar.column: woven}, {sidecar.key: image.key}, speech)
    # What other operations took out of the same array now has these around it again.
    for other in images:
        if other is not image:
            other.before = _woven(other.before, returning, stood)
            other.after = woven if other.after == now else _woven(other.after, returning, stood)
            texts = {"memdelete_before": other.before, "memdelete_after": other.after}
            yield from _set(site, name, texts, {"rowid": other.rowid}, speech)
        other.now = woven
    if rest:
        texts = {"memdelete_taken": write_json(rest), "memdelete_after": woven}
        yield from _set(site, name, texts, {"rowid": image.rowid}, speech)
    else:
        image.taken = "[]"
        gone = exp.EQ(this=column(name, "rowid"), expression=parameter("image"))
        yield say(speech, delete(table(site, name), gone), {"image": image.rowid})


@define
class _Image:
    rowid: object
    operation: object
    key: object
    before: object
    after: object
    taken: object
    now: object


def _images(site: Site, sidecar: References) -> exp.Select:
    marks = ("memdelete_before", "memdelete_after", "memdelete_taken")
    tree = select(
        [
            column("image", "rowid"),
            column("image", "memdelete_operation"),
            column("image", sidecar.key),
            *(column("image", name) for name in marks),
            column("row", sidecar.column),
        ],
        table(site, tie_bin(sidecar), "image"),
        exp.EQ(this=column("row", sidecar.key), expression=column("image", sidecar.key)),
        each_of(
            column("image", sidecar.key),
            select(
                [column("touched", sidecar.key)],
                table(site, tie_bin(sidecar), "touched"),
                _ours("touched", site),
            ),
        ),
    )

    return across(tree, table(site, sidecar.table, "row"))


def _ours(relation: str, site: Site) -> Expression:
    operations = select([column("staged", "o")], staging(site, "staged"))

    return each_of(column(relation, "memdelete_operation"), operations)


def _rowless(site: Site, sidecar: References) -> Expression:
    row = exp.EQ(this=column("row", sidecar.key), expression=column("image", sidecar.key))

    return exp.not_(exp.Exists(this=select([_ONE.copy()], table(site, sidecar.table, "row"), row)))


def _set(
    site: Site,
    name: str,
    values: Mapping[str, object],
    row: Mapping[str, object],
    speech: Speech,
) -> Generator[Statement, Result, None]:
    params = {f"v{number}": value for number, value in enumerate(values.values())}
    sets = {each: parameter(f"v{number}") for number, each in enumerate(values)}
    ((key, value),) = row.items()
    condition = exp.EQ(this=column(name, key), expression=parameter("row"))
    yield say(speech, update(table(site, name), sets, condition), {**params, "row": value})


def _woven(text: object, items: Sequence[object], order: Sequence[object]) -> str:
    found = read_array(text)
    for item in items:
        if item in found:
            continue
        before = order[: order.index(item)]
        at = max((found.index(each) + 1 for each in before if each in found), default=0)
        found.insert(at, item)

    return write_json(found)
