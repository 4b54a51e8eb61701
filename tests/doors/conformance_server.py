"""A server over stdio of what the protocol's conformance suite asks for by name.

Our own loop and offer, with tools, a page and a prompt of the suite's in place of ours.
"""

from __future__ import annotations

import os
from typing import Annotated

from commonplace.core.errors import Invalid
from commonplace.core.ports import Language  # noqa: TC001  a tool's hints are read when it is called
from commonplace.core.values import Answer, Passage, Question
from commonplace.doors.lifecycle import Lifecycle
from commonplace.doors.mcp_offer import McpOffer
from commonplace.doors.stdio.loop import StdioLoop
from commonplace.verbs.toolset import Arg, Prompt, Resource, Tool, Toolset


def test_simple_text() -> Answer:
    """Say one thing."""
    return Answer(text="This is a simple text response for testing.")


def test_error_handling() -> Answer:
    """Fail."""
    raise Invalid("This tool intentionally returns an error for testing.", hint="Expect it.")


def test_sampling(
    *,
    prompt: Annotated[str, Arg("What to ask.")],
    sampler: Language | None = None,  # noqa: PT028  no test, for the suite names it
) -> Answer:
    """Ask the client's model."""
    assert sampler is not None
    passage = Passage(origin="prompt", text=prompt)
    said = sampler.complete(Question(instructions="Answer.", passages=(passage,), max_tokens=100))
    return Answer(text=f"LLM response: {said.text}")


SUITE = Toolset(
    name="suite",
    guide="",
    tools=tuple(
        Tool(run=run, title="T") for run in (test_simple_text, test_error_handling, test_sampling)
    ),
    resources=(
        Resource(
            uri="test://static-text",
            title="Text",
            description="A text.",
            media_type="text/plain",
            read=lambda: "This is the content of the static text resource.",
        ),
    ),
    prompts=(
        Prompt(
            name="test_simple_prompt",
            title="P",
            description="A prompt.",
            write=lambda: "This is a simple prompt for testing.",
        ),
    ),
)

if __name__ == "__main__":
    offer = McpOffer([SUITE])
    lifecycle = Lifecycle(lambda: None)
    lifecycle.watch(os.getppid())
    StdioLoop(offer.lists, lambda: offer, lifecycle=lifecycle, on_listed=lambda: None).run()
