"""The pages of a server of many owners: each sees their own, as far as a token allows."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import anyio
import pytest
from starlette.testclient import TestClient
from tests.doors.web.web_world import ADDRESS, NOW, csrf_of, words_of, words_of_html
from tests.journals.transcripts.sessions import said
from tests.patience import until

from commonplace.app import Apps
from commonplace.config.settings import parse_setting, read_settings, user_file
from commonplace.doors.web.guard import LONGEST_KEY, PageLimits
from commonplace.doors.web.table import PAGES
from commonplace_server.http.limits import Limits, RateLimiter
from commonplace_server.http.served_pages import pages_for_tokens
from commonplace_server.tokens import TokenFile
from commonplace_testing import FrozenClock

LIMITS = Limits(per_second=1, burst=6, at_once=2, streams=1, body_bytes=2000, body_s=5)


class ServedWorld:
    """A server's home, its tokens, its pages below /web."""

    def __init__(self, limits=None, host="127.0.0.1:8900"):
        self.clock = FrozenClock(NOW)
        self.is_stopping = False
        settings = read_settings(cwd=Path.cwd(), home=Path.home())
        self.home = settings.home
        self.apps = Apps(settings, user_home=Path.home(), clock=self.clock)
        self.tokens = TokenFile(settings.home, clock=self.clock)
        limits = limits or Limits()
        self.limits = PageLimits(
            rates=RateLimiter(limits, self.clock.seconds),
            drafts=RateLimiter(limits, self.clock.seconds),
            body_bytes=limits.body_bytes,
        )
        self.pages = pages_for_tokens(
            self.apps,
            tokens=self.tokens,
            knows_host=lambda named: named == host,
            may_write=True,
            clock=self.clock,
            screen=self.apps.shared.screen,
            prefix="/web",
            limits=self.limits,
            is_stopping=lambda: self.is_stopping,
            **self.pages_more(),
        )

    def pages_more(self):
        """What its pages have that those of some servers have not."""
        return {}

    def stranger(self):
        return TestClient(
            self.pages, base_url=ADDRESS, headers={"origin": ADDRESS}, follow_redirects=False
        )

    def browser(self, owner, **given):
        """A browser that was let in with a token."""
        client = self.stranger()
        _, text = self.tokens.create(owner, **given)
        answer = client.post("/web/enter", data={"key": text})
        assert answer.status_code == 303, answer.text
        return client

    def log(self, owner, message):
        with self.apps.using(owner) as app:
            app.toolset("chronicle").tool("add_entry").call({"message": message})


@pytest.fixture
def world(words_only):
    made = ServedWorld()
    yield made
    made.apps.close()


@pytest.fixture
def in_database(words_only, database, monkeypatch):
    """A server whose users' journals lie in a database."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    made = ServedWorld()
    yield made
    made.apps.close()


@pytest.fixture
def narrow(words_only):
    """A server that admits little."""
    made = ServedWorld(LIMITS)
    yield made
    made.apps.close()


def test_an_owner_who_asks_too_often_waits(narrow):
    """All browsers of one owner count together; nobody else waits for them."""
    ann, too, bob = narrow.browser("ann"), narrow.browser("ann"), narrow.browser("bob")
    answers = [each.get("/web/").status_code for each in (ann, too) * 3]
    assert answers == [200] * LIMITS.burst
    refused = too.get("/web/")
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert "More than 1 requests a second. Try again in a moment." in words_of(refused)
    assert bob.get("/web/").status_code == 200
    narrow.clock.advance(seconds=1)
    assert ann.get("/web/").status_code == 200


def test_an_owner_has_so_many_open_streams(narrow):
    """The next one is refused; one that ended leaves its place."""
    ann = narrow.browser("ann")
    rates = narrow.limits.rates
    with rates.stream("ann"):
        assert ann.get("/web/live").status_code == 429
    narrow.is_stopping = True  # so that the stream ends by itself
    assert ann.get("/web/live").text == "event: new\ndata: \n\n"
    with rates.stream("ann"):
        assert ann.get("/web/live").status_code == 429


def test_a_form_is_no_larger_than_a_call(narrow):
    """The server's own limit holds; without a token it is that of a key."""
    ann = narrow.browser("ann")
    form = {"text": "x" * 2000, "csrf": csrf_of(ann, "/web/")}
    answer = ann.post("/web/entry/save", data=form)
    assert answer.status_code == 400
    assert "Use less than 2000 bytes, or the command line." in words_of(answer)
    form = {"key": "x" * LONGEST_KEY}
    assert narrow.stranger().post("/web/enter", data=form).status_code == 400
    assert narrow.stranger().post("/web/leave", data=form).status_code == 200


