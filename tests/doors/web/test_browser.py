"""The pages in a real browser: Chromium before the real command, over a real socket."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from server.tests.http_world import token_for
from tests.doors.web.web_world import box_of
from tests.journals.transcripts.sessions import said
from tests.patience import PATIENCE_S

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.doors.web.table import PAGES

AXE = Path(__file__).parents[3] / ".tools" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""

try:
    from playwright.sync_api import expect, sync_playwright
except ModuleNotFoundError:
    sync_playwright = None
else:
    expect.set_options(timeout=PATIENCE_S * 1000)  # which has its own limit, of 5 s

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        sync_playwright is None or not CHROMIUM or not AXE.exists(),
        reason="`make test-browser` installs what drives Chromium.",
    ),
]

LISTED = [row.path for row in PAGES if not row.writes and row.title]
ASKED = [
    "/search?q=deployed&project=x&as_of=2026-11-01",
    "/search?q=deployed",
    "/search?q=deployed&journal=chronicle&since=2026-01-01&n=25",
]
FIGURES = ["/chronicle/figure?q=deployed", "/chronicle?q=when+did+i+last+deploy"]
TIMES = ["/calendar/2026", "/calendar/2026-10", "/calendar/2026-W41", "/calendar/2026-10-06"]
WIDTHS = (360, 768, 1440)
MS = PATIENCE_S * 1000


class Served:
    """A running `commonplace web`.

    Args:
        link: What it printed; lets one browser in.
    """

    def __init__(self, process, link):
        self.process = process
        self.link = link
        self.base = re.match(r"http://[^/]+", link)[0]

    def kill(self):
        """End it at once, as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


def start(port=0):
    """Start the command in this home."""
    words = [sys.executable, "-m", "commonplace", "web", "--no-open", "--json", "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    text = ""
    while not text.endswith("}\n"):
        line = process.stdout.readline()
        assert line, "The command ended."
        text += line
    return Served(process, json.loads(text)["url"])


@pytest.fixture
def serve(words_only):
    """Starts the command; what was started is stopped at the end."""
    started = []

    def begin(port=0):
        served = start(port)
        started.append(served)
        return served

    yield begin
    for served in started:
        served.kill()


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(chromium, served, *, says=0, **given):
    """A page of a browser that opened the link; a key waits for the script of the page it is on.

    says: how much it must say to its console, such as of an answer that is an error.
    """
    context = chromium.new_context(**given)
    context.set_default_timeout(MS)
    page = context.new_page()
    said_there, elsewhere = [], []
    page.on("console", lambda message: said_there.append(message.text))
    page.on("pageerror", lambda error: said_there.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(served.base) else elsewhere.append(request.url)
        ),
    )
    pressed = page.keyboard.press
    page.keyboard.press = lambda key: (page.wait_for_load_state("domcontentloaded"), pressed(key))
    page.goto(served.link)
    yield page
    assert len(said_there) == says, said_there
    assert elsewhere == []
    context.close()


@contextmanager
def journals():
    """The journals of this home."""
    app = App(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home())
    yield app
    app.close()


def log(app, message, **given):
    app.toolset("chronicle").tool("add_entry").call({"message": message, **given})


def turn_of(session, n):
    """A message of its own: a session begins every third day, and goes on every 20 seconds."""
    at = datetime(2025, 11, 1, 8, tzinfo=UTC) + timedelta(days=session * 3, seconds=20 * n)
    text = f"Turn {n} of {session}: deployed again?"
    return said(1 + n % 2, text, id=f"{session}-{n}", at=f"{at:%Y-%m-%dT%H:%M:%S}.000Z")


