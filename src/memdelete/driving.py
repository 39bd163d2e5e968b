"""
The two loops that run a talk: one for each colour, a dozen lines each.

A question is answered and its answer sent back; a failure, a cancellation included, is thrown
into the talk, which decides. Commit and rollback are seen through, however often the task that
waits for them is cancelled. The front door visits, and the tests of talks.
"""

from __future__ import annotations

import asyncio

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from .operations.talk import Talk
from .questions import Commit, Question, Rollback


__all__ = ["Answering", "AsyncAnswering", "run", "run_async"]

T = TypeVar("T")


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
    failure = task.exception()
    if cancelled is not None:
        raise cancelled from failure
    if failure is not None:
        raise failure

    return task.result()