def test_the_link_of_a_connector_opens_the_entry(world):
    """Its path is that of the pages, which another package serves."""
    world.log("ann", "painted the harbour wall")
    with world.apps.using("ann") as app:
        found = app.toolset("connector").tool("search").call({"query": "harbour"}).facts
    (result,) = found["results"]
    path = f"/web/entry?{result['url'].partition('?')[2]}"
    assert "painted the harbour wall" in words_of(world.browser("ann").get(path))


def test_the_pages_of_a_timeline_in_a_database(in_database):
    """Calendar, year and trends tell of it; another user's tell nothing."""
    with in_database.apps.using("ann") as app:
        add = app.toolset("timeline").tool("timeline_add")
        for day in ("2026-11-20", "2026-11-21"):
            more = {"metadata": {"projects": ["zoo"]}, "at": f"{day} 09:00"}
            add.call({"content": f"painted the quokka gate of {day}", **more})
    ann, bob = in_database.browser("ann"), in_database.browser("bob")
    until(lambda: "zoo" in words_of(ann.get("/web/timeline")), "what is due to be counted")
    paths = ("timeline", "calendar/2026-11-20", "calendar/2026-11", "calendar/2026")
    pages = {path: [words_of(each.get(f"/web/{path}")) for each in (ann, bob)] for path in paths}
    for path in paths[1:3]:
        assert "quokka gate of 2026-11-20" in pages[path][0]
    assert "2 entries" in pages["calendar/2026"][0]
    for path in paths:
        assert "quokka" not in pages[path][1]
        assert "zoo" not in pages[path][1]


def test_each_sees_their_own(world):
    """In every page of a list, and in the search."""
    world.log("ann", "the secret of ann")
    world.log("bob", "the secret of bob")
    ann, bob = world.browser("ann"), world.browser("bob")
    for path in ["/web/", "/web/calendar/2026-11-23", "/web/search?q=secret"]:
        assert "the secret of ann" in words_of(ann.get(path))
        assert "the secret of bob" not in ann.get(path).text
        assert "the secret of bob" in words_of(bob.get(path))


def test_another_owners_entry_is_not_there(world):
    """Nor is it edited or deleted by its ref."""
    world.log("bob", "the secret of bob")
    with world.apps.using("bob") as app:
        ref = app.toolset("recall").tool("list_by_time").call({}).facts["results"][0]["ref"]
    ann = world.browser("ann")
    form = {"ref": ref, "text": "taken", "csrf": csrf_of(ann, "/web/")}
    for path in ("/web/entry", "/web/entry/edit", "/web/entry/delete"):
        assert ann.get(path, params={"ref": ref}).status_code == 404
    for path in ("/web/entry/save", "/web/entry/deleted"):
        assert ann.post(path, data=form).status_code in {404, 409}
    with world.apps.using("bob") as app:
        assert app.amend.read_text(ref).text == "the secret of bob"


