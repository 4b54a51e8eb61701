"""What a page is given, and what it may answer with."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  msgspec reads it
from datetime import datetime  # noqa: TC003  likewise
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from commonplace.core.clock import render_interval
from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.core.fence import visible
from commonplace.core.redact import Hidden
from commonplace.core.spaces import PREFIX, Member, is_space
from commonplace.core.text import opening, shown_now
from commonplace.verbs.answers import shown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.app import App
    from commonplace.core.redact import Screen
    from commonplace.core.values import Interval
    from commonplace.doors.web.programs import KeepsPrograms


TEXT = "text"
"""The field of a form that holds a text to be kept."""

_DIGITS = 12
_SCREENED = 8000
_MOST_HIDDEN = 10_000
_MOST_FORMS = 100


class Address(str):
    """The address of a page, in which no secret is left."""

    __slots__ = ()


class UndoOffer(Struct, frozen=True, kw_only=True):
    """A form with one button, which takes back what was just done.

    Attributes:
        page: The page that does it.
        fields: What the form sends to it.
    """

    page: str
    fields: Mapping[str, str]


class Visitor(Struct, kw_only=True):
    """Who is looking: a browser that was let in.

    Args:
        csrf: What each form that writes bears, known to this browser's pages alone.
        token_id: The token it was let in with; empty for the machine's own owner.
        member: Who it is, where the owner is a space; else None.
        until: Until when it is let in, where no token of the server says so.
        notes: What its next page is to say.
        offer: What its next page offers to take back; None for nothing.
        hidden: The secrets that its pages show marks for, by mark: its links and fields name them.
        typed: Likewise of the text in a form, by what the form edits: a mark that stands in another
            text, as a stranger may write one, is none of its secrets.
    """

    owner: str
    may_write: bool
    csrf: str
    token_id: str = ""
    member: Member | None = None
    until: datetime | None = None
    notes: list[str] = field(default_factory=list)
    offer: UndoOffer | None = None
    hidden: dict[str, str] = field(default_factory=dict)
    typed: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def may_delete(self) -> bool:
        """Whether it may delete what stands there, and forget it."""
        return self.may_write and (self.member is None or self.member.may_delete)

    @property
    def space(self) -> str:
        """The space whose pages these are, in words; empty for those of one person."""
        named = f"the space {self.owner.removeprefix(PREFIX)}"
        return visible(named) if is_space(self.owner) else ""

    @property
    def name(self) -> str:
        """Who it is, in words: a user, or a member and the space."""
        if self.member is None:
            return self.space or visible(self.owner)
        return f"{visible(self.member.name)}, in {self.space}"

    def screen(self, screen: Screen) -> Callable[[str], str]:
        """What shows a text on its pages: a mark for each secret, which its requests may name."""

        def shown(text: str) -> str:
            if not screen.find(text):
                return text
            hidden = screen.hide([text])
            self.hidden |= hidden.secrets
            while len(self.hidden) > _MOST_HIDDEN:
                del self.hidden[next(iter(self.hidden))]
            return hidden.texts[0]

        return shown

    def names_behind(self, given: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """What its links and fields sent, each mark of its pages as the secret it stands for.

        A text that is kept is read by `Visit.typed_text`.
        """
        hidden = Hidden((), self.hidden)
        return {
            name: [*each] if name == TEXT else [hidden.shown(value) for value in each]
            for name, each in given.items()
        }


def offer_to_delete(visitor: Visitor, written: Mapping[str, str]) -> UndoOffer | None:
    """What takes back an entry that was written, of its version by its ref.

    None for several, and for a visitor who may delete nothing.
    """
    if len(written) != 1 or not visitor.may_delete:
        return None
    ((ref, version),) = written.items()
    return UndoOffer(page="delete", fields={"ref": ref, "version": version})


class Visit(Struct, frozen=True, kw_only=True):
    """One request for a page.

    Args:
        parts: What `{names}` of the page's path stand for.
        query: What follows `?`, every value of a name, in order.
        form: What a form sent, likewise; empty unless the page writes.
        url: The address of a page: its name, then what it is given.
        programs: Those of others that sign in here; None where none can.
        is_read: Whether a person reads the page; else a script asks for it, and takes a part of it.
    """

    app: App
    visitor: Visitor
    now: datetime
    parts: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    form: Mapping[str, Sequence[str]]
    url: Callable[..., str]
    programs: KeepsPrograms | None = None
    is_read: bool = True

    @property
    def zone(self) -> tzinfo:
        """The owner's time zone."""
        return self.app.settings.timezone

    def shown(self, text: str) -> str:
        """A stored text with all that hides written out; screened first, since that hides secrets.

        Whatever was remembered goes through this before a template is given it.
        """
        return visible(shown_now(text))

    def form_text(self, form: str, text: str) -> str:
        """A text as a form shows it to be changed."""
        hidden = self.app.shared.screen.hide([text])
        typed = self.visitor.typed
        typed[form] = {**typed.pop(form, {}), **hidden.secrets}
        while len(typed) > _MOST_FORMS:
            del typed[next(iter(typed))]
        return hidden.texts[0]

    def typed_text(self, form: str) -> str:
        """The text that a form sent, with the secrets again that it showed marks for."""
        return self.typed_texts(form)[-1]

    def typed_texts(self, form: str) -> list[str]:
        """Each of the texts that a form sent, likewise."""
        hidden = Hidden((), self.visitor.typed.get(form, {}))
        return [hidden.shown(text) for text in self.form.get(TEXT, [""])]

    def once_key(self, *parts: str) -> str:
        """The idempotency key of what a form writes, so that the form sent twice writes it once.

        Empty for a form without one of its own; parts: what is written.
        """
        once = self.value("once")
        whole = "\0".join([once, *parts])
        return sha256(whole.encode("utf-8", "replace")).hexdigest()[:32] if once else ""

    def shown_opening(self, text: str, length: int) -> str:
        """The beginning of a stored text as it may be shown: `length` characters of it, or more.

        The rest is not screened, so that a list with an entry of 10 MB costs no more. The cut may
        part a secret, which is then not found, so the text near the cut is left out.
        """
        screened = 2 * max(length, _SCREENED)
        if len(text) <= screened:
            return self.shown(text)
        shown = self.shown(text[:screened])
        return shown[: len(shown) // 2]

    def explained(self, problem: CommonplaceError | None) -> str:
        """Why something was refused, as far as who looks may know it; empty for no problem."""
        return problem.explained(shows_paths=self.shows_paths) if problem else ""

    @property
    def shows_paths(self) -> bool:
        """Whether who looks may know where on this machine something lies."""
        return not self.app.shared.serves_owners

    def known_place(self, place: str) -> str:
        """A place of this machine, as far as who looks may know it: whole, or by its last name."""
        return place if self.shows_paths else shown_name(place)

    def said_interval(self, interval: Interval | None) -> str:
        """A time on the owner's clock; empty for none."""
        return render_interval(interval, self.zone) if interval else ""

    def place(self, journal: str, scope: str) -> str:
        """Where an entry of a journal's scope lies, for people."""
        opener = self.app.recall.service().journals.get(journal)
        place = scope if opener is None else opener.place_of(scope)
        return self.shown(place if self.shows_paths or not place else shown_name(scope))

    def place_counts(self) -> Mapping[str, int]:
        """How many entries each journal has, of transcripts sessions; none where unknown."""
        transcripts = self.app.transcripts
        try:
            counts = self.app.recall.service().count_by_journal()
            sessions = len(transcripts.store.list_names()) if transcripts.is_there() else 0
        except CommonplaceError:
            return {}
        return {**counts, "transcripts": sessions}

    def value(self, name: str, default: str = "") -> str:
        """The last value of a name in the form, else in the query; stripped."""
        for given in (self.form, self.query):
            if given.get(name):
                return given[name][-1].strip()
        return default

    def number(self, name: str, *, most: int) -> int:
        """A number of the query, 0 where it is not given. Raises: Invalid for what is none."""
        text = self.value(name, "0")
        if not text.isascii() or not text.isdigit() or len(text) > _DIGITS or int(text) > most:
            raise Invalid(f"Invalid {name}: {opening(text, 20)!r}.", hint=f"Use 0 to {most}.")
        return int(text)

    def values(self, name: str) -> tuple[str, ...]:
        """Every value of a name in the query that is not empty."""
        return tuple(each for each in self.query.get(name, ()) if each.strip())

    def journals(self) -> tuple[str, ...]:
        """The journals that the query names; empty for all. Raises: Invalid for an unknown one."""
        named, known = self.values("journal"), [each.name for each in self.app.journals]
        for name in named:
            if name not in known:
                raise Invalid(
                    f"Unknown journal: {opening(name, 60)!r}.", hint=f"Use {', '.join(known)}."
                )
        return named


def status_of(problem: CommonplaceError | None, refused: int = 409) -> int:
    """The status of a form: 200, or why it is shown again; refused: where it cannot be as it is."""
    if problem is None:
        return 200
    return 503 if isinstance(problem, Unavailable) else refused


class WebPage(Struct, frozen=True, kw_only=True):
    """A page of HTML. is_whole: whether it has the frame, and so says the visitor's notes."""

    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    is_whole: bool = True


class Redirect(Struct, frozen=True, kw_only=True):
    """The page to go to after something was changed. offer: what takes that back."""

    to: str
    notes: Sequence[str] = ()
    offer: UndoOffer | None = None


class Download(Struct, frozen=True, kw_only=True):
    """A file to keep.

    Args:
        path: The file; it is unlinked as soon as it begins to be sent.
        name: What the browser calls it.
        close: Removes the folder that it was made in; may be called twice.
    """

    path: Path
    name: str
    media_type: str
    close: Callable[[], object]
