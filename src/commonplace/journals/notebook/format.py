"""Owns the notebook's two forms: a section's file, and the commit message that is an entry.

Pure; what is rendered here is read back as it was written. Never asks git to read a trailer.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import Invalid
from commonplace.core.owner_folders import owner_folder
from commonplace.core.text import first_words, well_formed
from commonplace.core.values import BRANCH_TAG
from commonplace.journals.notebook.names import SUFFIX, file_of, find_section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.journals.git.history import Commit

DEFAULT_AUTHOR = "Journal Server <journal@localhost>"
"""Who commits where no author is named; never shown as an author."""

JOURNAL = "notebook"
ENTRY = "entry"
OVERVIEW = "overview"
NEVER = "never"
"""What stands in place of a time where an entry was to expire, and is to stay."""

TAKEN_BACK = datetime(1970, 1, 2, tzinfo=UTC)
"""The end of an entry that was taken back: before any commit, so that it never held anything."""

LARGEST = 10 * 1024 * 1024
SUMMARY_LENGTH = 72
_LONGEST_SUMMARY = 500
_LONGEST_CONTEXT = 2000

HAND = uuid.UUID("0b8a2a36-5a5e-5c44-9d0b-3c6b6f1c7a52")
_FIRST_END = TAKEN_BACK
_LAST_END = datetime(9999, 12, 30, tzinfo=UTC)

KEYS = uuid.UUID("a3c0b7f4-52f9-5c39-8a51-0c8f6c1d2e90")

_COUNT = re.compile(r"<!-- entry count: (?P<count>[0-9]{1,12}) -->")
_LONE_COUNT = re.compile(rf"^{_COUNT.pattern}[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_TRAILER = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*): ?(?P<value>.*)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_OLD_CONTEXT = re.compile(r"\Awork_context:[ \t]*(?P<context>[^\n]*)(?:\n|\Z)")
_HEADING = re.compile(r"^[#>*\-\s]+")


class SectionFile(Struct, frozen=True, kw_only=True):
    """What a section's file holds.

    Attributes:
        count: What its count line says, the last of them where a merge by hand left several; None
            where it has none.
        lines: How many count lines it has.
    """

    overview: str
    count: int | None
    lines: int

    @property
    def version(self) -> str:
        """The overview's version: the first 12 hex digits of its sha256."""
        return version_of(self.overview)


class CommitMessage(Struct, frozen=True, kw_only=True):
    """What a commit message says.

    Attributes:
        entry_id: Empty for a commit by hand.
        verb: Of our own upkeep.
        section: As the message itself names it, for an entry whose change is empty.
        moved_from: The section's former name.
        supersedes: The id of the entry whose place this one took.
        written: When it was written down, as ISO 8601, where the commit is of another time.
        expires: When an entry expires, likewise; of an end that was set later also `never`.
        expires_entry: The id of the entry whose end was set later, by a commit of its own.
    """

    summary: str
    text: str
    work_context: str = ""
    entry_id: str = ""
    section: str = ""
    verb: str = ""
    moved_from: str = ""
    supersedes: str = ""
    written: str = ""
    expires: str = ""
    expires_entry: str = ""


class NotebookEntry(Struct, frozen=True, kw_only=True):
    """One entry of one section.

    Attributes:
        hash: Its commit's now, which a rebase changes.
        id: For good.
        author, address: The commit's.
        by_hand: It was committed with plain git.
        supersedes: The id of the entry whose place it took; empty for none.
        written: When it was written down, where that is not the time it is of.
        expires: When it expires; None for never.
        branches: The other branches that hold it; empty for one of the notebook's own.
    """

    section: str
    id: str
    hash: str
    at: datetime
    summary: str
    text: str
    work_context: str = ""
    author: str = ""
    address: str = ""
    by_hand: bool = False
    supersedes: str = ""
    written: datetime | None = None
    expires: datetime | None = None
    branches: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """Its address for good: `notebook:api/errors#<entry id>`."""
        return ref_of(self.section, self.id)

    @property
    def author_name(self) -> str:
        """Who wrote it, empty where nobody was named."""
        return shown_author(self.author, self.address)


