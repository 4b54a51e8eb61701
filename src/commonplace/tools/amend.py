"""Correcting in words for a model: new text, deletion, or an entry that takes another's place.

Decides nothing about journals: the service finds the one that a ref names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from commonplace.core.errors import Invalid
from commonplace.core.fence import visible_line
from commonplace.core.values import Answer
from commonplace.tools.answers import answer_of
from commonplace.tools.toolset import Arg, Effects, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Amendment
    from commonplace.services.amend import AmendService


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
        return Tool(run=self.amend, title="Correct an entry", effects=effects)

    def amend(
        self,
        *,
        ref: Annotated[str, Arg("As shown.")],
        text: Annotated[str, Arg("The whole new text.")] = "",
        supersede: Annotated[bool, Arg("Keep the old one too.")] = False,
        delete: Annotated[bool, Arg("Delete it for good.")] = False,
    ) -> Answer:
        """Any journal: correct an entry by its ref, however old it is.

        Use it when what was written is wrong (text), held once and no more (text, supersede), or
        must go (delete: only if the user asks). Not for news: write a new entry. Returns its ref.
        """
        if delete == bool(text.strip()):
            what = "text and delete were both given" if delete else "neither text nor delete"
            raise Invalid(
                f"Invalid call of amend: {what}.", hint="Give the new text, or delete=true."
            )
        if delete and supersede:
            raise Invalid(
                "Invalid call of amend: supersede and delete were both given.",
                hint="To supersede, give the text that holds now.",
            )
        service = self._service()
        if delete:
            return amendment_answer(service.delete(ref))
        return amendment_answer(
            service.supersede(ref, text) if supersede else service.edit(ref, text)
        )


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
    return answer_of([line], facts, [*done.notes, *more])
