"""Prompts that cannot be had: an error for the client, through the official one, and none of ours."""

from __future__ import annotations

import logging

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from commonplace.doors.mcp_offer import McpOffer
from commonplace.verbs.toolset import Prompt, Toolset
from commonplace_server.mcp.server import make_server

PROMPTS = tuple(
    Prompt(name=name, title=name, description=name, write=lambda: "Say hello.")
    for name in ("greet", "part")
)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("great", None, "There is no prompt 'great'. Use greet or part."),
        ("greet", {"secret": "marzipan"}, "The prompt greet takes no arguments. Leave them out."),
    ],
)
def test_a_prompt_that_cannot_be_had(caplog, mode, name, arguments, says):
    """The client hears what is wrong with its request; nothing is logged as a fault of ours."""
    server = make_server(McpOffer([Toolset(name="polite", guide="", tools=(), prompts=PROMPTS)]))

    async def scenario():
        async with Client(server, mode=mode) as client:
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, arguments)
            told = await client.get_prompt("greet", {})
        return refused.value.error, told.messages[0].content.text

    with caplog.at_level(logging.WARNING):
        error, text = anyio.run(scenario)
    assert (error.code, error.message) == (INVALID_PARAMS, says)
    assert text == "Say hello."
    assert not caplog.records
