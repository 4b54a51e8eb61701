"""The tree of errors that Commonplace can explain: six codes, a message for people, a next step.

Never holds journal text, SQL or a key: messages travel to models, terminals and logs.
"""

from __future__ import annotations


class CommonplaceError(Exception):
    """Something we can explain.

    `code` is for machines, the message for people, `hint` for the next step. error_code: what a
    journal's design calls the fault beside our code; empty for most. tokens: what a language model
    may have taken before it failed.
    """

    code = "internal"
    tokens = 0

    def __init__(self, message: str, *, hint: str = "", error_code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.error_code = error_code

    @property
    def facts(self) -> dict[str, str]:
        """The error as plain data."""
        facts = {"code": self.code, "message": self.message, "hint": self.hint}
        return {**facts, "error_code": self.error_code} if self.error_code else facts

    def __str__(self) -> str:
        """The message and its hint as one line, as a model or a terminal shows it."""
        return f"{self.message} {self.hint}".strip()


class Invalid(CommonplaceError):
    """An argument, a file or a setting that cannot mean what it should."""

    code = "invalid"


class NotFound(CommonplaceError):
    """The thing named does not exist."""

    code = "not_found"


class Conflict(CommonplaceError):
    """Somebody else was first: read again, then write."""

    code = "conflict"


class Unavailable(CommonplaceError):
    """A disk, a database or a model does not answer now; the same call may succeed later."""

    code = "unavailable"


class Corrupted(Unavailable):
    """What a file holds is not what was written into it."""


class Lost(Unavailable):
    """The connection broke, or its deadline passed; what was under way may or may not be done."""


class Denied(CommonplaceError):
    """The thing exists and is not yours to touch."""

    code = "denied"


class Internal(CommonplaceError):
    """A fault of ours; the log has the traceback."""

    code = "internal"
