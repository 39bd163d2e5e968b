"""
How operations talk: generators that yield questions and are sent answers.

A talk knows no colour; the two loops that run one live here as well, and there is no other copy
of any logic. A failing question is thrown into the talk, which rolls back and lets it fly on.
"""

from __future__ import annotations

import asyncio

from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar, cast

from memdelete.errors import BackendError, InDoubt
from memdelete.questions import Begin, Commit, Question, Rollback


__all__ = ["Answering", "AsyncAnswering", "Talk", "ask", "run", "run_async", "transaction"]

T = TypeVar("T")

Talk = Generator[Question[Any], Any, T]
"""An operation: yields questions, is sent their answers, returns what is to be reported."""


class Answering(Protocol):
    """
    Who answers questions, here and now.
    """

    def answer(self, question: Question[T], /) -> T: ...


class AsyncAnswering(Protocol):
    """
    Who answers questions, awaited.
    """

    async def answer(self, question: Question[T], /) -> T: ...


def ask(question: Question[T]) -> Talk[T]:
    """
    One question within a talk: ``count = yield from ask(Count(…))``.
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
    except BaseException as error:
        yield from ask(Rollback())
        if isinstance(error, BackendError) and error.in_doubt:
            raise InDoubt(operation) from error
        raise

    return result


def run(talk: Talk[T], session: Answering) -> T:
    """
    Run *talk* against a session.
    """

    def step() -> Question[Any]:
        return next(talk)

    while True:
        try:
            question = step()
        except StopIteration as end:
            return cast("T", end.value)
        try:
            answer = session.answer(question)
        except BaseException as error:  # noqa: BLE001 - the talk decides, and lets it fly on
            step = _throwing(talk, error)
        else:
            step = _sending(talk, answer)


async def run_async(talk: Talk[T], session: AsyncAnswering) -> T:
    """
    Run *talk* against an async session. A cancellation reaches the talk as any failure does.
    """

    def step() -> Question[Any]:
        return next(talk)

    while True:
        try:
            question = step()
        except StopIteration as end:
            return cast("T", end.value)
        try:
            match question:
                case Commit():
                    await asyncio.sleep(0)  # a cancellation that is already on its way comes first
                    answer: object = await _shielded(session, question)
                case Rollback():
                    # Half a commit or half a rollback is what a cancellation must not leave.
                    answer = await _shielded(session, question)
                case _:
                    answer = await session.answer(question)
        except BaseException as error:  # noqa: BLE001 - the talk decides, and lets it fly on
            step = _throwing(talk, error)
        else:
            step = _sending(talk, answer)


def _sending(talk: Talk[T], answer: object) -> Callable[[], Question[Any]]:
    return lambda: talk.send(answer)


def _throwing(talk: Talk[T], error: BaseException) -> Callable[[], Question[Any]]:
    return lambda: talk.throw(error)


async def _shielded(session: AsyncAnswering, question: Question[T]) -> T:
    task = asyncio.ensure_future(session.answer(question))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
        except BaseException:  # noqa: BLE001 - the task keeps it, and it is raised below
            break
    answer = task.result()
    if cancelled is not None:
        raise cancelled

    return answer