def fill(count):
    """A home with so many entries: a few of every kind, the rest turns of sessions."""
    with journals() as app:
        for n in range(min(count, 40)):
            tags = ["release", "api"][: n % 3]
            log(app, f"Deployed part {n}", at=f"2026-10-{1 + n % 28:02} 10:00", tags=tags)
        if count >= 100:
            write = app.toolset("private").tool("process_thoughts").call
            write(
                {
                    "project_notes": "# A plan\n\n- one\n- two\n\n> Quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |"
                }
            )
            app.toolset("notebook").tool("journal_write").call(
                {"path": "api/errors", "entry": "Six codes.", "overview": "Errors have codes."}
            )
            add = app.toolset("timeline").tool("timeline_add").call
            for minute in range(10, 20):
                add({"content": f"tests, part {minute}", "at": f"2026-10-06 10:{minute}"})
            app.toolset("timeline").tool("timeline_profile").call({"text": "A baker of **bread**."})
            save = app.toolset("memory-write").tool("memory_save").call
            for n in range(3):
                save({"kind": "todo", "title": f"Thing {n}", "done": n == 1})
            app.timeline_commands().roll_up()
        left = count - 60
        each = 1000
        for session in range(max(0, (left + each - 1) // each)):
            turns = min(each, left - session * each)
            app.transcripts.store.append(
                "claude-code",
                f"s{session:04}",
                [turn_of(session, n) for n in range(turns)],
            )
        app.filing.catch_up()


def visit(page, served, path):
    page.goto(served.base + path)


def violations(page):
    """What axe finds, named shortly."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [f"{x['id']}: {x['nodes'][0]['html'][:200]}" for x in found["violations"]]


@pytest.mark.parametrize(
    "count", [0, 1, 100, 10_000, pytest.param(100_000, marks=pytest.mark.whole)]
)
def test_every_page_at_every_width_light_and_dark(serve, chromium, count):
    """Nothing is wider than the window, and axe finds nothing."""
    fill(count)
    served = serve()
    found = []
    with opened(chromium, served) as page:
        paths = [*LISTED, *ASKED, *TIMES, *FIGURES, "/health/doctor"]
        if count:
            visit(page, served, "/search?q=deployed&journal=chronicle")
            first = page.locator("a.open").first.get_attribute("href")
            ref = first.partition("ref=")[2]
            paths += [
                first,
                f"/entry/edit?ref={ref}",
                f"/entry/delete?ref={ref}",
                f"/entry/forget?ref={ref}",
            ]
        if count >= 100:
            paths += [
                "/notebook/section?name=api/errors",
                "/transcripts/inputs?ref=transcripts:claude-code/s0000",
            ]
            visit(page, served, "/transcripts")
            paths.append(page.locator("a.open").first.get_attribute("href"))
        for path in paths:
            visit(page, served, path)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    if page.evaluate("document.documentElement.scrollWidth") > width:
                        found.append(f"{path} at {width}: wider than the window")
                found += [f"{path} {scheme} {x}" for x in violations(page)]
    assert found == []


def test_by_keyboard_alone(serve, chromium):
    """To the search, through its hits, into an entry, and back."""
    fill(1)
    served = serve()
    with opened(chromium, served) as page:
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to the content")
        page.keyboard.press("Enter")
        page.keyboard.press("/")
        expect(page.locator(":focus")).to_have_attribute("name", "text")
        page.keyboard.type("deployed")
        page.keyboard.press("Control+Enter")
        expect(page.locator("ol.hits a.open")).to_have_count(1)
        hit = page.locator("ol.hits a.open")
        for _ in range(40):
            page.keyboard.press("Tab")
            if hit.evaluate("each => each === document.activeElement"):
                break
        page.keyboard.press("Enter")
        expect(page.locator("article")).to_contain_text("Deployed part 0")
        page.go_back()
        expect(page.locator("ol.hits a.open")).to_have_count(1)


def test_a_search_as_one_types(serve, chromium):
    """The hits follow, the address says the same, and the form works without script."""
    fill(1)
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, "/search")
        page.locator("input[name=q]").press_sequentially("deployed part")
        expect(page.locator("ol.hits a.open")).to_have_count(1)
        expect(page).to_have_url(re.compile(r"q=deployed\+part"))
    served = serve()
    with opened(chromium, served, java_script_enabled=False) as page:
        visit(page, served, "/search")
        page.locator("input[name=q]").fill("deployed")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("ol.hits a.open")).to_have_count(1)


def test_answers_come_in_the_order_of_the_questions(serve, chromium):
    """However long one takes: the next is asked once it is there, and the last one stays."""
    fill(1)
    served = serve()
    with opened(chromium, served) as page:
        page.clock.install()
        visit(page, served, "/search")
        asked, held = [], []

        def hold(route):
            asked.append(route.request.url)
            if held:
                route.continue_()
            else:
                held.append(route)

        page.route("**/search?*", hold)
        field = page.locator("input[name=q]")
        field.fill("elsewhere")
        with page.expect_request("**/search?*"):
            page.clock.run_for(1000)
        for typed in ("deployed", "deployed part"):
            field.fill(typed)
            page.clock.run_for(1000)
        assert len(asked) == 1
        with page.expect_request(re.compile(r"q=deployed\+part")):
            held[0].continue_()
        expect(page.locator("ol.hits a.open")).to_have_count(1)
        assert len(asked) == 2


def test_a_search_that_is_refused_as_one_types(serve, chromium):
    """Says why in the place of its hits, and goes on once it can be read."""
    fill(1)
    served = serve()
    with opened(chromium, served, says=1) as page:
        visit(page, served, "/search?q=deployed")
        page.get_by_text("Filters").click()
        page.get_by_label("Or in words").fill("last spr")
        expect(page.locator("#results")).to_contain_text("unknown time phrase: 'last spr'")
        page.get_by_label("Or in words").fill("")
        expect(page.locator("ol.hits a.open")).to_have_count(1)


def test_what_was_written_while_one_reads_appears_after(serve, chromium):
    """Nothing moves while a part of the list has the focus; then all of it is there."""
    fill(1)
    served = serve()
    with opened(chromium, served) as page:
        page.locator("#live .entries a.open").focus()
        with page.expect_response(
            lambda answer: answer.url == served.base + "/" and "elsewhere" in answer.text()
        ):
            subprocess.run(
                [sys.executable, "-m", "commonplace", "log", "Written elsewhere"],
                check=True,
                capture_output=True,
            )
        expect(page.locator("#live .entries a.open")).to_have_count(1)
        page.get_by_label("Find or write").focus()
        expect(page.locator("#live")).to_contain_text("Written elsewhere")


def test_what_was_written_elsewhere_appears(serve, chromium):
    """On the open first page, without anybody touching it."""
    served = serve()
    with opened(chromium, served) as page:
        expect(page.locator("#live")).to_contain_text("Nothing has been written yet.")
        subprocess.run(
            [sys.executable, "-m", "commonplace", "log", "Written elsewhere"],
            check=True,
            capture_output=True,
        )
        expect(page.locator("#live")).to_contain_text("Written elsewhere")


def test_a_stranger_corrects_and_forgets(serve, chromium):
    """By the pages alone: an entry is edited, superseded, forgotten; a to-do ticked; and back."""
    fill(100)
    served = serve()
    with opened(chromium, served, viewport={"width": 360, "height": 800}) as page:
        page.get_by_label("Find or write").fill("deployed part 7")
        page.get_by_role("button", name="Find").click()
        page.locator("a.open").first.click()
        page.get_by_role("link", name="Correct").click()
        box = page.get_by_label("Text")
        assert box_of(box)["width"] > 300  # not as narrow as its label
        box.fill("deployed part seven")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("article")).to_contain_text("deployed part seven")
        page.go_back()  # to the form, which a second press of its button must not send unasked
        page.go_forward()
        expect(page.locator("article")).to_contain_text("deployed part seven")
        page.get_by_role("link", name="Replace").click()
        page.get_by_label("Text").fill("part seven was torn down")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("link", name="deployed part seven").first.click()
        expect(page.locator(".warning")).to_contain_text("No longer holds")
        page.get_by_role("link", name="what replaced it").click()
        page.get_by_role("link", name="Forget …").click()
        page.get_by_role("button", name="Forget it for good").click()
        expect(page.locator("h1")).to_have_text("Deleted")
        expect(page.locator(".lead")).to_contain_text("Nothing of the text is left.")
        page.get_by_role("link", name="Journals").click()
        page.get_by_role("link", name="Memory").click()
        page.get_by_role("button", name="Done: Thing 0").click()
        expect(page.get_by_role("button", name="Open again: Thing 0")).to_be_visible()


def test_the_calendar_by_keyboard(serve, chromium):
    """From a year along its rows down to what was written in an hour, and up again."""
    fill(100)
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, "/calendar/2026")
        for named, heading in (("Oct", "October 2026"), ("Tue 6", "Tuesday, 6 October 2026")):
            row = page.locator("#live .rows > li", has_text=named)
            for _ in range(40):
                page.keyboard.press("ArrowDown")
                if "selected" in (row.last.get_attribute("class") or ""):
                    break
            page.keyboard.press("o")
            expect(page.locator("h1")).to_have_text(heading)
        page.get_by_role("link", name="10:00", exact=True).click()
        expect(page.locator("h1")).to_have_text("Tue 6 Oct 2026, 10:00")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("article")).to_contain_text("tests, part 19")
        page.go_back()
        page.get_by_role("link", name="2026", exact=True).click()
        expect(page.locator("h1")).to_have_text("2026")


def test_a_day_names_what_happened(serve, chromium):
    """In the table of its month, for who points at it and who comes by keyboard; none is cut off."""
    fill(100)
    served = serve()
    said = "getComputedStyle(document.activeElement, '::after').content"
    with opened(chromium, served, viewport={"width": 360, "height": 800}) as page:
        visit(page, served, "/calendar/2026-10")
        for day in page.locator("table.month td a").all():
            day.focus()
            assert "2026: " in page.evaluate(said)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_summary_that_became_due_appears_once_it_is_made(serve, chromium):
    """On the open page of its day, without anybody touching it."""
    fill(100)
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, "/calendar/2026-10-06")
        summary = page.locator("section", has=page.locator("#summary"))
        expect(summary).to_contain_text("has changed since")
        add = ["timeline", "add", "Tests are green", "--at", "2026-10-06 11:05"]
        command = [sys.executable, "-m", "commonplace", *add]
        subprocess.run(command, check=True, capture_output=True)
        expect(summary).to_contain_text("Tests are green", timeout=MS)
        expect(summary).to_contain_text("nothing that it was made from has changed", timeout=MS)


@pytest.fixture
def clashing(words_only, monkeypatch, tmp_path):
    """The folder of a notebook in which a sync could not merge one overview; this home's own."""
    git("init", "-q", "--bare", "-b", "main", tmp_path / "meeting.git")
    version = ""
    for name in ("ann", "bob", "ann"):
        monkeypatch.setenv("COMMONPLACE_NOTEBOOK", str(tmp_path / name))
        monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / f"{name}-own"))
        with journals() as app:
            service = app.notebook.service()
            write = app.toolset("notebook").tool("journal_write").call
            given = {"path": "api/port", "base_version": version}
            if not (tmp_path / name).exists():
                service.init()
                git("-C", tmp_path / name, "remote", "add", "origin", tmp_path / "meeting.git")
            if not version:
                begun = write(
                    {"path": "api/port", "entry": "begun", "overview": "Port 80, <b>ann</b>."}
                )
                version = begun.facts["version"]
            elif name == "bob":
                service.sync(remote="origin")
                write({**given, "entry": "Bob moved it", "overview": "Port 81, <i>bob</i>."})
            else:
                write({**given, "entry": "Ann moved it", "overview": "Port 82, <u>ann</u>."})
            service.sync(remote="origin")
    return tmp_path / name


