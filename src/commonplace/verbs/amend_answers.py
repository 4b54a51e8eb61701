"""What a correction came to, in words: new text, deletion, or an entry that took another's place.

Never corrects anything: `verbs.amend` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.fence import fenced, visible_line
from commonplace.core.text import opening, shown_now
from commonplace.journals.private.markdown import split_frontmatter
from commonplace.verbs.answers import answer_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import Amendment, Answer

_SHOWN = 160
"""Characters of a line that an answer shows."""


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