def shown_author(author: str, address: str) -> str:
    """The name of who wrote a text; empty where nobody was named."""
    return "" if f"{author} <{address}>" == DEFAULT_AUTHOR else author


def ref_of(section: str, entry_id: str = "") -> str:
    """The ref of a section's overview, or of one of its entries."""
    return f"{JOURNAL}:{section}#{entry_id}" if entry_id else f"{JOURNAL}:{section}"


def person_of(member: str) -> str:
    """A member of a space as the author of an entry: `Name <address>`."""
    # The name of the folder holds no sign that git reads.
    return f"{member} <{owner_folder(member)}@localhost>"


def branch_tags(branches: Sequence[str]) -> tuple[str, ...]:
    """What an entry bears that only other branches hold, so that it is told from the rest."""
    return tuple(f"{BRANCH_TAG}{name}" for name in branches)


def version_of(overview: str) -> str:
    """The version of an overview, as it is read: the first 12 hex digits of its sha256."""
    return sha256_hex(well_formed(overview).encode())[:12]


def parse_file(content: bytes, *, errors: str = "replace") -> SectionFile:
    """A section's file, or what people made of it; never raises.

    A count line is taken out wherever it stands but in a fenced listing: what was written below it
    is kept. errors: what becomes of bytes that are not UTF-8; `surrogateescape` where they are to
    be written again.
    """
    text = content.decode("utf-8", errors)
    lone = list(_LONE_COUNT.finditer(text))
    if lone and not text[lone[-1].end() :].strip():  # as we write it: nothing is below it
        text, own = text[: lone[-1].end()], [lone.pop()]
    else:
        own = []
    # Where an odd number of fences stands above, a listing is open.
    lone = [x for x in lone if len(_FENCE.findall(text, 0, x.start())) % 2 == 0] + own
    for found in reversed(lone):
        text = text[: found.start()] + text[found.end() :]
    count = int(lone[-1]["count"]) if lone else None
    return SectionFile(overview=text.rstrip("\r\n"), count=count, lines=len(lone))


def render_file(overview: str, count: int) -> bytes:
    """A section's file; line ends after the overview's last line are not kept."""
    body = overview.rstrip("\r\n")
    start = f"{body}\n\n" if body else ""
    return f"{start}<!-- entry count: {count} -->\n".encode("utf-8", "surrogateescape")


def plain_overview(overview: str) -> str:
    """A new overview as it will be read back. Raises: Invalid."""
    return parse_file(render_file(checked_text(overview, "overview"), 0)).overview


def parse_message(message: str) -> CommitMessage:
    """What a commit message says; only its last paragraph counts as ours, the last id in it wins.

    Never raises. Source of the older form (`work_context:` first): the notebook's design.
    """
    body, _, last = message.rstrip("\n").rpartition("\n\n")
    ours = _parse_trailers(last) if body else {}
    if "entry-id" not in ours and "commonplace" not in ours:
        context, plain = split_context(message.strip("\r\n"))
        return CommitMessage(summary=summary_of(plain) or context, text=plain, work_context=context)
    summary, _, text = body.partition("\n\n")
    return CommitMessage(
        summary=summary,
        text=text,
        work_context=ours.get("work-context", ""),
        entry_id=ours.get("entry-id", ""),
        section=ours.get("section", ""),
        verb=ours.get("commonplace", ""),
        moved_from=ours.get("moved-from", ""),
        supersedes=ours.get("supersedes", ""),
        written=ours.get("written", ""),
        expires=ours.get("expires", ""),
        expires_entry=ours.get("expires-entry", ""),
    )


def split_context(text: str) -> tuple[str, str]:
    """The work context that a text's first line names, as the design writes it, and the rest.

    Empty where it begins otherwise.
    """
    found = _OLD_CONTEXT.match(text)
    return (found["context"].strip(), text[found.end() :].lstrip("\r\n")) if found else ("", text)


