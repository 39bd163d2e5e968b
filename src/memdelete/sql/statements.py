"""
Each question as the statements that answer it: one arm a question, no cursor in sight.

An answer is a generator of statements that is sent their results, so that the same arms serve
drivers of both colours. Backends visit, by way of `backends.abc`; nobody else does.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar, cast

from memdelete.errors import BackendError, MemdeleteError
from memdelete.questions import (
    Append,
    ArchiveRows,
    ArchiveTie,
    Clear,
    Count,
    CountImages,
    CountTie,
    CountTies,
    CountView,
    CreateTables,
    Discard,
    DiscardTie,
    Find,
    Listed,
    Look,
    Lookup,
    Mark,
    PutBackRows,
    PutBackTie,
    Question,
    Recall,
    Record,
    Referring,
    Refuse,
    RemoveRows,
    RemoveTie,
    Revive,
    Rewritten,
    Said,
    Sample,
    Secret,
    Stage,
    StageBin,
    Still,
    Unlike,
)

from . import ddl, finding, going, journal, refusing, returning
from .build import Speech, staging_name
from .introspect import introspect
from .render import Paramstyle, Result, Statement


__all__ = ["Paramstyle", "Result", "Speech", "Statement", "answer"]

T = TypeVar("T")


def answer(question: Question[T], speech: Speech) -> Generator[Statement, Result, T]:
    """
    The statements that answer *question*, and the answer.
    """
    return cast("Generator[Statement, Result, T]", _answer(question, speech))


def _answer(question: Question[object], speech: Speech) -> Generator[Statement, Result, object]:  # noqa: C901, PLR0912 - one arm a question
    match question:
        case Look():
            return introspect(speech.dialect)
        case Count():
            return finding.count(question, speech)
        case CountView():
            return finding.count_view(question, speech)
        case Find():
            return finding.find(question, speech)
        case Listed():
            return returning.listed(question, speech)
        case Said():
            return finding.said(question, speech)
        case Lookup():
            return finding.lookup(question, speech)
        case Sample():
            return finding.sample(question, speech)
        case CountImages():
            return finding.count_images(question, speech)
        case CountTies():
            return finding.count_ties(question, speech)
        case Clear():
            return _clear(question)
        case CountTie():
            return finding.count_tie(question, speech)
        case Referring():
            return finding.referring(question, speech)
        case Still():
            return finding.still(question, speech)
        case CreateTables():
            return ddl.made(question.sites, bins=question.bins, dry_run=question.dry_run)
        case Stage():
            return going.stage(question, speech)
        case ArchiveRows():
            return going.archive_rows(question, speech)
        case ArchiveTie():
            return going.archive_tie(question, speech)
        case RemoveTie():
            return going.remove_tie(question, speech)
        case Mark():
            return going.mark(question, speech)
        case RemoveRows():
            return going.remove_rows(question, speech)
        case Rewritten():
            return going.rewritten(question, speech)
        case Append():
            return going.append(question, speech)
        case StageBin():
            return returning.stage_bin(question, speech)
        case Refuse():
            return refusing.refuse(question, speech)
        case PutBackRows():
            return returning.put_back_rows(question, speech)
        case Unlike():
            return returning.unlike(question, speech)
        case PutBackTie():
            return returning.put_back_tie(question, speech)
        case Revive():
            return returning.revive(question, speech)
        case Discard():
            return returning.discard(question, speech)
        case DiscardTie():
            return returning.discard_tie(question, speech)
        case Record():
            return journal.record(question, speech)
        case Recall():
            return journal.recall(question, speech)
        case Secret():
            return journal.secret(question, speech)
        case _:
            raise MemdeleteError(f"nobody answers {type(question).__name__}")


def _clear(question: Clear) -> Generator[Statement, Result, None]:
    for site in question.sites:
        name = ddl.quoted(staging_name(site))
        try:
            yield Statement(f"DROP TABLE IF EXISTS temp.{name}")
        except BackendError:  # the caller has a cursor open; empty, the table does no harm
            yield Statement(f"DELETE FROM temp.{name}")
