"""The one screen: forty secrets that lie in a home leave it by no door, in answers and errors."""

from __future__ import annotations

import html
import io
import json
import logging
import os
import re
import shlex
from collections import Counter
from pathlib import Path
from urllib.parse import unquote_plus

import anyio
import click
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.doors.planted import Planted
from tests.doors.web.test_entry import form_of
from tests.doors.web.web_world import WebWorld, csrf_of
from tests.over_mcp import ask

from commonplace.core.errors import CommonplaceError
from commonplace.doors.cli import main
from commonplace.doors.doctor.secrets import find_secrets
from commonplace.doors.hooks.client_messages import EVENTS
from commonplace.doors.hooks.hook import answer
from commonplace.doors.logs import close_logging, set_up_logging
from commonplace.doors.mcp_offer import McpOffer
from commonplace.journals.table import JOURNALS
from commonplace.journals.transcripts.message import Message
from commonplace_server.mcp.server import make_server

TOOLSETS = ("recall", *(x for row in JOURNALS for x in row.toolsets))
OWN = "Kestrel-Seven"
LOOKED = "answers, pages and refusals in which forty planted secrets were looked for"
OF_PATH = 6
"""Pages of one address that are visited."""
NO_ANSWER = {
    "mcp",
    "chronicle mcp",
    "serve",
    "web",
    "hook",
    "memory worker",
    "timeline demo",
    "config edit",
    "model fetch",
}
"""Commands that serve, wait, need an editor, or show what is not of this home; hooks are below."""


@pytest.fixture
def world(words_only, monkeypatch):
    """The pages of a home in which secrets lie."""
    monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    monkeypatch.setenv("COMMONPLACE_SECRETS_OWN", f'["{OWN}"]')
    made = WebWorld()
    made.planted = Planted(made.app)
    made.app.filing.sweep()
    yield made
    made.close()