@pytest.mark.parametrize("given", ["", "x", "cp_00000000_" + "a" * 43, "\udce9"])
def test_what_is_no_token_lets_nobody_in(world, given):
    """And the page says so."""
    answer = world.stranger().post("/web/enter", data={"key": given.encode("utf-8", "replace")})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_no_link_signs_a_browser_in(world):
    """Any site may have one, with a token of whoever wants to read what is then written."""
    _, text = world.tokens.create("mallory")
    answer = world.stranger().get("/web/enter", params={"key": text})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert "A link lets nobody in here. Put the token into this form yourself." in words_of(answer)
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        sent = world.stranger().post("/web/enter", data={"key": text}, headers=headers)
        assert (sent.status_code, "set-cookie" in sent.headers) == (403, False), headers


@pytest.mark.parametrize(
    ("proto", "is_kept_to_tls"), [("https", True), ("http", False), ("", False)]
)
def test_behind_tls_the_cookie_is_sent_by_tls_alone(world, proto, is_kept_to_tls):
    """The server itself speaks plain HTTP: the proxy that ends TLS says so."""
    _, text = world.tokens.create("ann")
    headers = {"x-forwarded-proto": proto} if proto else {}
    answer = world.stranger().post("/web/enter", data={"key": text}, headers=headers)
    assert ("Secure" in answer.headers["set-cookie"].split("; ")) is is_kept_to_tls


def test_a_token_of_some_tools_opens_no_page(world):
    """Pages show more than its tools do."""
    _, text = world.tokens.create("ann", toolsets=["memory"])
    assert world.stranger().post("/web/enter", data={"key": text}).status_code == 403


def test_a_token_of_all_tools_opens_the_pages(world):
    """Named one by one, they are all that pages show."""
    ann = world.browser("ann", toolsets=parse_setting("toolsets", "all"))
    assert ann.get("/web/").status_code == 200


def test_why_a_token_is_refused_is_said_to_who_has_it(world):
    """Its state or its limits; of one that is none, nothing more."""
    over, expired = world.tokens.create("ann", expires_at=NOW + timedelta(hours=1))
    gone, revoked = world.tokens.create("ann")
    world.tokens.revoke(gone.id)
    _, narrow = world.tokens.create("ann", toolsets=["memory", "recall"])
    _, measuring = world.tokens.create("ann", scopes=["metrics"])
    world.clock.at = over.expires_at
    for text, why in [
        (expired, "This token has expired."),
        (revoked, "This token was revoked."),
        (narrow, "kept to memory, recall, and pages show everything. Use one without --toolsets"),
        (measuring, "This token opens no journal."),
        (f"{revoked[:-1]}{'a' if revoked[-1] != 'a' else 'b'}", "link or token is not valid."),
    ]:
        answer = world.stranger().post("/web/enter", data={"key": text})
        assert (answer.status_code, why in words_of(answer)) == (403, True), answer.text


def test_a_token_that_may_only_read(world):
    """Nothing can be changed with it."""
    world.log("ann", "a line")
    ann = world.browser("ann", scopes=["read"])
    assert "Nothing can be changed from here." in ann.get("/web/").text
    form = {"ref": "chronicle:x", "csrf": csrf_of(ann, "/web/")}
    for path in [row.path for row in PAGES if row.writes]:
        assert ann.post(f"/web{path}", data=form).status_code == 403, path


TEAM = "space:team"


def members(world):
    """The browsers of two members who may write, and of an admin."""
    roles = {"ann": ["read", "write"], "bob": ["read", "write"]}
    roles["eve"] = ["read", "write", "admin"]
    return [world.browser(TEAM, member=name, scopes=scopes) for name, scopes in roles.items()]


def posts(browser, path, /, **form):
    """The answer to a form of a browser's own page."""
    return browser.post(f"/web{path}", data={"csrf": csrf_of(browser, "/web/"), **form})


def refs_in(world):
    """The refs of what is in the log of the space, the newest first."""
    with world.apps.using(TEAM) as app:
        events = app.toolset("chronicle").tool("list_entries").call({}).facts["entries"]
        return [event["ref"] for event in events]


