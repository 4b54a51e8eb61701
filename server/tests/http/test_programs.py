"""The page of the programs that a user let in: theirs alone, and each shut out by one button."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from server.tests.http.test_served_pages import ServedWorld
from tests.doors.web.web_world import NOW, csrf_of, words_of

from commonplace.core.errors import Invalid
from commonplace_server.grants.grants import Allowed, GrantedTokens, Grants
from commonplace_server.grants.programs import Programs
from commonplace_server.grants.records import Record, RecordFile
from commonplace_server.tokens import digest_of

TEAM = "space:team"
DOCUMENT = "https://claude.ai/oauth/client.json"


class ProgramsWorld(ServedWorld):
    """A server where programs sign in, and what they were given."""

    def pages_more(self):
        """What its pages have beside those of a server where none signs in."""
        self.records = RecordFile(self.home, clock=self.clock)
        self.grants = Grants(self.records, self.tokens, clock=self.clock)
        self.programs = Programs(self.grants)
        return {"programs": self.programs}

    def lets_in(self, owner, **given):
        """The tokens of a program that the owner of a new token lets in."""
        member = given.get("member", "")
        token, _ = self.tokens.create(owner, member=member)
        said = {"client": "a-number", "name": "Claude", "scopes": ("read", "write"), **given}
        code = self.grants.new_code(Allowed(owner=owner, token_id=token.id, **said), {})
        return self.grants.exchange(self.grants.find_code(code))

    def is_let_in(self, issued):
        """Whether either of a program's tokens opens anything."""
        kept = GrantedTokens(self.tokens, self.grants)
        found = kept.find(issued.access), self.grants.find_refresh(issued.refresh)
        assert (found[0] is None) == (found[1] is None)
        return found[0] is not None


@pytest.fixture
def world(words_only):
    made = ProgramsWorld()
    yield made
    made.apps.close()


def shuts_out(browser, **form):
    """The answer to the button of the page, or to what is sent in its place."""
    found = re.search(r'name="id" value="([^"]+)"', browser.get("/web/programs").text)
    given = {"csrf": csrf_of(browser, "/web/"), "id": found[1] if found else "", **form}
    return browser.post("/web/programs/ended", data=given)


def test_the_page_says_which_programs_may_come(world):
    """Who says so, what each may do, since when, until when, and when it came last."""
    described, registered = digest_of(DOCUMENT), digest_of("a-number")
    for key, back in ((described, "https://claude.ai/back"), (registered, "http://127.0.0.1/x")):
        facts = {"redirect_uris": [back]}
        until = NOW + timedelta(days=1)
        world.records.put(Record(kind="client", key=key, facts=facts, until=until), most=9)
    world.lets_in("ann", client=DOCUMENT, toolsets=("memory",), scopes=("read",))
    world.clock.advance(seconds=7200)
    issued = world.lets_in("ann", name="Code")
    world.clock.advance(seconds=10_800)
    world.grants.refresh(world.grants.find_refresh(issued.refresh), issued.refresh)
    words = words_of(world.browser("ann", scopes=["read"]).get("/web/programs"))
    first, second = words.index("Code"), words.index("Claude")
    assert first < second
    assert (
        "Who says so nobody: it registered itself, as a-number Sent you to a program on this"
        " machine It may find and read, and write Let in 2026-11-23 14:00, until 2027-02-21 14:00"
        " at the latest Last use 2026-11-23 17:00, to the hour" in words[first:second]
    )
    assert (
        f"Who says so claude.ai, at {DOCUMENT} Sent you to claude.ai It may find and read, with the"
        " tools of memory Let in 2026-11-23 12:00" in words[second:]
    )


