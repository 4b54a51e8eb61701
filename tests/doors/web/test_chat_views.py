"""The pages in a chat: what a host of the MCP Apps extension is given, in a real browser."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from tests.doors.web.test_browser import AXE, CHROMIUM, MS
from tests.verbs.recall_world import RecallWorld

from commonplace.verbs.recall.views import MEDIA_TYPE, PERIOD, SEARCH

try:
    from playwright.sync_api import expect, sync_playwright
except ModuleNotFoundError:
    sync_playwright = None

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""What a host allows a page that names no other site."""

HOST = """<body><script>
window.asked = [];
addEventListener("message", ({data, source}) => {
  const answer = (result) => source.postMessage({jsonrpc: "2.0", id: data.id, result}, "*");
  const say = (method, params) => source.postMessage({jsonrpc: "2.0", method, params}, "*");
  if (data.method === "ui/initialize")
    answer({hostCapabilities: CAPABLE, hostContext: {theme: "dark"}});
  if (data.method === "ui/notifications/initialized") {
    say("ui/notifications/tool-input", {arguments: {query: "harbour", limit: 5}});
    say("ui/notifications/tool-result", {content: [{type: "text", text: "<b>as text</b>"}]});
  }
  if (data.method === "tools/call") { window.asked.push(data.params); answer(ANSWER); }
});
</script></body>"""


@pytest.fixture
def views(tmp_path):
    """Each page by its address, as a host fetches it."""
    world = RecallWorld(tmp_path)
    offered = world.open().toolset("recall").resources
    yield {each.uri: each for each in offered if each.uri.startswith("ui:")}
    world.close()


def test_each_is_one_document_that_loads_nothing(views):
    """No address of anything else stands in it."""
    assert {*views} == {SEARCH, PERIOD}
    for each in views.values():
        text = each.read()
        assert each.media_type == MEDIA_TYPE
        assert text.startswith("<!doctype html>")
        assert not re.search(r"(?:src|href|url|import)\s*[=(]|https?:", text)
    assert 'data-tool="recall" data-asked="query"' in views[SEARCH].read()
    assert 'data-tool="list_by_time" data-asked="when"' in views[PERIOD].read()


@pytest.mark.browser
@pytest.mark.skipif(
    sync_playwright is None or not shutil.which(CHROMIUM or "chromium") or not AXE.exists(),
    reason="`make test-browser` installs what drives Chromium.",
)
@pytest.mark.parametrize("may_call", [True, False])
def test_a_host_shows_it(views, may_call):
    """Entries as text under the host's policy, and asked again; as it came where nothing may be."""
    answer = {
        "content": [],
        "structuredContent": {
            "results": [
                {
                    "ref": "chronicle:1",
                    "when": "2026-11-23 10:00",
                    "journal": "chronicle",
                    "excerpt": "<img src=x onerror=window.taken=1> <script>window.taken=1</script>",
                }
            ]
        },
    }
    host = HOST.replace("CAPABLE", json.dumps({"serverTools": {}} if may_call else {})).replace(
        "ANSWER", json.dumps(answer).replace("</", "<\\/")
    )
    text = views[SEARCH].read()
    text = text.replace(
        "<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    )
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 360, "height": 700})
        page.set_default_timeout(MS)
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.set_content(host)
        page.evaluate(
            """(text) => { const frame = document.createElement("iframe");
            frame.sandbox = "allow-scripts"; frame.width = 340; frame.srcdoc = text;
            document.body.append(frame); }""",
            text,
        )
        inside = page.frame_locator("iframe")
        if may_call:
            expect(inside.locator("li")).to_contain_text("<img src=x onerror")
            inside.locator("input").fill("bakery")
            inside.locator("input").press("Enter")
            page.wait_for_function("window.asked.length === 2")
            first, again = page.evaluate("window.asked")
            assert first["arguments"] == {"query": "harbour", "limit": 5}
            assert first["_meta"] == {"commonplace/structured": True}
            assert again["arguments"] == {"query": "bakery", "limit": 5}
        else:
            expect(inside.locator("pre")).to_have_text("<b>as text</b>")
            assert page.evaluate("window.asked") == []
        (frame,) = page.main_frame.child_frames
        assert frame.evaluate("window.taken === undefined")
        assert frame.evaluate("document.documentElement.scrollWidth") <= 340
        frame.evaluate(AXE.read_text("utf-8"))
        found = frame.evaluate("axe.run({resultTypes: ['violations']})")
        assert [(x["id"], x["nodes"][0]["html"][:80]) for x in found["violations"]] == []
        assert said == []
        chromium.close()
