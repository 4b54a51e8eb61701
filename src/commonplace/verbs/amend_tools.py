"""Correcting in words for a model: new text, deletion, or an entry that takes another's place.

Decides nothing about journals: the service finds the one that a ref names.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.fence import fenced, visible_line
from commonplace.core.text import opening, shown_now
from commonplace.core.values import Answer
from commonplace.journals.private.markdown import split_frontmatter
from commonplace.verbs.amend import SHORT_VERSION
from commonplace.verbs.answers import answer_of
from commonplace.verbs.toolset import Arg, Effects, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Amendment
    from commonplace.verbs.amend import AmendService


_SHOWN = 160
"""Characters of a line that an answer shows."""


class AmendTools:
    """What corrects an entry of any journal; `tool` is what doors offer.

    Args:
        service: Made at the first call, so that listing the tool opens nothing.
    """

    def __init__(self, service: Callable[[], AmendService]) -> None:
        self._service = service

    @property
    def tool(self) -> Tool:
        """The tool."""
        effects = Effects(writes=True, destroys=True)
        return Tool(run=self.amend, title="Correct a memory", effects=effects)

    def amend(
        self,
        *,
        ref: Annotated[str, Arg("The entry's ref.")],
        text: Annotated[str, Arg("Whole new text.")] = "",
        supersede: Annotated[bool, Arg("Keep the old too.")] = False,
        delete: Annotated[bool, Arg("For good.")] = False,
        undo: Annotated[bool, Arg("Undo the last edit.")] = False,
        version: Annotated[str, Arg("From open_ref.")] = "",
    ) -> Answer:
        """Any journal: correct an entry by its ref.

        Use it for what is wrong (text), held once (text, supersede), or must go (delete: only if
        the user asks). Not for news.
        """
        acts = {"text": bool(text.strip()), "delete": delete, "undo": undo}
        given = [name for name, is_given in acts.items() if is_given]
        if len(given) != 1:
            together = f"{' and '.join(given)} were given together"
            what = together if given else "none of text, delete and undo was given"
            raise Invalid(
                f"Invalid call of amend: {what}.",
                hint="Give the new text, delete=true or undo=true.",
            )
        if supersede and not acts["text"]:
            raise Invalid(
                f"Invalid call of amend: supersede and {given[0]} were given together.",
                hint="To supersede, give the text that holds now.",
            )
        service = self._service()
        if undo:
            return amendment_answer(service.undo(ref, expected=version))
        if delete:
            return amendment_answer(service.delete(ref, expected=version))
        correct = service.supersede if supersede else service.edit
        return amendment_answer(correct(ref, text, expected=version))

    def version_of(self, ref: str) -> str:
        """The version of an entry in short; empty where nothing corrects it."""
        with suppress(CommonplaceError):
            return self._service().read_text(ref).version[:SHORT_VERSION]
        return ""


def amendment_answer(done: Amendment, more: Sequence[str] = ()) -> Answer:
    """What a correction came to, in words and as facts.

    Args:
        done: What the service answered.
        more: Notes beside its own.
    """
    ref, former = visible_line(done.ref), visible_line(done.former)
    line = {
        "edited": f"Edited {ref}.",
        "deleted": f"Deleted {ref}.",
        "superseded": f"Wrote {ref}. It takes the place of {former}, which stays and names it.",
    }[done.act]
    facts = {"act": done.act, "ref": ref, "former": former}
    changed = changed_lines(done.ref, done.before, done.text)
    quoted = [fenced("\n".join(changed), ref)] if changed else []
    return answer_of([line, *quoted], facts, [*done.notes, *more])


def changed_lines(ref: str, text: str, new_text: str) -> list[str]:
    """What a correction took away and what stands there now, a line of each at the most."""
    before, after = _lines_of(ref, text), _lines_of(ref, new_text)
    here, there = frozenset(before), frozenset(after)
    gone = [each for each in before if each not in there]
    new = [each for each in after if each not in here]
    start = 0
    if gone and new:  # a long line is shown from where it differs
        same = zip(gone[0], new[0], strict=False)
        differs = next((n for n, (x, y) in enumerate(same) if x != y), 0)
        start = differs if differs > _SHOWN // 2 else 0
    return [
        f"{sign} {'...' if start else ''}{opening(visible_line(lines[0][start:]), _SHOWN)}"
        + (f" (and {more} more)" if (more := _said_beside(ref, lines)) else "")
        for sign, lines in (("-", gone), ("+", new))
        if lines
    ]


def _said_beside(ref: str, lines: Sequence[str]) -> int:
    """How many lines there are beside the first, less the headings of a private entry."""
    return sum(not (ref.startswith("private:") and each.startswith("## ")) for each in lines[1:])


def first_line(ref: str, text: str) -> str:
    """The first line of what an entry says, without secrets; for a note."""
    return opening(visible_line(next(iter(_lines_of(ref, text)), "")), _SHOWN)


def _lines_of(ref: str, text: str) -> list[str]:
    """What an entry says, without secrets: no line of the head of a file, and no blank one.

    A heading of the private journal comes last: words say more.
    """
    is_private = ref.startswith("private:")
    said = shown_now(split_frontmatter(text)[1] if is_private else text)
    lines = [each for each in said.splitlines() if each.strip()]
    return sorted(lines, key=lambda each: is_private and each.startswith("## "))
