"""The tree of errors that Commonplace can explain: six codes, a message for people, a next step.

Never holds journal text, SQL or a key: messages travel to models, terminals and logs. A path or an
address of the machine stands in a field of its own, which a door may leave out.
"""

from __future__ import annotations

import re
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, TypeVar

    _E = TypeVar("_E", bound="CommonplaceError")
    _Answer = TypeVar("_Answer")

# A place goes with the word that leads to it: "git failed in {place} (128)", "git -C {place} fsck".
_PLACE = re.compile(r"(?: (at|in|of|on|to|for|from|-C))? \{place\}")
# A broken connection is noticed at once; a server that is frozen would be waited for twice.
_RETRIED_S = 5.0


class CommonplaceError(Exception):
    """Something we can explain.

    `message` and `hint` never say where on this machine something lies: they may be read by the
    users of somebody's server. Where that matters, they name what it is, followed by `{place}`, and
    `place` holds the path, or the address: "The index {place} is corrupt." reads "The index is
    corrupt." for everybody, and `str()` gives a terminal, a log and the machine's own user both.

    Args:
        message: One sentence or more, for people.
        hint: The next step.
        error_code: What a journal's design calls the fault beside our code; empty for most.
        place: A path or an address of this machine; empty where none is meant.
    """

    code = "internal"
    tokens = 0
    """What a language model may have taken before it failed."""

    def __init__(
        self, message: str, *, hint: str = "", error_code: str = "", place: object = ""
    ) -> None:
        super().__init__(message)
        self.place = str(place)
        self.error_code = error_code
        self._set_texts(message, hint)

    @property
    def facts(self) -> dict[str, str]:
        """The error as plain data; its place is an entry of its own, for a door to leave out."""
        facts = {"code": self.code, "message": self.message, "hint": self.hint}
        extra = {"error_code": self.error_code, "place": self.place}
        return facts | {name: text for name, text in extra.items() if text}

    @property
    def located(self) -> str:
        """The message with the place in it, for the machine's own user."""
        return self._located[0].replace("{place}", self.place) if self.place else self.message

    @property
    def located_hint(self) -> str:
        """The hint with the place in it, quoted as a shell wants it: hints are often commands."""
        from shlex import quote

        return self._located[1].replace("{place}", quote(self.place)) if self.place else self.hint

    @property
    def summary(self) -> str:
        """The message and its hint without the place, as a note of an answer repeats them."""
        return f"{self.message} {self.hint}".strip()

    def explained(self, *, shows_paths: bool) -> str:
        """The message and its hint for a note of an answer.

        Args:
            shows_paths: whether its reader is the machine's own user, who may see the place.
        """
        return str(self) if shows_paths else self.summary

    def extended(self, message: str, *, hint: str = "") -> Self:
        """The same error, with more sentences after its message and its hint."""
        from copy import copy  # most starts never need it

        more = copy(self)
        before, step = self._located
        more._set_texts(f"{before} {message}".strip(), f"{step} {hint}".strip())  # noqa: SLF001  its own
        return more

    def screened(self, shown: Callable[[str], str]) -> Self:
        """The error with its sentences as they may be shown; itself where they may be already."""
        message, step = self._located
        if shown(message) == message and shown(step) == step:
            return self
        from copy import copy

        other = copy(self)
        other._set_texts(shown(message), shown(step))  # noqa: SLF001  its own
        return other

    def as_kind(
        self, kind: type[_E], *, prefix: str = "", hint: str | None = None, error_code: str = ""
    ) -> _E:
        """The same sentences and the same place, as an error of another kind.

        Args:
            kind: The class of the new error, with the parameters of this one.
            prefix: What stands before the message.
            hint: The next step, in place of this one's; None keeps it.
            error_code: As the constructor's; empty keeps this one's.

        Returns:
            The error, to be raised `from` this one.
        """
        message, step = self._located
        other = kind(
            f"{prefix}{message}",
            hint=step if hint is None else hint,
            error_code=error_code or self.error_code,
            place=self.place,
        )
        other.tokens = self.tokens
        return other

    def without_place(self) -> CommonplaceError:
        """The same error without paths, for a user who may not see them."""
        bare = CommonplaceError(self.message, hint=self.hint, error_code=self.error_code)
        bare.code = self.code
        bare.tokens = self.tokens
        return bare

    def _set_texts(self, message: str, hint: str) -> None:
        self.message = _PLACE.sub("", message) if self.place else message
        self.hint = _PLACE.sub("", hint) if self.place else hint
        self._located = message, hint

    def __str__(self) -> str:
        """The message and its hint as one line, with the place: what a terminal or a log shows."""
        return f"{self.located} {self.located_hint}".strip()


class Invalid(CommonplaceError):
    """An argument, a file or a setting that cannot mean what it should."""

    code = "invalid"


class NotFound(CommonplaceError):
    """The thing named does not exist."""

    code = "not_found"


class Conflict(CommonplaceError):
    """Somebody else was first: read again, then write."""

    code = "conflict"


class Outdated(Conflict):
    """What is to be changed is not as it was read any more."""


def has_changed(ref: str) -> Outdated:
    """The error for an entry that is another than the one that was read."""
    return Outdated(f"{ref} has changed since it was read.", hint="Read it again, then write.")


def already_superseded(ref: str, successor: str) -> Conflict:
    """The error for an entry whose place another has taken before."""
    return Conflict(f"{ref} is superseded by {successor} already.", hint=f"Correct {successor}.")


class Unavailable(CommonplaceError):
    """A disk, a database or a model does not answer now; the same call may succeed later."""

    code = "unavailable"


class Corrupted(Unavailable):
    """What a file holds is not what was written into it."""


class Lost(Unavailable):
    """The connection broke, or its deadline passed; what was under way may or may not be done."""


def retried(ask: Callable[[], _Answer]) -> _Answer:
    """The answer of a database, asked again where it was lost within 5 s. Raises: as `ask`.

    Only for what may be asked twice: a question, or a write that the second time changes nothing.
    """
    began = monotonic()
    try:
        return ask()
    except Lost:
        if monotonic() - began > _RETRIED_S:
            raise
    return ask()


class Denied(CommonplaceError):
    """The thing exists and is not yours to touch."""

    code = "denied"


class Internal(CommonplaceError):
    """A fault of ours; the log has the traceback."""

    code = "internal"
