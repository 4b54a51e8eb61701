"""Browsers that are signed in: the same laws for one server, and for all those of a database."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from msgspec.structs import replace

from commonplace.core.spaces import Member
from commonplace.doors.web.guard import Visitors
from commonplace.doors.web.visit import UndoOffer, Visitor
from commonplace_server.state.visitors import VisitorDatabase, _opened


def visitor(owner="ann"):
    return Visitor(owner=owner, may_write=True, csrf="a csrf", token_id="12345678")


class VisitorLaws:
    """What both owe; a test class has the fixture `visitors`."""

    def test_a_visitor_is_found_by_its_cookie_until_it_leaves(self, visitors):
        """By nothing else; what a page changed is there for the next."""
        cookie, other = visitors.add(visitor()), visitors.add(visitor("bob"))
        found = visitors.find(cookie)
        assert (found.owner, found.csrf, found.token_id) == ("ann", "a csrf", "12345678")
        found.notes = ["Saved."]
        found.offer = UndoOffer(page="delete", fields={"ref": "x"})
        visitors.keep(cookie, found)
        assert visitors.find(cookie).notes == ["Saved."]
        assert visitors.find(cookie).offer.fields == {"ref": "x"}
        visitors.remove(cookie)
        visitors.remove(cookie)
        visitors.keep(cookie, found)
        assert visitors.find(cookie) is None
        assert visitors.find(other).owner == "bob"

    @pytest.mark.parametrize("cookie", ["", ".", "YW5u", "YW5u.x", "\u00e9.x", "====.x", "AA.x"])
    def test_what_is_no_cookie_lets_nobody_in(self, visitors, cookie):
        """Nor what only says whose it is."""
        visitors.add(visitor())
        assert visitors.find(cookie) is None
        visitors.remove(cookie)


class TestOfOneServer(VisitorLaws):
    """In memory."""

    @pytest.fixture
    def visitors(self):
        return Visitors()


class TestOfADatabase(VisitorLaws):
    """In a table."""

    @pytest.fixture
    def visitors(self, pool):
        return VisitorDatabase(pool)

    def test_another_server_goes_on_with_what_pages_have_shown(self, pool):
        """Each mark of a page of either stands for its secret; what was said is said once."""
        one, two = VisitorDatabase(pool), VisitorDatabase(pool)
        cookie = one.add(visitor())
        here, there = one.find(cookie), two.find(cookie)
        here.hidden["[secret: a]"] = "hush"
        here.typed["form"] = {"[secret: b]": "quiet"}
        here.notes = ["Saved."]
        one.keep(cookie, here)
        # A page that was begun there meanwhile.
        there.hidden["[secret: c]"] = "still"
        two.keep(cookie, there)
        found = one.find(cookie)
        assert found.hidden == {"[secret: a]": "hush", "[secret: c]": "still"}
        assert found.typed == {"form": {"[secret: b]": "quiet"}}
        shown = two.find(cookie)
        assert shown.notes == ["Saved."]
        shown.notes = []
        two.keep(cookie, shown)
        assert one.find(cookie).notes == []
        two.remove(cookie)
        assert one.find(cookie) is None

    def test_another_server_knows_which_member_of_a_space_it_is(self, pool):
        """Else a page that is asked of it would write without an author; and until when it is in."""
        bob, until = Member(name="bob", may_delete=False), datetime(2026, 11, 23, 20, tzinfo=UTC)
        came = replace(visitor("space:team"), member=bob, until=until)
        found = VisitorDatabase(pool).find(VisitorDatabase(pool).add(came))
        assert (found.member, found.may_write, found.may_delete) == (bob, True, False)
        assert found.until == until

    def test_forgetting_leaves_nothing_that_was_shown_and_signs_nobody_out(self, pool, database):
        """Not in a row, nor in what a server knows of it; another user's browsers keep theirs."""
        one, two = VisitorDatabase(pool), VisitorDatabase(pool)
        cookie, other = one.add(visitor()), one.add(visitor("bob"))
        for each in (cookie, other):
            found = one.find(each)
            found.hidden["[secret: a]"] = "hush"
            found.typed["form"] = {"[secret: b]": "quiet"}
            found.notes = ["Saved."]
            one.keep(each, found)
        there = two.find(cookie)
        assert two.have_said("ann")
        two.wipe("ann")
        assert [two.have_said(name) for name in ("ann", "bob")] == [False, True]
        # A page that was answered meanwhile, and says what it did.
        there.notes = ["Forgot it."]
        two.keep(cookie, there)
        for each in (one, two, VisitorDatabase(pool)):
            found = each.find(cookie)
            assert (found.csrf, found.hidden, found.typed) == ("a csrf", {}, {})
            assert found.notes == ["Forgot it."]
        assert one.find(other).hidden == {"[secret: a]": "hush"}
        with psycopg.connect(database.admin_url, autocommit=True) as conn:
            kept = conn.execute("SELECT said FROM cp_visitors WHERE user_id = 'ann'").fetchone()
        assert b"hush" not in _opened(cookie, bytes(kept[0]))

    def test_nothing_in_a_row_can_be_read_or_used(self, pool, database):
        """No cookie, no form's key, no secret: what is there is sealed by the cookie."""
        visitors = VisitorDatabase(pool)
        cookie = visitors.add(visitor())
        found = visitors.find(cookie)
        found.hidden["[secret: a]"] = "hush-hush"
        visitors.keep(cookie, found)
        with psycopg.connect(database.admin_url, autocommit=True) as conn:
            asked = "SELECT v::text, sealed, said FROM cp_visitors AS v"
            (row,) = conn.execute(asked).fetchall()
            assert not any(x in row[0] for x in (cookie.partition(".")[2], "csrf", "hush"))
            assert b"hush" not in row[1] + row[2]
            # Another's row in the place of one's own opens nothing.
            stolen = visitors.add(visitor("bob"))
            conn.execute(
                "UPDATE cp_visitors SET sealed = %s WHERE user_id = 'bob'", [bytes(row[1])]
            )
        assert VisitorDatabase(pool).find(stolen) is None
