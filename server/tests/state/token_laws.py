"""The laws of tokens, wherever they are kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from commonplace.core.errors import Invalid, NotFound

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


class TokenLaws:
    """What both a home and a database owe; a test class has the fixtures `tokens` and `clock`."""

    def test_a_token_is_found_by_itself_alone(self, tokens):
        """Not by its id with another secret, nor by what is no token at all."""
        made, text = tokens.create("ann")
        _, other = tokens.create("bob")
        assert tokens.find(text) == made
        mixed = f"cp_{made.id}_{other.split('_', 2)[2]}"
        wrong = (mixed, text[:-1], text + "x", text.upper(), "", "cp_", made.id, "\udcff", "é" * 60)
        assert [each for each in wrong if tokens.find(each) is not None] == []

    def test_what_a_token_was_made_with_is_kept(self, tokens, fresh):
        """All of it, to the microsecond."""
        until = NOW + timedelta(days=90, microseconds=7)
        made, text = tokens.create(
            "ann ä",
            scopes=["read"],
            toolsets=["memory", "recall"],
            expires_at=until,
            label="old laptop",
        )
        assert (made.owner, made.scopes, made.toolsets) == (
            "ann ä",
            ("read",),
            ("memory", "recall"),
        )
        assert (made.created_at, made.expires_at, made.label) == (NOW, until, "old laptop")
        assert fresh().find(text) == fresh().get(made.id) == made
        assert fresh().list_tokens() == [made]

    def test_one_that_is_revoked_says_so(self, tokens, clock, fresh):
        """Since when it was revoked first; it is listed and opens nothing."""
        made, text = tokens.create("ann")
        clock.advance(60)
        assert tokens.revoke(made.id).revoked_at == NOW + timedelta(minutes=1)
        clock.advance(60)
        assert tokens.revoke(made.id).revoked_at == NOW + timedelta(minutes=1)
        found = fresh().find(text)
        assert found.state(clock()) == "revoked"
        assert fresh().list_tokens() == [found]
        assert fresh().was_used()

    def test_a_token_expires(self, tokens, clock):
        """From that instant on."""
        _, text = tokens.create("ann", expires_at=NOW + timedelta(hours=1))
        found = tokens.find(text)
        assert found.state(NOW + timedelta(minutes=59)) == "valid"
        assert found.state(NOW + timedelta(hours=1)) == "expired"
        with pytest.raises(Invalid, match="expired already"):
            tokens.create("ann", expires_at=NOW)

    def test_the_newest_is_listed_first(self, tokens, clock):
        """Whosever they are."""
        made = []
        for owner in ("ann", "bob", "ann"):
            made.append(tokens.create(owner)[0])
            clock.advance(1)
        assert tokens.list_tokens() == made[::-1]

    def test_revoking_what_there_is_not(self, tokens):
        """Names the nearest there is."""
        with pytest.raises(NotFound):
            tokens.revoke("12345678")
        made, _ = tokens.create("ann")
        with pytest.raises(NotFound, match=f"Did you mean {made.id}"):
            tokens.revoke(made.id[:-1])

    def test_a_token_of_a_space_names_who_uses_it(self, tokens, fresh):
        """Its owner is the space; of its scopes admin is a member's alone."""
        scopes = ["read", "write", "admin"]
        made, text = tokens.create("space:team", member="bob ä", scopes=scopes)
        found = fresh().find(text)
        assert found == made
        assert (found.owner, found.member, found.scopes) == ("space:team", "bob ä", (*scopes,))
        tokens.create("ann")
        assert {each.member for each in fresh().list_tokens()} == {"bob ä", ""}

    @pytest.mark.parametrize(
        ("owner", "given", "why"),
        [
            ("space:team", {}, "Say who uses it"),
            ("ann", {"member": "bob"}, "has no members"),
            ("space:team", {"member": "space:other"}, "of no user"),
            ("space:team", {"member": "bob\n"}, "control character"),
            ("space:team", {"member": "bob", "scopes": ["read", "admin"]}, "needs write too"),
            ("space:team", {"member": "bob", "scopes": ["metrics", "admin"]}, "metrics both"),
        ],
    )
    def test_a_space_has_members_and_a_user_has_none(self, tokens, owner, given, why):
        """So that nobody is let into a space as nobody, or takes a space's name."""
        with pytest.raises(Invalid, match=why):
            tokens.create(owner, **given)
        assert tokens.list_tokens() == []

    @pytest.mark.parametrize("scopes", [["write"], [], ["read", "admin"]])
    def test_scopes_that_are_none(self, tokens, scopes):
        """A token may read, or read and write."""
        with pytest.raises(Invalid, match="Use read, or read,write"):
            tokens.create("ann", scopes=scopes)

    def test_whether_any_was_made_is_known(self, tokens):
        """Before the first, and after it."""
        assert not tokens.was_used()
        tokens.create("ann")
        assert tokens.was_used()

    def test_the_last_use_is_noted_once_an_hour(self, tokens, clock, fresh):
        """Of each token by itself; another process reads it."""
        ann, bob = (tokens.create(owner) for owner in ("ann", "bob"))

        def use(text):
            tokens.note_use(tokens.find(text))

        def last_uses():
            other = fresh()
            other.list_tokens()
            return [other.last_use(each) for each, _ in (ann, bob)]

        assert last_uses() == [None, None]
        use(ann[1])
        clock.advance(59 * 60)
        use(ann[1])
        use(bob[1])
        assert last_uses() == [NOW, NOW + timedelta(minutes=59)]
        clock.advance(60)
        use(ann[1])
        assert last_uses()[0] == NOW + timedelta(hours=1)