def apart_from_context(text: str, work_context: str) -> tuple[str, str]:
    """The text of an entry, and its work context; one in its first line is taken out of it.

    work_context: as it was given beside the text, empty for none. A line that names another, or
    that is all there is, stays in the text.
    """
    named, rest = split_context(text.lstrip("\r\n"))
    given = " ".join(work_context.split())
    if rest.strip() and named and given in ("", " ".join(named.split())):
        return rest, named
    return text, work_context


def move_of(message: CommitMessage) -> tuple[str, str] | None:
    """The former name and the new one, where a message says that a section was moved."""
    named = (message.moved_from, message.section)
    is_move = message.verb == "move" and all(find_section(file_of(x)) for x in named)
    return named if is_move else None


def move_message(old: str, new: str) -> CommitMessage:
    """The message that says that a section was moved; `move_of` reads it."""
    summary = f"Move {old} to {new}"
    return CommitMessage(summary=summary, text="", section=new, verb="move", moved_from=old)


def set_end_of(message: CommitMessage) -> tuple[str, datetime | None] | None:
    """The entry, by its id, whose end a message sets, and that end; None where it sets none."""
    expires = _end(message.expires)
    if message.verb != "expire" or (expires is None and message.expires != NEVER):
        return None
    return (message.expires_entry, expires) if message.expires_entry else None


def set_end_message(section: str, entry_id: str, expires: datetime | None) -> CommitMessage:
    """The message that says when an entry expires, None for never; `set_end_of` reads it."""
    summary = "Let an entry expire" if expires else "Let an entry stay"
    return CommitMessage(
        summary="Take back an entry" if expires == TAKEN_BACK else summary,
        text="",
        section=section,
        verb="expire",
        expires=rendered_instant(expires) if expires else NEVER,
        expires_entry=entry_id,
    )