def test_each_page_says_whose_it_is(world):
    """The user's, or the space's and which member looks; a name is a name."""
    for given, words in [
        ({"owner": "ann"}, "Signed in as ann"),
        ({"owner": TEAM, "member": "bob", "scopes": ["read"]}, "as bob, in the space team"),
        ({"owner": "<b>x</b>"}, "as <b>x</b>"),
    ]:
        browser = world.browser(**given)
        for path in ("/web/", "/web/search", "/web/nowhere"):
            assert words in words_of_html(browser.get(path).text), path


def test_the_box_says_that_a_space_is_written_to(world):
    """Also where the names of pages, and who is signed in, are folded away: on a phone."""
    box = world.browser(TEAM, member="bob").get("/web/").text.partition('id="box"')[2]
    assert "in the space team" in box.partition("</form>")[0]
    box = world.browser("ann").get("/web/").text.partition('id="box"')[2]
    assert "space" not in words_of_html(box.partition("</form>")[0])


def test_a_member_writes_at_the_pages_of_a_space(world):
    """As who they are; and no page offers them to delete what they have just written."""
    ann, _, eve = members(world)
    for browser, name in ((ann, "ann"), (eve, "eve")):
        done = posts(browser, "/written", text="Moved the site.", **{"as": "decision"})
        assert done.status_code == 303
        page = browser.get("/web/")
        assert "Logged: Moved the site." in words_of(page)
        assert ("Undo" in page.text) is (name == "eve")
        assert f"by {name}" in words_of(
            browser.get("/web/entry", params={"ref": refs_in(world)[0]})
        )
    section = {"text": "At Hetzner.", "as": "notebook", "path": "hosting"}
    assert posts(ann, "/written", **section).status_code == 303
    with world.apps.using(TEAM) as app:
        found = app.toolset("recall").tool("recall").call({"query": "Hetzner"}).facts["results"]
        assert app.recall.service().open_ref(found[0]["ref"]).author == "ann"


def test_what_another_member_wrote_is_corrected_by_an_entry_of_its_own(world):
    """Whatever else of it is changed with the text; the form says so before."""
    ann, bob, _ = members(world)
    posts(ann, "/written", text="I am against it.", **{"as": "log"})
    (ref,) = refs_in(world)
    assert "It holds from now on" in words_of(bob.get("/web/entry/edit", params={"ref": ref}))
    form = {"ref": ref, "text": "I am for it.", "tags": "vote", "fields": "at,tags", "at": ""}
    assert posts(bob, "/entry/save", **form).status_code == 303
    newest, former = refs_in(world)
    with world.apps.using(TEAM) as app:
        pages = [app.recall.service().open_ref(each) for each in (newest, former)]
    assert [(x.author, x.text, x.tags) for x in pages] == [
        ("bob", "I am for it.", ("vote",)),
        ("ann", "I am against it.", ()),
    ]
    posts(bob, "/written", text="It is settled.", **{"as": "log"})
    taken = posts(bob, "/today/replaced", ref=former, former=newest, do="yes")
    assert (taken.status_code, "can take no entry's place" in words_of(taken)) == (403, True)


def test_only_an_admin_deletes_at_the_pages_of_a_space(world):
    """Nor forgets, nor takes back what is kept nowhere; the pages offer nothing that is refused."""
    ann, bob, eve = members(world)
    posts(ann, "/written", text="The site is at Fly.", **{"as": "log"})
    (ref,) = refs_in(world)
    version = re.search(
        r'name="version" value="([^"]+)"', eve.get("/web/entry/delete", params={"ref": ref}).text
    )[1]
    for browser in (ann, bob):
        for path in ("/entry/delete", "/entry/forget"):
            assert browser.get(f"/web{path}", params={"ref": ref}).status_code in {400, 403}, path
            assert path not in browser.get("/web/entry", params={"ref": ref}).text
            assert path not in browser.get("/web/").text
        for path in ("/entry/deleted", "/entry/forgotten"):
            refused = posts(browser, path, ref=ref, version=version)
            assert refused.status_code == 403
            assert "may write in this space, and delete nothing" in words_of(refused)
        said = words_of(browser.get("/web/entry", params={"ref": ref}))
        assert "Only an admin of the space deletes here." in said
    assert refs_in(world) == [ref]
    assert posts(eve, "/entry/forgotten", ref=ref, version=version).status_code == 200
    assert refs_in(world) == []


