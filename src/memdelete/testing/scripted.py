"""
Sessions that follow a script: they write down each question, and fail or cancel at one of them.

Wrapped around a real session, so that what a failure leaves behind is real too. Used to hold
every operation to its promise: a commit or a rollback, and never a report without a commit.
"""

from __future__ import annotations

import asyncio

from typing import TypeVar

from attrs import define, field

from memdelete.backends.abc import AsyncSession, Session
from memdelete.questions import Question


__all__ = ["AsyncScripted", "Script", "Scripted", "Spoiled"]

T = TypeVar("T")


class Spoiled(Exception):
    """
    The failure that a script asks for.
    """


@define
class Script:
    """
    What happened and what is to happen: *fail_at* and *cancel_at* count questions from zero.

    With *late*, the failure comes after the question was answered, as a lost reply would.
    """

    fail_at: int | None = None
    cancel_at: tuple[int, ...] = ()
    late: bool = False
    asked: list[str] = field(factory=list)

    def begin(self, question: Question[object]) -> int:
        """
        Write the question down; its number.
        """
        self.asked.append(type(question).__name__)

        return len(self.asked) - 1


@define
class Scripted:
    """
    A session in one thread that follows *script*.
    """

    session: Session
    script: Script

    def answer(self, question: Question[T], /) -> T:
        """
        Answer as the real session does, or fail as the script says.
        """
        number = self.script.begin(question)
        if number == self.script.fail_at and not self.script.late:
            raise Spoiled(number)
        answer = self.session.answer(question)
        if number == self.script.fail_at:
            raise Spoiled(number)

        return answer


@define
class AsyncScripted:
    """
    `Scripted`, awaited; it can also cancel the task that asks.
    """

    session: AsyncSession
    script: Script
    asking: asyncio.Task[object] | None = None

    async def answer(self, question: Question[T], /) -> T:
        """
        Answer as the real session does, or fail or be cancelled as the script says.
        """
        number = self.script.begin(question)
        # A shielded question runs in a task of its own; what is cancelled is the one that asks.
        if number in self.script.cancel_at and self.asking is not None:
            self.asking.cancel()
        if number == self.script.fail_at and not self.script.late:
            raise Spoiled(number)
        answer = await self.session.answer(question)
        if number == self.script.fail_at:
            raise Spoiled(number)

        return answer