def test_a_program_is_shut_out_at_once(world):
    """By who may only read as well; all its tokens, and no other program."""
    other = world.lets_in("ann", name="Code")
    world.clock.advance(seconds=1)
    issued = world.lets_in("ann")
    assert world.is_let_in(issued)
    ann = world.browser("ann", scopes=["read"])
    form = {"csrf": csrf_of(ann, "/web/"), "id": issued.access.split("_")[1]}
    for _ in range(2):  # sent twice it is as sent once
        assert ann.post("/web/programs/ended", data=form).status_code == 303
        assert not world.is_let_in(issued)
        assert world.is_let_in(other)
    page = words_of(ann.get("/web/programs"))
    assert "Claude is shut out: none of its tokens opens anything." in page
    assert page.count("Shut it out") == 1
    (ended,) = [x for x, _ in world.grants.list_grants() if x.label == "Claude"]
    assert ended.state(world.clock()) == "revoked"


@pytest.mark.parametrize(
    ("owner", "given"),
    [
        ("bob", {}),
        (TEAM, {"member": "ann"}),
        (TEAM, {"member": "bob"}),
        ("ann\nbob", None),
    ],
)
def test_nobody_sees_or_ends_what_another_let_in(world, owner, given):
    """Neither a user, nor the same one in a space, nor another member or an admin of it."""
    issued = [world.lets_in("ann"), world.lets_in(TEAM, member="eve")]
    if given is None:  # no user has such a name, so that no two have one group
        with pytest.raises(Invalid, match="control"):
            world.browser(owner)
        return
    if given:
        given = {**given, "scopes": ["read", "write", "admin"]}
    other = world.browser(owner, **given)
    assert "Programs that you let in will stand here" in words_of(other.get("/web/programs"))
    names = [each.access.split("_")[1] for each in issued]
    for name in (*names, "g" + "0" * 12, "", "x" * 9000, "g%00", TEAM):
        refused = shuts_out(other, id=name)
        assert refused.status_code == 404, name
        assert "You let in no program" in words_of(refused)
    assert all(map(world.is_let_in, issued))


def test_no_other_page_shuts_out(world):
    """Without what the page bears, from another site, by a link or of somebody signed out."""
    issued, ann, bob = world.lets_in("ann"), world.browser("ann"), world.browser("bob")
    name = issued.access.split("_")[1]
    for csrf in ("", "x", csrf_of(bob, "/web/")):
        assert shuts_out(ann, csrf=csrf).status_code == 403
    form = {"csrf": csrf_of(ann, "/web/"), "id": name}
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert ann.post("/web/programs/ended", data=form, headers=headers).status_code == 403
    assert ann.get("/web/programs/ended", params=form).status_code == 405
    assert world.stranger().post("/web/programs/ended", data=form).status_code == 401
    assert world.stranger().get("/web/programs").status_code == 401
    assert world.is_let_in(issued)
    for token in world.tokens.list_tokens():  # that of the browser is among them
        world.tokens.revoke(token.id)
    assert ann.post("/web/programs/ended", data=form).status_code == 401


def test_a_name_is_a_strangers_word(world):
    """No markup, no line that is turned around, no secret, and none of 10 kB."""
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    hostile = "<b>x</b>\N{RIGHT-TO-LEFT OVERRIDE}" + key
    world.lets_in("ann", name=hostile, client="</dd><script>")
    world.lets_in("ann", name="n" * 10_000)
    ann = world.browser("ann")
    page = ann.get("/web/programs")
    assert "<b>x</b>" not in page.text
    assert "<script>" not in page.text
    assert "&lt;b&gt;x&lt;/b&gt;&lt;U+202E&gt;" in page.text
    assert key not in page.text
    assert "n" * 81 not in page.text
    assert shuts_out(ann).status_code == 303
    assert key not in ann.get("/web/programs").text


def test_where_no_program_signs_in_there_is_no_such_page(words_only):
    """Nor does anything lead there."""
    world = ServedWorld()
    ann = world.browser("ann")
    assert ann.get("/web/programs").status_code == 404
    assert "/web/programs" not in ann.get("/web/").text
    world.apps.close()
