"""The client's own model: asked through the official client, in every revision and every mood."""

from __future__ import annotations

import os

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageResult, ErrorData, ImageContent, TextContent
from tests.doors.raw_server import server_command

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.doors.mcp_offer import McpOffer
from commonplace_server.mcp.server import make_server
from commonplace_testing.language import FakeLLM

A, B = "We build REST.\n\nErrors are text.", "We build REST.\n\nErrors are problem+json."
BOTH = "We build REST.\n\nErrors are text.\n\nErrors are problem+json."
MODES = ["legacy", "auto"]


pytestmark = pytest.mark.usefixtures("words_only")


class Model:
    """A client's model: keeps what it was asked, and says one thing."""

    def __init__(self, said=BOTH, **rest):
        self.said = said
        self.rest = rest
        self.asked = []

    async def __call__(self, _context, params):
        self.asked.append(params)
        if isinstance(self.said, ErrorData):
            return self.said
        if self.said is None:
            await anyio.sleep_forever()
        content = (
            TextContent(type="text", text=self.said) if isinstance(self.said, str) else self.said
        )
        return CreateMessageResult(role="assistant", content=content, model="ours-1", **self.rest)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Makes a server over a notebook of its own, in this process."""
    monkeypatch.setenv("COMMONPLACE_TOOLSETS", "notebook")
    opened = []

    def make():
        settings = read_settings(cwd=tmp_path / "project", home=tmp_path / "home")
        opened.append(App(settings, user_home=tmp_path / "home"))
        return make_server(McpOffer(opened[-1].toolsets(), structured=True))

    yield make
    for each in opened:
        each.close()


def merged(server, model, *, mode="auto", a=A, b=B):
    """What the tool says to a client with this model."""

    async def scenario():
        async with Client(server, mode=mode, sampling_callback=model) as client:
            arguments = {"section": "api", "version_a": a, "version_b": b}
            return await client.call_tool("journal_synthesize_conflict", arguments)

    result = anyio.run(scenario)
    assert not result.is_error, result
    return result.structured_content


@pytest.mark.design("001-40")
@pytest.mark.parametrize("mode", MODES)
def test_the_clients_model_merges(server, mode):
    """With our instructions apart from the fenced overviews; the answer says who made it."""
    model = Model(stop_reason="endTurn")
    facts = merged(server(), model, mode=mode)
    assert (facts["made_by"], facts["model"], facts["left_out"]) == ("client", "ours-1", 0)
    assert facts["merged"] == BOTH
    (asked,) = model.asked
    assert asked.system_prompt.startswith("You merge two versions")
    assert asked.messages[0].content.text.startswith(f"```version A\n{A}\n```\n\n```version B\n")


def test_any_server_takes_what_the_model_said(server):
    """Of the revision without sessions: the call that bears the answer may come to another."""
    one, other = server(), server()
    called = {
        "name": "journal_synthesize_conflict",
        "arguments": {"section": "api", "version_a": A, "version_b": B},
    }

    async def scenario():
        async with (
            Client(one, sampling_callback=Model()) as first,
            Client(other, sampling_callback=Model()) as second,
        ):
            asks = await first.session.call_tool(**called, allow_input_required=True)
            (named,) = asks.input_requests
            said = {named: await Model()(None, asks.input_requests[named].params)}
            again = second.session.call_tool
            told = await again(**called, input_responses=said, request_state=asks.request_state)
            stale = await again(
                **called,
                input_responses=said,
                request_state="of another question",
                allow_input_required=True,
            )
            return asks, told, stale

    asks, told, stale = anyio.run(scenario)
    assert told.structured_content["made_by"] == "client"
    assert told.structured_content["merged"] == BOTH
    assert stale.request_state == asks.request_state


@pytest.mark.parametrize("mode", MODES)
def test_a_client_without_sampling_is_not_asked(server, mode):
    """The merge by block, without a word on what could have been."""
    facts = merged(server(), None, mode=mode)
    assert (facts["made_by"], facts["notes"]) == ("merge", [])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("said", "rest"),
    [
        ("I will not.", {}),
        (" ", {}),
        (ImageContent(type="image", data="AAAA", mime_type="image/png"), {}),
        (BOTH, {"stop_reason": "maxTokens"}),
    ],
)
def test_an_answer_of_no_use(server, mode, said, rest):
    """Nonsense, nothing, a picture, a cut answer: the merge by block, and why."""
    facts = merged(server(), Model(said, **rest), mode=mode)
    assert facts["made_by"] == "merge"
    (note,) = facts["notes"]
    assert note.startswith("The client's model did not make this: It")


def test_a_client_that_refuses(server):
    """In a handshake's session the merge stands; since then the client itself ends the call."""
    model = Model(ErrorData(code=-1, message="The user said no, and marzipan."))
    facts = merged(server(), model, mode="legacy")
    assert facts["made_by"] == "merge"
    assert "refused" in facts["notes"][0]
    assert "marzipan" not in str(facts)
    with pytest.raises((MCPError, ExceptionGroup)):
        merged(server(), model, mode="auto")


def test_a_client_that_never_answers(server, monkeypatch):
    """It is waited for as long as a call may take, and no longer."""
    monkeypatch.setattr("commonplace_server.mcp.server.SAMPLING_S", 0.2)
    facts = merged(server(), Model(None), mode="legacy")
    assert facts["made_by"] == "merge"
    assert "took too long" in facts["notes"][0]


def test_the_configured_model_comes_after_the_clients(server, monkeypatch):
    """Its answer, or the reason why not."""
    with FakeLLM(BOTH) as fake:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", fake.url)
        monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "small")
        monkeypatch.setenv("COMMONPLACE_LLM_BETTER_MODEL", "large")
        facts = merged(server(), None)
        assert (facts["made_by"], facts["model"], facts["merged"]) == ("llm", "fake-1", BOTH)
        assert fake.asked[0].body["model"] == "large"
        facts = merged(server(), Model())
        assert (facts["made_by"], len(fake.asked)) == ("client", 1)
        monkeypatch.setenv("COMMONPLACE_LLM_TOKENS_PER_DAY", "100")
        facts = merged(server(), None)
        assert facts["made_by"] == "merge"
        assert "Today's tokens are spent" in facts["notes"][0]


@pytest.mark.parametrize(
    "mode", ["legacy", "auto", pytest.param("2026-07-28", marks=pytest.mark.long)]
)
def test_sampling_works_over_stdio(tmp_path, monkeypatch, mode):
    """Our own loop asks the SDK's client as the SDK's server does."""
    monkeypatch.setenv("COMMONPLACE_PRELOAD", "0")
    command, *arguments = server_command("--structured", "--toolsets", "notebook")
    parameters = StdioServerParameters(
        command=command, args=arguments, env=dict(os.environ), cwd=tmp_path
    )
    model = Model()

    async def scenario():
        async with Client(parameters, mode=mode, sampling_callback=model) as client:
            await client.list_tools()
            called = {"section": "api", "version_a": A, "version_b": B}
            return await client.call_tool("journal_synthesize_conflict", called)

    result = anyio.run(scenario)
    assert result.structured_content["made_by"] == "client"
    assert len(model.asked) == 1
