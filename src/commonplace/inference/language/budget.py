"""Owns what language models may cost: tokens counted by day, caps for a run and for a day.

Never holds a word of a question or an answer. What is about to be spent is written down before a
model is asked, so that processes beside each other keep one cap, and one that is killed counts.
"""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.core.errors import CommonplaceError, Denied
from commonplace.core.files import make_folder, may_exist, translated
from commonplace.core.plain_files import add_line
from commonplace.inference.language.wire import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.ports import Language
    from commonplace.core.values import Completion, Question


class KeepsBudget(Protocol):
    """The tokens of one owner, by day."""

    per_day: int

    def spent(self) -> int:
        """Tokens spent or set aside today."""
        ...

    def set_aside(self, tokens: int, model: str) -> str:
        """Take so many out of today's; what to `settle` them with, once. Raises: Denied."""
        ...

    def settle(self, key: str, tokens_in: int, tokens_out: int, model: str) -> None:
        """Write down what it was in the end."""
        ...


class TokenBudget:
    """The tokens of one owner: a file a day, a line for what is set aside and one for what it was.

    Usable by several processes.

    Args:
        folder: Where these files lie; made when needed.
        zone: The time zone that says when a day begins.
    """

    def __init__(self, folder: Path, *, per_day: int, clock: Clock, zone: tzinfo) -> None:
        self._folder = folder
        self.per_day = per_day
        self._clock = clock
        self._zone = zone

    def spent(self) -> int:
        """Tokens spent or set aside today."""
        return sum(self._today().values())

    def set_aside(self, tokens: int, model: str) -> str:
        """Take so many out of today's; what to `settle` them with. Raises: Denied."""
        key = uuid.uuid4().hex
        self._write({"id": key, "model": model, "set_aside": tokens})
        # Read after the writing: of two who reach for the last tokens, none gets past the cap.
        spent = self.spent()
        if spent > self.per_day:
            self.settle(key, 0, 0, model)
            raise day_is_spent(spent - tokens, self.per_day, tokens)
        return key

    def settle(self, key: str, tokens_in: int, tokens_out: int, model: str) -> None:
        """Write down what it was in the end."""
        said = {"id": key, "model": model, "tokens_in": tokens_in, "tokens_out": tokens_out}
        self._write(said)

    def _path(self) -> Path:
        day = self._clock().astimezone(self._zone).date()
        return self._folder / f"{day.isoformat()}.jsonl"

    def _today(self) -> dict[str, int]:
        """Tokens by key; a line that was cut by a crash counts for nothing."""
        path = self._path()
        if not may_exist(path):
            return {}
        with translated(path):
            lines = path.read_bytes().splitlines()
        found: dict[str, int] = {}
        for line in lines:
            try:
                said = json.loads(line)
                found[str(said["id"])] = (
                    int(said["set_aside"])
                    if "set_aside" in said
                    else int(said["tokens_in"]) + int(said["tokens_out"])
                )
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def _write(self, said: dict[str, Any]) -> None:
        """Add a line, whole: one write to a file that is only added to."""
        make_folder(self._folder)
        line = json.dumps({"at": self._clock().isoformat(timespec="seconds"), **said})
        with translated(self._folder):
            add_line(self._path(), line)


def day_is_spent(spent: int, per_day: int, tokens: int) -> Denied:
    """What is raised where a day has not so many tokens left."""
    return Denied(
        f"Today's tokens are spent: {spent:,} of {per_day:,}, and {tokens:,} are needed.",
        hint="Wait until tomorrow, or set llm.tokens_per_day higher.",
    )


class Run:
    """What one run may spend: a call of a tool, a round of summaries; all models of it together."""

    def __init__(self, budget: KeepsBudget, *, per_run: int) -> None:
        self._budget = budget
        self._left = self._per_run = per_run

    @contextmanager
    def spending(self, tokens: int, model: str) -> Iterator[Callable[[int, int], None]]:
        """Set so many tokens aside; call what is given with those read and written in the end.

        Where that is never called nothing was spent. Raises: Denied where run or day have not.
        """
        if tokens > self._left:
            raise Denied(
                f"The tokens of this run are spent: {self._per_run - self._left:,} of "
                f"{self._per_run:,}, and {tokens:,} are needed.",
                hint="Run it again, or set llm.tokens_per_run higher.",
            )
        key = self._budget.set_aside(tokens, model)
        spent = (0, 0)

        def note(tokens_in: int, tokens_out: int) -> None:
            nonlocal spent
            spent = (tokens_in, tokens_out)

        try:
            yield note
        finally:
            self._left -= sum(spent)
            self._budget.settle(key, *spent, model)


class Metered:
    """A model whose tokens are counted and capped; implements the port `Language`."""

    def __init__(self, language: Language, run: Run) -> None:
        self._language = language
        self._run = run

    @property
    def name(self) -> str:
        """As the model's."""
        return self._language.name

    @property
    def sees_private(self) -> bool:
        """As the model's."""
        return self._language.sees_private

    def complete(self, question: Question) -> Completion:
        """Ask, if run and day have tokens for the question and its longest answer.

        Raises: Denied where they have not; else as the model.
        """
        with self._run.spending(estimate(question), self.name) as note:
            try:
                completion = self._language.complete(question)
            except CommonplaceError as exc:
                note(exc.tokens, 0)
                raise
            note(completion.tokens_in, completion.tokens_out)
        return completion


def estimate(question: Question) -> int:
    """About the most tokens that a question and its answer may take."""
    texts = [question.instructions]
    for passage in question.passages:
        texts += [passage.origin, passage.text]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return estimated_tokens(size) + question.max_tokens