def git(*words):
    done = subprocess.run(["git", *map(str, words)], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("width", [360, 1440])
def test_a_clash_is_settled(serve, chromium, clashing, script, width):
    """Both sides are shown, a text of both is written; the other copy has it after a sync."""
    served = serve()
    size = {"width": width, "height": 900}
    with opened(chromium, served, viewport=size, java_script_enabled=script) as page:
        if width < 1100:
            page.get_by_role("link", name="Journals").click()
        page.locator("#places").get_by_role("link", name="Notebook").click()
        page.get_by_role("link", name="api/port").click()
        sides = page.locator(".columns .card")
        expect(sides.nth(0)).to_contain_text("Port 82, <u>ann</u>.")
        expect(sides.nth(1)).to_contain_text("Port 81, <i>bob</i>.")
        if script:
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert (box_of(sides.nth(0))["y"] == box_of(sides.nth(1))["y"]) == (width > 360)
        box = page.get_by_label("What holds from now on")
        expect(box).to_have_value("Port 81, <i>bob</i>.")
        page.get_by_role("link", name="Begin with this text").click()
        expect(box).to_have_value("Port 82, <u>ann</u>.")
        box.fill("Port 82 at Ann's,\nport 81 at Bob's.")
        late = page.context.new_page()
        visit(late, served, "/notebook/clash?name=api/port")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("main")).to_contain_text("Settled api/port.")
        expect(page.locator(".prose")).to_contain_text("port 81 at Bob's.")
        page.go_back()
        expect(page.locator("main")).to_contain_text("No two versions of it wait to be settled")
        late.get_by_label("What holds from now on").fill("Port 83.")
        late.get_by_role("button", name="Save").click()
        expect(late.locator(".warning")).to_contain_text("This was settled")
        expect(late.get_by_label("What you typed")).to_have_value("Port 83.")
        late.get_by_role("link", name="what holds").click()
        expect(late.locator(".prose")).to_contain_text("port 81 at Bob's.")
        page.get_by_role("link", name="Notebook", exact=True).first.click()
        expect(page.locator("h1")).to_have_text("Notebook")
        expect(page.get_by_text("Two versions")).to_have_count(0)
    assert git("-C", clashing, "status", "--porcelain") == ""
    assert git("-C", clashing, "for-each-ref", "refs/commonplace/conflicts") == ""
    assert "Settle the overview of api/port" in git("-C", clashing, "log", "-1", "--format=%s")
    git("-C", clashing, "fsck", "--strict")
    with journals() as app:
        service = app.notebook.service()
        assert service.sync(remote="origin").facts["conflicts"] == []
        assert [*app.notebook.problems()][1:] == []
    pushed = git("-C", clashing.with_name("meeting.git"), "show", "main:api/port.md")
    assert "port 81 at Bob's." in pushed