def test_a_space_takes_nothing_that_is_one_persons(world):
    """Neither a note nor a to-do, however it is asked for; it says why, and loses no word."""
    ann, *_ = members(world)
    assert 'value="feeling"' not in ann.get("/web/").text
    assert 'value="todo"' not in ann.get("/web/write").text
    for form in ({"text": "x y", "as": "note"}, {"text": "/todo x y", "as": "log"}):
        refused = posts(ann, "/written", **form)
        assert (refused.status_code, "that is one person's" in words_of(refused)) == (400, True)
        assert "x y" in refused.text
    for path in ("/memory", "/transcripts", "/transcripts/session"):
        assert ann.get(f"/web{path}").status_code == 403
    assert posts(ann, "/memory/tick", ref="memory:todo/x", done="1").status_code == 403


def test_what_a_member_types_is_shown_to_no_other(world):
    """Neither in the box nor in the form of an entry; it goes with the entry."""
    ann, bob, eve = members(world)
    posts(ann, "/written", text="The site is at Fly.", **{"as": "log"})
    (ref,) = refs_in(world)
    for path, form in {"/draft": {"as": "log"}, "/entry/draft": {"ref": ref}}.items():
        assert posts(ann, path, text="a word of ann", **form).status_code == 200
    pages = ("/web/", f"/web/entry/edit?ref={ref}")
    assert ["a word of ann" in ann.get(page).text for page in pages] == [True, True]
    assert ["a word of ann" in bob.get(page).text for page in pages] == [False, False]
    with world.apps.using(TEAM) as app:
        (kept,) = (app.folder / "draft").glob("entry-*")
    ask = eve.get("/web/entry/forget", params={"ref": ref})
    version = re.search(r'name="version" value="([^"]+)"', ask.text)[1]
    posts(eve, "/entry/forgotten", ref=ref, version=version)
    assert not kept.exists()


def test_a_member_who_is_removed_while_a_page_is_open_writes_nothing(world):
    """Not by a form that they had begun to send before."""
    ann, *_ = members(world)
    form = {"csrf": csrf_of(ann, "/web/"), "text": "I was here.", "as": "log"}
    token = next(x for x in world.tokens.list_tokens() if x.member == "ann")
    status = []

    async def receive():
        world.tokens.revoke(token.id)
        return {"type": "http.request", "body": urlencode(form).encode(), "more_body": False}

    async def send(message):
        status.extend([message["status"]] if "status" in message else [])

    request = ann.build_request("POST", "/web/written", data=form)
    named = [(x.lower(), y) for x, y in request.headers.raw]
    cookie = "; ".join(f"{x}={y}" for x, y in ann.cookies.items()).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/web/written",
        "query_string": b"",
        "headers": [*((x, y) for x, y in named if x != b"cookie"), (b"cookie", cookie)],
        "scheme": "http",
        "server": ("127.0.0.1", 8900),
        "client": ("127.0.0.1", 1),
    }
    anyio.run(world.pages, scope, receive, send)
    assert status == [401]
    assert refs_in(world) == []
    assert ann.get("/web/").status_code == 401


