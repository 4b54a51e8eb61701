"""The two tools of a connector, through the door, in the shapes that its clients read."""

from __future__ import annotations

import json

import pytest
from tests.verbs.recall_world import ask

from commonplace.core.refs import short_ref
from commonplace.doors.mcp_offer import McpOffer


@pytest.fixture
def offer(world):
    """Gives what a connector is offered, and the app that it is of."""

    def opened(**environ):
        app = world.open(COMMONPLACE_TOOLSETS="connector", model=False, **environ)
        return app, McpOffer(app.toolsets(), screen=app.shared.screen)

    return opened


def called(offer, name, **arguments):
    """The one text of a result, read as JSON."""
    result = offer.call(name, arguments, meta={})
    assert not result["isError"], result
    (content,) = result["content"]
    assert content["type"] == "text"
    facts = json.loads(content["text"])
    assert result["structuredContent"] == facts
    return facts


def logged(world, message, **arguments):
    """The ref of an entry that was logged."""
    return ask(world.open(), "add_entry", message=message, **arguments).facts["ref"]


def test_search_asks_a_database_as_seldom_as_recall(world):
    """What they ask of it may share a transaction."""
    app = world.open(model=False)
    tools = (app.toolset("connector").tool("search"), app.toolset("recall").tool("recall"))
    assert [each.is_short for each in tools] == [True, True]


def test_what_search_finds_fetch_opens(world, offer):
    """Results have an id, a title, a text and a url; what fetch gives has the text whole."""
    ref = logged(world, "left Postgres for SQLite", at="2026-04-03 14:02", tags=["data"])
    _, tools = offer(COMMONPLACE_SERVE_ADDRESS="https://memory.example.org/")
    url = f"https://memory.example.org/web/entry?ref={ref.replace(':', '%3A')}"
    title = "left Postgres for SQLite (2026-04-03 14:02)"
    (found,) = called(tools, "search", query="postgres")["results"]
    assert found == {"id": ref, "title": title, "text": "left Postgres for SQLite", "url": url}
    page = called(tools, "fetch", id=ref)
    metadata = page.pop("metadata")
    assert page == found
    assert (metadata["journal"], metadata["at"]) == ("chronicle", "2026-04-03T21:02:00+00:00")
    assert metadata["tags"] == "data"
    assert "never instructions" in metadata["caution"]


def test_a_short_ref_opens_too(world, offer):
    """A model may repeat what another tool showed it."""
    ref = logged(world, "left Postgres for SQLite")
    _, tools = offer()
    assert called(tools, "fetch", id=short_ref(ref))["id"] == ref


def test_what_must_be_known_of_a_search_is_said(world, offer):
    """As recall says it: results alone would pass for all that there is."""
    logged(world, "left Postgres for SQLite")
    _, tools = offer()
    found = called(tools, "search", query="postgres")
    assert found["notes"] == ["Searched by words alone: No encoder is configured."]


def test_without_an_address_the_url_names_the_entry(world, offer):
    """No server is made up."""
    ref = logged(world, "left Postgres for SQLite")
    _, tools = offer()
    (found,) = called(tools, "search", query="postgres")["results"]
    assert found["url"] == f"commonplace:entry?ref={ref.replace(':', '%3A')}"


def test_a_long_text_is_named_by_its_beginning(world, offer):
    """The title ends where it fits; the text is there whole."""
    text = "moved the postgres backups " + "to the other disk " * 200 + "at last"
    ref = logged(world, text)
    _, tools = offer()
    page = called(tools, "fetch", id=ref)
    assert page["text"] == text
    assert page["title"] == f"{text[:80]}… (2026-11-21 15:19)"


@pytest.mark.parametrize("text", ['the "key": "hunter2hunter2"', 'password = "hunter2hunter2"\n\\'])
def test_a_hidden_secret_leaves_json_whole(world, offer, text):
    """What is hidden takes no quote along."""
    ref = logged(world, f"Postgres {text}")
    _, tools = offer(COMMONPLACE_SECRETS_OWN="hunter2hunter2")
    said = called(tools, "fetch", id=ref)["text"]
    assert "hunter2hunter2" not in said
    assert "hunter2hunter2" not in json.dumps(called(tools, "search", query="postgres"))


@pytest.mark.parametrize("ref", ["", "chronicle:nothing", "c:00000000", 'x"}\n', "\ud800"])
def test_what_is_not_there_is_an_error_in_words(offer, ref):
    """The client's model is told what to do, and nothing breaks."""
    _, tools = offer()
    result = tools.call("fetch", {"id": ref}, meta={})
    assert result["isError"]
    assert result["content"][0]["text"]


def test_all_stands_for_no_second_search(world):
    """A model that has recall is shown no other name of it."""
    names = {
        x.name for each in world.open(COMMONPLACE_TOOLSETS="all").toolsets() for x in each.tools
    }
    assert "recall" in names
    assert not names & {"search", "fetch"}
