"""The port of transcripts: where the sessions of one owner are kept, whatever is behind it.

Never reads a disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from commonplace.journals.transcripts.files import LAST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.journals.transcripts.exchanges import Turn
    from commonplace.journals.transcripts.files import Tombstone
    from commonplace.journals.transcripts.message import Message, SessionSummary


class SessionState(Protocol):
    """What is known of a session."""

    @property
    def year(self) -> str:
        """That of its first message that was kept."""
        ...

    @property
    def messages(self) -> int:
        """How many there are."""
        ...

    @property
    def last_n(self) -> int:
        """The highest number that was given so far, of deleted messages too."""
        ...


class SessionStore(Protocol):
    """What keeps the transcripts of one owner. Thread-safe; several processes may use one at once.

    What a method returns from is on the disk. Each raises: Denied, Unavailable.
    """

    def sessions(
        self, *, since: str = "", until: str = "9999", client: str = ""
    ) -> list[SessionSummary]:
        """The sessions with a message in [since, until), the one that went on last first."""
        ...

    def list_names(self) -> list[tuple[str, str]]:
        """Clients and names of all sessions, the one that began first first."""
        ...

    def find_session(self, client: str, session: str) -> SessionState | None:
        """What is known of a session; None where there is none."""
        ...

    def read(
        self, client: str, session: str, *, first: int = 1, last: int = LAST, limit: int = -1
    ) -> list[Message]:
        """The messages of a session whose numbers lie from first to last; below 0 all of them."""
        ...

    def read_around(self, client: str, session: str, n: int) -> list[Message]:
        """The message of a number, with the nearest before and after it that say something."""
        ...

    def read_opening(self, client: str, session: str) -> Message | None:
        """The first thing that the user said in a session that could be its task.

        Of a session without one, such as of "hi" alone, the first thing at all.
        """
        ...

    def new_ids(self, client: str, session: str, ids: Sequence[str]) -> set[str]:
        """Those of these ids of messages that are neither kept, in any session, nor deleted."""
        ...

    def list_turns(self, client: str, session: str) -> list[Turn]:
        """What is known of the messages of a session that say something, in their order."""
        ...

    def refs_behind(self, number: int) -> list[str]:
        """The refs of messages and sessions with a short form; see `core.ports.FindsShortRefs`."""
        ...

    def delete(self, client: str, session: str, numbers: Sequence[int] = ()) -> int:
        """Delete messages by their numbers, or a whole session, for good; how many messages."""
        ...

    def retain(self, before: str) -> list[SessionSummary]:
        """Delete the sessions whose last message is older than a time; which. See `is_time`."""
        ...

    def take_back(self, client: str, session: str, *, messages: int, last_n: int) -> bool:
        """Delete a session that is as it was imported; whether it was, and so is deleted.

        The next copy or import keeps it again.

        Args:
            client: Whose session.
            session: Its name.
            messages: How many it had then.
            last_n: The highest number that it had given then.
        """
        ...

    def forget_origins(self, origins: Sequence[str]) -> None:
        """Have originals read from their beginning by the next copy."""
        ...

    def file_again(self, client: str, session: str, numbers: Sequence[int]) -> None:
        """Have the index take these messages up once more, where it does not see that by itself."""
        ...

    def follow_files(self) -> int:
        """Read again what people altered by hand, where they can; how many sessions."""
        ...


class AddsSessions(Protocol):
    """Takes whole sessions of an export."""

    def holds(self, client: str, session: str, year: int) -> bool:
        """Whether something has the place of a session already."""
        ...

    def add_session(self, client: str, session: str, year: int, messages: Sequence[Message]) -> int:
        """Keep a session with the numbers that its messages have; how many of these are kept.

        0 where it is there already, also without what was deleted of it since. Raises: Conflict
        where another one is.
        """
        ...


class SharedTranscripts(SessionStore, AddsSessions, Protocol):
    """A store in a database that several servers share."""

    def append(
        self, client: str, session: str, messages: Sequence[Message], *, year: str = ""
    ) -> int:
        """Append those messages whose ids are neither kept nor deleted; how many.

        year: of a session that is not there yet, whose messages keep their numbers if they have
        some; blank for that of its first message.
        """
        ...

    def note_deleted(self, tombstones: Sequence[Tombstone]) -> None:
        """Keep what was deleted in files: no import brings it back."""
        ...