def test_a_page_that_is_as_it_was_is_not_drawn_again(serve, chromium):
    """What was written elsewhere and is not on it moves nothing: no scrolling, no selection."""
    fill(1)
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, "/calendar/2020-01")
        page.evaluate("document.getElementById('live').kept = true")
        with page.expect_response(served.base + "/calendar/2020-01"):
            subprocess.run(
                [sys.executable, "-m", "commonplace", "log", "Written elsewhere"], check=True
            )
        page.evaluate("fetch(location.href).then((answer) => answer.text())")  # once more after it
        assert page.evaluate("document.getElementById('live').kept") is True


def test_charts_on_a_phone(serve, chromium):
    """The year is scrolled to its newest days; a month shows all of its days; fields are fields."""
    fill(100)
    served = serve()
    with opened(chromium, served, viewport={"width": 360, "height": 800}) as page:
        box = box_of(page.locator(".heatmap rect").last)
        assert 0 < box["x"] < 360
        assert box["width"] > 8
        visit(page, served, "/calendar/2026-10")
        box = box_of(page.locator("table.month td a").last)
        assert box["x"] + box["width"] <= 360
        visit(page, served, "/chronicle/figure?q=deployed")
        assert box_of(page.get_by_label("Words"))["height"] < 60


def test_on_paper(serve, chromium):
    """Dark letters on white, whatever the screen has, and no buttons."""
    fill(1)
    served = serve()
    with opened(chromium, served, color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        colours = "getComputedStyle(document.body)"
        assert page.evaluate(f"{colours}.color") == "rgb(30, 29, 26)"
        assert page.locator("nav").first.is_hidden()
        assert page.get_by_role("button", name="Find").is_hidden()


def test_a_server_that_ended_is_named(serve, chromium):
    """On the page that is still open; what is shown stays."""
    fill(1)
    served = serve()
    context = chromium.new_context()
    context.set_default_timeout(MS)
    page = context.new_page()
    page.goto(served.link)
    expect(page.locator("#live")).to_contain_text("Deployed part 0")
    served.kill()
    expect(page.locator("main > .warning")).to_contain_text("what you see may be old")
    expect(page.locator("#live")).to_contain_text("Deployed part 0")
    context.close()


def test_a_token_signs_in_to_a_server_of_many(words_only, chromium):
    """By the form, to its owner's pages alone; what is written there is kept; and out again."""
    token = token_for("ann")
    words = [sys.executable, "-m", "commonplace", "serve", "--http", "127.0.0.1:0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    context = chromium.new_context()
    try:
        base = re.search(r"http://[\d.:]+", process.stdout.readline())[0]
        context.set_default_timeout(MS)
        page = context.new_page()
        page.goto(f"{base}/web")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#live")).to_contain_text("Nothing has been written yet.")
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("h1")).to_have_text("Sign in")
    finally:
        context.close()
        process.kill()
        process.wait(PATIENCE_S)
        process.stdout.close()


def test_what_was_remembered_does_nothing(serve, chromium):
    """Scripts, links to scripts, images and SVG of others are words; a huge entry is shown."""
    with journals() as app:
        for text in (
            "deployed <script>window.taken = 1</script>",
            "deployed [click](javascript:window.taken=1) <img src=x onerror=window.taken=1>",
            "deployed ![p](http://127.0.0.1:9/p.png) <svg onload=window.taken=1><use href='#a'/></svg>",
            "deployed </textarea><script>window.taken=1</script>",
            "deployed " + "[" * 300_000,
        ):
            log(app, text)
        app.filing.catch_up()
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, "/search?q=deployed")
        links = [each.get_attribute("href") for each in page.locator("a.open").all()]
        assert links
        edits = [link.replace("/entry?", "/entry/edit?") for link in links]
        for path in ["/", *links, *edits]:
            visit(page, served, path)
            assert page.evaluate("window.taken === undefined"), path
            for link in page.locator('a[href^="javascript"]').all():
                raise AssertionError(link)