def commands(group=main, before=()):
    """The words of each command."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name), command


def calls_of(words, command, planted):
    """Ways to call a command that show something, or fail with what they were given."""
    section = f"birds/{planted.places['section name']}"
    named = {
        "ref": ["-1", f"notebook:{section}"],
        "refs": [f"notebook:{section}"],
        "id": [section, "-1"],
        "section": [section],
        "path": ["-1"],
        "kind": ["todo", "preference"],
        "when": ["2020 to 2030"],
        "count": ["5"],
    }
    arguments = [x for x in command.params if isinstance(x, click.Argument)]
    given = named.get(arguments[0].name, ["kestrel"]) if arguments else []
    for flags in ([], ["--json"]):
        yield [*words, *flags]
        yield from ([*words, *[value] * len(arguments), *flags] for value in given)
    yield [*words, planted.places["chronicle tag"], "--json"]


def test_no_command_shows_a_secret(world, counted):
    """In words and in JSON, on stdout and stderr, whether it answers or fails."""
    planted, shown, seen, calls = world.planted, {}, set(), 0
    for words, command in [*commands()]:
        if " ".join(words) in NO_ANSWER:
            continue
        for call in calls_of(words, command, planted):
            ran = CliRunner().invoke(main, call, input="")
            calls += 1
            if found := planted.shown_in(ran.stdout + ran.stderr):
                shown[" ".join(call)] = found
            if "[secret: " in ran.stdout:
                seen.add(words[0])
    assert shown == {}
    assert seen >= {"list", "brief", "private", "chronicle", "notebook", "timeline", "memory"}
    counted(LOOKED, calls)


def test_no_form_of_a_list_shows_a_secret(world, counted):
    """A line an entry, whole, plain, as lines of JSON, and as a model has it."""
    for words in (
        ["list"],
        ["search", "kestrel"],
        ["chronicle", "list"],
        ["memory", "list", "todo"],
    ):
        for form in ("--oneline", "--full", "--plain", "--jsonl", "--model"):
            ran = CliRunner().invoke(main, [*words, form])
            assert ran.exit_code == 0, ran.stderr
            assert world.planted.shown_in(ran.stdout) == [], (words, form)
            counted(LOOKED, 1)


def test_no_page_shows_a_secret(world, counted):
    """Neither do its links and fields, nor a page that a link leads to, nor one that fails."""
    browser, planted = world.browser(), world.planted
    ahead, seen, shown = ["/"], set(), {}
    ahead += [
        "/search?q=kestrel&n=50",
        "/chronicle?q=kestrel",
        "/transcripts",
        "/memory?kind=journal",
    ]
    ahead += [
        f"/{name}?q={planted.secrets[0]}&ref={planted.secrets[1]}" for name in ("search", "entry")
    ]
    of_path = Counter()
    while ahead:
        page = ahead.pop()
        path = page.partition("?")[0]
        of_path[path := re.sub(r"(?<=/calendar)/.*", "", path)] += page not in seen
        if page in seen or path.startswith("/static") or of_path[path] > OF_PATH:
            continue
        seen.add(page)
        answered = browser.get(page)
        if found := planted.shown_in(answered.text + str(answered.headers)):
            shown[page] = found
        links = re.findall(r'(?:href|action)="(/[^"#]*)', answered.text)
        ahead += [html.unescape(x) for x in links if x != "/leave"]
    assert shown == {}
    for name in ("entry", "entry/edit", "entry/delete", "entry/forget", "chronicle", "memory"):
        assert any(x.partition("?")[0] == f"/{name}" for x in seen), name
    counted(LOOKED, len(seen))


def test_no_refusal_of_a_page_shows_a_secret(world):
    """What the last page did is said on the next, also where that one is refused or not there."""
    browser, append = world.browser(), world.app.transcripts.store.append
    known = next(x for x in world.planted.secrets if re.fullmatch(r"\w[\w.-]{0,99}", x))
    for session in (known, OWN):
        said = {"role": "user", "at": "2026-11-22T10:00:00.000Z", "text": "So it is."}
        append("claude-code", session, [Message(id=f"{session}{i}", **said) for i in "123"])
        for number, (method, path, status) in enumerate(
            [
                ("GET", "/nothing", 404),
                ("GET", "/entry/deleted", 405),
                ("POST", "/entry/deleted", 400),
            ],
            start=1,
        ):
            ref = f"transcripts:claude-code/{session}#{number}"
            asked = browser.get("/entry/delete", params={"ref": ref})
            assert browser.post("/entry/deleted", data=form_of(asked)).status_code == 303
            refused = browser.request(method, path)
            assert refused.status_code == status
            assert "Deleted transcripts:claude-code/[secret: " in refused.text
            assert session not in refused.text


def test_links_and_fields_lead_to_what_they_hide(world):
    """A tag, a section and an entry whose names hold secrets are found by the marks on a page."""
    browser = world.browser()
    tags = browser.get("/chronicle").text
    tag = world.app.shared.screen.shown(world.planted.places["chronicle tag"])
    (link,) = {
        address
        for address in map(html.unescape, re.findall(r'href="(/chronicle\?tag=[^"]*)"', tags))
        if unquote_plus(address).endswith(tag)
    }
    filtered = browser.get(link).text
    assert "The kestrel flew." in filtered
    assert "said" not in filtered.partition('id="live"')[2]
    field = html.unescape(re.search(r'name="tag" value="([^"]*)"', filtered)[1])
    assert "The kestrel flew." in browser.get("/chronicle", params={"tag": field}).text
    notebook = browser.get("/notebook").text
    section = html.unescape(
        re.search(r'href="(/notebook/section\?name=[^"]*secret[^"]*)"', notebook)[1]
    )
    assert browser.get(section).status_code == 200


def test_an_edit_of_a_page_keeps_what_it_hides(world):
    """The form shows marks; what is saved has the secrets again, but those of no other text."""
    browser, planted = world.browser(), world.planted
    others = planted.places["chronicle tag"]
    browser.get("/chronicle")
    forged = world.app.shared.screen.shown(others)
    secret = planted.places["to-do"]
    ref = world.call("chronicle", "add_entry", message=f"It is {secret}, not {forged}.").facts
    ref = ref.get("ref") or ref["entry"]["ref"]
    form = browser.get("/entry/edit", params={"ref": ref}).text
    text = html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", form, re.DOTALL)[1])
    assert planted.shown_in(form) == []
    version = re.search(r'name="version" value="([^"]*)"', form)[1]
    sent = {"ref": ref, "version": version, "text": f"{text} Still.", "csrf": csrf_of(browser)}
    assert browser.post("/entry/save", data=sent).status_code == 303
    kept = world.app.amend.read_text(ref).text
    assert kept == f"It is {secret}, not {forged}. Still."


def test_no_tool_shows_a_secret(world, counted):
    """Of any toolset, over MCP, in text and JSON, whether it answers or fails."""
    planted, app = world.planted, world.app
    secret = planted.places["chronicle tag"]
    shown = {}
    for toolset in TOOLSETS:
        calls = []
        for tool in app.toolset(toolset).tools:
            names = tool.schema["properties"]
            given = {"query": "kestrel", "text": "kestrel", "what": "kestrel", "kind": "todo"}
            given |= {
                "work_context": "kestrel",
                "content": "kestrel",
                "start": "2020",
                "end": "2030",
            }
            given |= {"path": f"birds/{planted.places['section name']}"}
            usual = {x: y for x, y in given.items() if x in names and not tool.effects.writes}
            calls += [(tool.name, usual), (tool.name, {}), (tool.name, {secret: 1})]
            calls += [(tool.name, {**usual, name: secret}) for name in names]
            calls += [(tool.name, dict.fromkeys(names, f"{'x' * 50} {secret}"))]
        calls += [(secret, {}), (f"{'x' * 90} {secret}", {})]
        for (name, arguments), given in zip(calls, ask(app, [toolset], *calls), strict=True):
            if found := planted.shown_in(given.whole):
                shown[f"{name} {sorted(arguments)}"] = found, given.whole[:300]
        counted(LOOKED, len(calls))
    assert shown == {}, shown


def test_no_refusal_of_a_request_shows_a_secret(world, counted):
    """A resource or a prompt that is not there is named in words and in the JSON of the error."""
    planted, app = world.planted, world.app

    async def refused():
        said = []
        server = make_server(McpOffer([app.toolset("recall")], screen=app.shared.screen))
        async with Client(server) as client:
            for name in (*planted.secrets, OWN):
                for call in (client.read_resource(f"x://{name}"), client.get_prompt(name)):
                    with pytest.raises(MCPError) as caught:
                        await call
                    said.append(f"{caught.value.message} {json.dumps(caught.value.data)}")
        return said

    said = anyio.run(refused)
    assert all("[secret: " in each for each in said)
    assert planted.shown_in(" ".join(said)) == []
    assert OWN not in " ".join(said)
    counted(LOOKED, len(said))


def test_a_model_names_an_entry_by_what_it_was_shown(world):
    """A ref, a section and a tag with marks in them, as an answer has them."""
    app, planted = world.app, world.planted
    shown = app.shared.screen.shown
    section = shown(f"birds/{planted.places['section name']}")
    calls = [
        ("open_ref", {"ref": f"notebook:{section}"}),
        ("journal_read", {"id": section}),
        ("search_entries", {"tags": [shown(planted.places["chronicle tag"])]}),
    ]
    opened, read, tagged = ask(app, ["recall", "notebook", "chronicle"], *calls)
    assert "[secret: " in opened.text
    assert not read.is_error
    assert "The kestrel flew." in tagged.text


def test_no_hook_says_a_secret(world, counted):
    """At no event, to no client."""
    said = ""
    for event in EVENTS:
        for client in ("claude-code", "codex", "gemini", "cursor", "copilot"):
            sent = {"session_id": "s-2", "cwd": str(Path.cwd()), "prompt": "the kestrel"}
            said += answer(event, client, json.dumps(sent).encode(), os.environ)
            counted(LOOKED, 1)
    assert "Commonplace keeps" in said
    assert world.planted.shown_in(said) == []


def test_no_log_holds_a_secret(world):
    """Neither its lines, nor the words of our own errors below them."""
    log = logging.getLogger("commonplace.test")
    said = io.StringIO()
    set_up_logging(world.app.settings, stderr=said)
    log.warning("The section %s.", world.planted.secrets[0])
    try:
        world.app.amend.read_text(f"chronicle:{world.planted.secrets[1]}")
    except CommonplaceError:
        log.exception("It failed")
    close_logging()
    assert said.getvalue().count("[secret: ") == 2
    assert world.planted.shown_in(said.getvalue()) == []


def test_doctor_s_commands_work_as_they_stand(world):
    """Each is pasted into a shell as it is; afterwards that entry holds no secret."""
    problems = find_secrets(world.app).problems
    commands_said = [
        (problem.what, found[1])
        for _, problem in problems
        for found in [re.search(r"commonplace ((?:forget|notebook move|edit) .*)", problem.hint)]
        if found
    ]
    assert commands_said
    said = unquote_plus(str(problems))
    assert world.planted.shown_in(said) == []
    for what, line in sorted(commands_said, key=lambda said: "move" in said[1]):
        words = [x.replace("NEW-NAME", f"birds/owl{abs(hash(what))}") for x in shlex.split(line)]
        ran = CliRunner().invoke(
            main, [*words, *(["--yes"] if words[0] == "forget" else [])], input="x"
        )
        assert ran.exit_code == 0, (what, line, ran.stderr)
