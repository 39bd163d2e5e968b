"""
How operations talk: generators that yield questions and are sent answers.

A talk knows no colour; the two loops that run one are in `driving`, and there is no other copy
of any logic. A failing question is thrown into the talk, which rolls back and lets it fly on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

from memdelete.errors import BackendError, InDoubt
from memdelete.questions import Begin, Commit, Question, Rollback


__all__ = ["Talk", "ask", "transaction"]

T = TypeVar("T")

Talk = Generator[Question[Any], Any, T]
"""An operation: yields questions, is sent their answers, returns what is to be reported."""


def ask(question: Question[T]) -> Talk[T]:
    """
    How a talk puts one question: ``yield from`` it, and have the answer.
    """
    answer = yield question

    return cast("T", answer)


def transaction(body: Callable[[bool], Talk[T]], *, write: bool, operation: str = "") -> Talk[T]:
    """
    *body* within one transaction: committed whole, or rolled back whole and the error let through.

    *body* is told whether the transaction is ours, and so whether its outcome is durable.
    """
    ours = yield from ask(Begin(write))
    try:
        result = yield from body(ours)
        yield from ask(Commit())
    except GeneratorExit:
        raise  # nobody answers any more; the session rolls back what it left open
    except BaseException as error:
        try:
            yield from ask(Rollback())
        except BackendError as second:
            error.add_note(f"the rollback failed too: {second}")
        if isinstance(error, BackendError) and error.in_doubt:
            raise InDoubt(operation) from error
        raise

    return result