def test_pages_of_other_sites(serve, chromium):
    """Neither read nor write: by fetch, form or frame, though the browser was let in."""
    fill(1)
    served = serve()
    seen = {}

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(
                f"""<iframe id=f src="{served.base}/"></iframe>
                <form id=g method=post action="{served.base}/leave" target=t>
                <input name=csrf value=x></form><iframe name=t></iframe>""".encode()
            )

        def log_message(self, *_):
            pass

    evil = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=evil.serve_forever, daemon=True).start()
    context = chromium.new_context()
    context.set_default_timeout(MS)
    page = context.new_page()
    page.goto(served.link)
    other = context.new_page()
    other.on("response", lambda answer: seen.setdefault(answer.url, answer.status))
    # Another name of this machine is another site, to which a strict cookie is not sent.
    other.goto(f"http://localhost:{evil.server_address[1]}/")
    read = "fetch(%r, {credentials: 'include', mode: %r}).then(r => r.text(), () => 'refused')"
    assert other.evaluate(read % (served.base + "/", "cors")) == "refused"
    other.evaluate(read % (served.base + "/", "no-cors"))
    wrote = (
        "fetch(%r, {method: 'POST', mode: 'no-cors', credentials: 'include', body: 'csrf=x'})"
        ".then(() => 1, () => 1)"
    )
    other.evaluate(wrote % (served.base + "/leave"))
    with other.expect_response(served.base + "/leave") as sent:
        other.evaluate("document.getElementById('g').submit()")
    assert sent.value.status == 403
    other.wait_for_load_state("networkidle")
    assert seen[served.base + "/leave"] == 403
    assert "Deployed" not in (other.frames[1].content() if len(other.frames) > 1 else "")
    page.reload()
    expect(page.locator("#live")).to_contain_text("Deployed part 0")
    context.close()
    evil.shutdown()
    evil.server_close()


def test_a_server_that_was_killed(serve, chromium):
    """Started again it lets nobody in but by its new link, and says so."""
    fill(1)
    served = serve()
    context = chromium.new_context()
    context.set_default_timeout(MS)
    page = context.new_page()
    page.goto(served.link)
    served.kill()
    port = int(served.base.rpartition(":")[2])
    again = serve(port)
    page.reload()
    expect(page.locator("h1")).to_have_text("Open the link that was printed")
    page.goto(again.link)
    expect(page.locator("#live")).to_contain_text("Deployed part 0")
    context.close()