def _parse_trailers(paragraph: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in paragraph.split("\n"):
        match = _TRAILER.fullmatch(line.rstrip("\r"))
        if match is None:
            continue
        key, value = match["key"].lower(), match["value"].strip()
        if key in {"entry-id", "supersedes", "expires-entry"}:
            if not _UUID.fullmatch(value):
                continue
            value = value.lower()
        found[key] = value
    return found


def with_trailer(message: str, key: str, value: str) -> str:
    """A commit message with another value of a trailer that it has, all else as it is.

    Args:
        message: The whole message.
        key: As it is rendered: `Supersedes`.
        value: Empty to leave the line out.
    """
    whole = message.rstrip("\n")
    body, gap, last = whole.rpartition("\n\n")
    lines: list[str] = []
    for line in last.split("\n"):
        if key.lower() not in _parse_trailers(line):
            lines.append(line)
        elif value:
            lines.append(f"{key}: {value}")
    return "".join((body, gap, "\n".join(lines), message[len(whole) :]))


def render_message(message: CommitMessage) -> bytes:
    """A commit message: summary, the text as it is, and one paragraph of ours.

    Raises: Invalid for NUL, which git keeps in no message, and for what is too long.
    """
    return checked_text(compose_message(message), "message").encode()


def compose_message(message: CommitMessage) -> str:
    """A commit message of what was committed already, however long it is."""
    trailers = [
        ("Work-Context", message.work_context),
        ("Section", message.section),
        ("Moved-From", message.moved_from),
        ("Supersedes", message.supersedes),
        ("Written", message.written),
        ("Expires", message.expires),
        ("Expires-Entry", message.expires_entry),
        ("Commonplace", message.verb),
        ("Entry-Id", message.entry_id),
    ]
    last = "\n".join(f"{key}: {value}" for key, value in trailers if value)
    body = f"{message.summary}\n\n{message.text}" if message.text else message.summary
    return f"{body}\n\n{last}\n"


def entry_message(
    *,
    section: str,
    entry_id: str,
    text: str,
    summary: str | None,
    work_context: str | None,
    supersedes: str = "",
    written: datetime | None = None,
    expires: datetime | None = None,
) -> CommitMessage:
    """The message of an entry to be written, checked; see `CommitMessage`.

    Raises: Invalid where a text is blank, too long, or cannot be kept.
    """
    text, context = apart_from_context(checked_text(text, "entry"), work_context or "")
    if not text.strip():
        raise Invalid("The entry is empty.", hint="Say what was done or learned.")
    line = " ".join(checked_text(summary or "", "summary").split())
    context = " ".join(checked_text(context, "work context").split())
    return CommitMessage(
        summary=first_words(line, _LONGEST_SUMMARY) if line else summary_of(text),
        text=text,
        work_context=first_words(context, _LONGEST_CONTEXT),
        entry_id=entry_id,
        section=section,
        supersedes=supersedes,
        written=rendered_instant(written) if written else "",
        expires=rendered_instant(expires) if expires else "",
    )


def written_of(message: CommitMessage) -> datetime | None:
    """When a message says that it was written down; None where it does not, or names no instant."""
    return _instant(message.written)


def own_end(message: CommitMessage) -> datetime | None:
    """When an entry expires as its own message says; None for never."""
    return _end(message.expires) if message.entry_id else None


def _end(text: str) -> datetime | None:
    """The instant, moved to where every zone has a day for it; None where there is none."""
    at = _instant(text)
    return None if at is None else min(max(at, _FIRST_END), _LAST_END)


def rendered_instant(at: datetime) -> str:
    """An instant as a trailer names it."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


def _instant(text: str) -> datetime | None:
    """The instant that a trailer names; None where it names none."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None


def checked_text(text: str, what: str) -> str:
    """A text that may be written: lone surrogates become U+FFFD. Raises: Invalid."""
    if "\0" in text:
        raise Invalid(f"The {what} holds a NUL character.", hint="Take it out, then write again.")
    text = well_formed(text)
    size = len(text.encode())
    if size > LARGEST:
        raise Invalid(
            f"The {what} is {size:,} bytes long.", hint=f"Write at most {LARGEST:,} bytes at once."
        )
    return text


def summary_of(text: str) -> str:
    """A line for a text that was given none: its first line with a word in it."""
    for line in text.splitlines():
        if bare := _HEADING.sub("", line).strip():
            return first_words(bare, SUMMARY_LENGTH)
    return first_words(text, SUMMARY_LENGTH)


def entry_of(
    commit: Commit, message: CommitMessage, *, section: str, entry_id: str
) -> NotebookEntry:
    """The entry that a commit is in one section."""
    return NotebookEntry(
        section=section,
        id=entry_id,
        hash=commit.hash,
        at=commit.at,
        summary=message.summary,
        text=message.text,
        work_context=message.work_context,
        author=commit.author,
        address=commit.address,
        by_hand=not message.entry_id,
        supersedes=message.supersedes,
        written=written_of(message),
        expires=own_end(message),
    )


def entries_of(commit: Commit, message: CommitMessage | None = None) -> Iterator[NotebookEntry]:
    """The entries a commit is: one with our id, one for each section a commit by hand touched.

    A merge is not an entry, nor is our own upkeep. The id of a commit by hand follows from who
    wrote it, when, what it says, and what it made of which sections: a rebase leaves it.
    """
    message = message or parse_message(commit.message)
    if len(commit.parents) > 1 or (message.verb and not message.entry_id):
        return
    files = [x for x in commit.touched if x.is_file and find_section(x.path)]
    sections = [x.path.removesuffix(SUFFIX) for x in files]
    entry_id = message.entry_id
    if entry_id:
        # Its own word first: a rebase that keeps it may leave it without a change of its own.
        named = find_section(file_of(message.section))
        sections = [named] if named else sections[:1]
    elif files:
        at, made = str(int(commit.at.timestamp())), [f"{x.path} {x.blob}" for x in files]
        said = (commit.author, commit.address, at, commit.message, *made)
        entry_id = str(uuid.uuid5(HAND, well_formed("\0".join(said))))
    for section in sections:
        yield entry_of(commit, message, section=section, entry_id=entry_id)