def test_the_pages_of_a_space_list_no_journal_of_one_person(world):
    """It has neither memory nor transcripts."""
    member = world.browser("space:team", member="ann", scopes=["read", "write"])
    one = world.browser("ann")
    for path in ["/web/memory", "/web/transcripts"]:
        assert f'href="{path}"' in one.get("/web/").text
        assert f'href="{path}"' not in member.get("/web/").text
    assert 'href="/web/timeline"' in member.get("/web/").text


def test_a_token_that_is_revoked_or_over(world):
    """Its browser is out at the next page."""
    ann = world.browser("ann")
    bob = world.browser("bob", expires_at=NOW + timedelta(hours=1))
    (token,) = [each for each in world.tokens.list_tokens() if each.owner == "ann"]
    world.tokens.revoke(token.id)
    assert ann.get("/web/").status_code == 401
    assert bob.get("/web/").status_code == 200
    world.clock.at = NOW + timedelta(hours=2)
    assert bob.get("/web/").status_code == 401


def test_no_path_of_the_machine_is_shown(world):
    """On no page, in no error; the doctor is the machine's own."""
    world.log("ann", "a line")
    ann = world.browser("ann")
    paths = [row.path for row in PAGES if not row.writes and "{" not in row.path]
    for path in [*paths, "/entry?ref=/etc/passwd", "/entry?ref=private:user/2026-01-01/x"]:
        assert str(world.home.parent) not in ann.get(f"/web{path}").text, path
    assert ann.get("/web/health/doctor").status_code == 403


MACHINES = [row for row in PAGES if row.is_machines]


def test_what_is_the_machines_is_neither_seen_nor_changed(world):
    """Not by a token that may write, not by one of the machine's own name; no page leads there."""
    assert {"settings", "set", "examine", "repair", "back_up", "users"} <= {
        x.name for x in MACHINES
    }
    world.log("ann", "a line")
    file = user_file()
    for owner in ("ann", "me"):
        browser = world.browser(owner)
        csrf = csrf_of(browser, "/web/")
        for row in MACHINES:
            form = {"csrf": csrf, "key": "undo.keep_days", "value": "7"}
            path = f"/web{row.path}"
            answer = browser.post(path, data=form) if row.writes else browser.get(path)
            assert answer.status_code == 403, row.name
            assert "This is about the whole machine. Ask who runs the server." in words_of(answer)
        pages = [browser.get(f"/web{row.path}").text for row in PAGES if row.title]
        for row in MACHINES:
            assert not any(f'"/web{row.path}"' in page for page in pages), row.name
    assert not file.exists()


def test_health_says_nothing_of_the_machine(world):
    """Only how one's own journals and their search stand."""
    world.log("ann", "a line")
    page = world.browser("ann").get("/web/health")
    assert "Journals 1 journal with 1 entry. fine Search" in words_of(page)
    for word in ("Disk", "Backup", "Assistants", "Problems"):
        assert f"<strong>{word}</strong>" not in page.text


def test_sessions_are_of_a_folders_name_alone(world):
    """In the list, in what can be chosen, in its links and on the page of one."""
    with world.apps.using("ann") as app:
        turn = said(1, "Count the crates.", cwd="/srv/ann/harbour")
        app.transcripts.store.append("codex", "0199", [turn])
    ann = world.browser("ann")
    page = ann.get("/web/transcripts")
    assert '<option value="harbour">harbour (1)</option>' in page.text
    assert "Count the crates." in ann.get("/web/transcripts?project=harbour").text
    one = ann.get("/web/transcripts/session?ref=transcripts:codex/0199")
    for each in (page, one):
        assert "harbour" in each.text
        assert "/srv/ann" not in each.text


def test_no_other_users_memory_is_shown(world):
    """Neither listed nor opened, whatever the address says."""
    with world.apps.using("bob") as app:
        app.toolset("memory-write").tool("memory_save").call({"kind": "todo", "title": "of bob"})
    ann = world.browser("ann")
    assert "bob" not in words_of(ann.get("/web/memory"))
    answer = ann.get("/web/memory?user=bob&kind=todo")
    assert answer.status_code == 403
    assert "of bob" not in answer.text
    assert "of bob" in words_of(world.browser("bob").get("/web/memory"))


def test_an_export_holds_nothing_of_another(world):
    """Every owner takes away their own, and no backup of the machine."""
    world.log("ann", "the secret of ann")
    world.log("bob", "the secret of bob")
    ann = world.browser("ann")
    csrf = csrf_of(ann, "/web/")
    answer = ann.post("/web/health/export", data={"csrf": csrf})
    with zipfile.ZipFile(io.BytesIO(answer.content)) as held:
        everything = b"".join(map(held.read, held.namelist()))
    assert b"the secret of ann" in everything
    assert b"the secret of bob" not in everything
    assert "Not included" not in words_of(ann.get("/web/health"))
    assert ann.post("/web/health/backup", data={"csrf": csrf}).status_code == 403


def test_what_one_types_and_has_seen_is_their_own(world):
    """No other owner, and not the machine's own, finds a draft, what is new, or what was seen."""
    world.log("ann", "the secret of ann")
    world.log("bob", "the secret of bob")
    ann, bob = world.browser("ann"), world.browser("bob")
    mine = world.browser("me")
    with world.apps.using("bob") as app:
        ref = app.toolset("recall").tool("list_by_time").call({}).facts["results"][0]["ref"]
    csrf = csrf_of(ann, "/web/")
    typed = {"csrf": csrf, "text": "the draft of ann", "as": "feeling"}
    assert ann.post("/web/draft", data=typed).status_code == 200
    for do in ({"do": "keep", "ref": ref}, {"do": "all", "at": str(NOW.timestamp())}):
        assert ann.post("/web/today/seen", data={"csrf": csrf, **do}).status_code == 303
    assert "the draft of ann" in ann.get("/web/health").text
    assert "nothing new" in words_of(ann.get("/web/"))
    for other in (bob, mine):
        for page in ("/web/", "/web/write", "/web/health"):
            shown = other.get(page).text
            assert "of ann" not in shown
            assert 'value="feeling" checked' not in shown
    assert "1 new" in words_of(bob.get("/web/"))
    for page in ("/web/draft", "/web/written", "/web/today/seen", "/web/today/done"):
        form = {"csrf": csrf, "text": "x", "ref": ref, "what": "x"}
        assert bob.post(page, data=form).status_code == 403
    files = sorted(path for path in world.home.rglob("*") if path.parent.name in {"draft", "seen"})
    assert {path.parent.parent.name for path in files} == {"ann"}


def test_today_shows_no_path_of_the_machine(world):
    """Nor a draft that cannot be kept, or what is in its way."""
    world.log("ann", "TODO: look into /etc")
    ann = world.browser("ann")
    csrf = csrf_of(ann, "/web/")
    with world.apps.using("ann") as app:
        folder = app.folder
    (folder / "draft" / "page.md").mkdir(parents=True)
    (folder / "seen").write_text("in the way", "utf-8")
    form = {"csrf": csrf, "text": "x", "ref": "chronicle:x", "do": "preview"}
    pages = [ann.post(f"/web{page}", data=form) for page in ("/draft", "/written", "/today/seen")]
    assert [page.status_code for page in pages] == [400, 400, 400]
    for page in (*pages, ann.get("/web/"), ann.get("/web/write")):
        assert str(world.home) not in page.text


def test_what_is_sent_as_one_types_takes_nothing_from_answers(narrow):
    """It has a limit of its own, beside that of the pages."""
    ann = narrow.browser("ann")
    csrf = csrf_of(ann, "/web/")
    drafts = [ann.post("/web/draft", data={"csrf": csrf, "text": f"{n}"}) for n in range(9)]
    assert [each.status_code for each in drafts] == [200] * 6 + [429] * 3
    assert ann.get("/web/").status_code == 200
