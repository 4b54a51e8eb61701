"""Tokens: made once, kept as hashes, let in until they expire or are revoked."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta

import pytest
from tests.doors.terminal import run

from commonplace.core.errors import Invalid, Unavailable
from commonplace_server.tokens import TokenFile, parse_expiry
from commonplace_testing import FrozenClock

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    return FrozenClock(NOW)


@pytest.fixture
def tokens(tmp_path, clock):
    return TokenFile(tmp_path / "kept", clock=clock)


def test_only_a_hash_is_kept_and_only_the_user_may_read_it(tokens, tmp_path):
    """The file holds no token, and nobody else on the machine can open it."""
    made, text = tokens.create("ann")
    file = tmp_path / "kept" / "tokens.json"
    assert text not in file.read_text()
    assert text.split("_", 2)[2] not in file.read_text()
    assert made.digest in file.read_text()
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert len(text.split("_", 2)[2]) == 43  # 32 bytes


def test_a_change_of_another_process_is_seen_at_the_next_look(tokens, tmp_path, clock):
    """Made, revoked, deleted: without a restart."""
    other = TokenFile(tmp_path / "kept", clock=clock)
    assert not other.was_used()
    made, text = tokens.create("ann")
    assert other.find(text).state(NOW) == "valid"
    tokens.revoke(made.id)
    assert other.find(text).state(NOW) == "revoked"
    (tmp_path / "kept" / "tokens.json").unlink()
    assert other.find(text) is None
    assert other.was_used()


def test_the_file_is_read_again_only_when_it_has_changed(tokens, tmp_path):
    """A look costs one stat: what has the same time, size and place is not looked into."""
    _, text = tokens.create("ann")
    tokens.find(text)
    file = tmp_path / "kept" / "tokens.json"
    state = file.stat()
    with file.open("r+b") as same:
        same.write(b" " * state.st_size)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert tokens.find(text) is not None
    os.utime(file)
    with pytest.raises(Unavailable):
        tokens.find(text)


def test_a_home_whose_last_token_was_revoked_still_needs_one(tokens, tmp_path, clock):
    """Revoking opens nothing."""
    made, _ = tokens.create("ann")
    tokens.revoke(made.id)
    assert TokenFile(tmp_path / "kept", clock=clock).was_used()


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("90d", datetime(2027, 2, 20, 12, tzinfo=UTC)),
        ("12h", datetime(2026, 11, 23, 0, tzinfo=UTC)),
        ("2 w", datetime(2026, 12, 6, 12, tzinfo=UTC)),
        ("2027-01-01", datetime(2027, 1, 2, tzinfo=UTC)),
    ],
)
def test_an_expiry_is_a_span_or_the_end_of_a_day(text, at):
    """As people write it."""
    assert parse_expiry(text, now=NOW, zone=UTC) == at


def test_an_expiry_that_cannot_be_meant(tokens):
    """Is an error with examples."""
    with pytest.raises(Invalid, match="90d, 12h or 2027-01-01"):
        parse_expiry("soonish", now=NOW, zone=UTC)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"version": 3, "tokens": []}', '{"version"', "[" * 200_000],
    ids=range(6),
)
def test_a_damaged_file_lets_nobody_in(tokens, tmp_path, content):
    """Least of all without a token."""
    tokens.create("ann")
    (tmp_path / "kept" / "tokens.json").write_text(content)
    with pytest.raises(Unavailable, match=r"tokens\.json cannot be read"):
        tokens.was_used()


def test_the_commands(tmp_path):
    """Make one, list it without itself, revoke it."""
    made = json.loads(
        run(
            "tokens",
            "create",
            "--user",
            "ann",
            "--scope",
            "read",
            "--toolsets",
            "memory,recall",
            "--expires",
            "90d",
            "--json",
        ).stdout
    )
    assert (made["user"], made["scope"], made["toolsets"]) == (
        "ann",
        ["read"],
        ["memory", "recall"],
    )
    assert "machine user's own" in run("tokens", "create", "--user", "me").stdout
    assert "machine user's own" not in run("tokens", "create", "--user", "bob").stdout
    listed = run("tokens", "list").stdout
    assert made["id"] in listed
    assert made["token"] not in listed
    assert run("tokens", "revoke", made["id"]).stdout == f"Revoked {made['id']}.\n"
    assert "revoked" in run("tokens", "list").stdout
    assert run("tokens", "revoke", "nothing0").exit_code == 3
    assert run("tokens", "create", "--user", "ann", "--scope", "admin").exit_code == 2
    assert run("tokens", "create", "--user", "ann", "--toolsets", "privat").exit_code == 2


def test_the_last_use_is_noted_once_an_hour(tokens, clock, tmp_path):
    """Of each token by itself; another process reads it, and the file of tokens stays as it was."""
    ann, _ = tokens.create("ann")
    bob, _ = tokens.create("bob")
    before = os.stat(tmp_path / "kept" / "tokens.json").st_mtime_ns
    assert tokens.last_use(ann) is None
    tokens.note_use(ann)
    clock.advance(59 * 60)
    tokens.note_use(ann)
    tokens.note_use(bob)
    listing = TokenFile(tmp_path / "kept", clock=clock)
    assert listing.last_use(ann) == NOW
    assert listing.last_use(bob) == NOW + timedelta(minutes=59)
    clock.advance(60)
    tokens.note_use(ann)
    assert listing.last_use(ann) == NOW + timedelta(hours=1)
    assert os.stat(tmp_path / "kept" / "tokens.json").st_mtime_ns == before


def test_a_use_that_cannot_be_noted_stops_nothing(tokens, tmp_path):
    """A file lies where the folder would be: the use is not noted, and that is all."""
    ann, text = tokens.create("ann")
    (tmp_path / "kept" / "token-uses").write_text("in the way")
    tokens.note_use(ann)
    assert tokens.last_use(ann) is None
    assert tokens.find(text) == ann


def test_what_is_printed_opens(tmp_path, monkeypatch):
    """A new token is printed as it is, in words and as JSON: no screen hides it."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    printed = [
        run("tokens", "create", "--user", "ann").stdout.splitlines()[0],
        json.loads(run("tokens", "create", "--user", "ann", "--json").stdout)["token"],
    ]
    assert all(TokenFile(tmp_path, clock=FrozenClock()).find(each) for each in printed)


def test_the_list_has_a_header_labels_and_uses(tmp_path):
    """One line a token under names of the columns; without tokens, how to make one."""
    assert run("tokens", "list").stdout == (
        "There are no tokens. Make one: `commonplace tokens create --owner NAME`.\n"
    )
    made = json.loads(
        run("tokens", "create", "--user", "ann", "--label", "old laptop", "--json").stdout
    )
    header, line = run("tokens", "list").stdout.splitlines()
    assert header.split() == [
        *("ID", "USER", "LABEL", "SCOPE", "TOOLSETS", "LAST", "USED", "EXPIRES", "STATE"),
    ]
    assert line.split() == [
        *(made["id"], "ann", "old", "laptop", "read,write", "server's", "default"),
        *("never", "never", "valid"),
    ]
    assert header.index("LABEL") == line.index("old laptop")
    (listed,) = json.loads(run("tokens", "list", "--json").stdout)["tokens"]
    assert (listed["label"], listed["last_used_at"]) == ("old laptop", None)
    refused = run("tokens", "create", "--user", "ann", "--label", "two\nlines")
    assert refused.exit_code == 2
    assert "Use one line" in refused.stderr


def test_tokens_made_before_labels_are_read(tokens, tmp_path):
    """They have none."""
    _, text = tokens.create("ann", label="laptop")
    file = tmp_path / "kept" / "tokens.json"
    document = json.loads(file.read_text())
    del document["tokens"][0]["label"]
    file.write_text(json.dumps(document))
    assert tokens.find(text).label == ""


def test_a_link_that_leads_nowhere_lets_nobody_in(tokens, tmp_path):
    """Tokens on a disk that is not there yet: not a server without tokens."""
    (tmp_path / "kept").mkdir(exist_ok=True)
    (tmp_path / "kept" / "tokens.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(Unavailable, match="leads nowhere"):
        tokens.was_used()


def test_a_link_becomes_a_file_that_only_its_user_can_read(tokens, tmp_path):
    """A link's own mode is that of everybody."""
    tokens.create("ann")
    file = tmp_path / "kept" / "tokens.json"
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    tokens.create("ben")
    assert not file.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {each.owner for each in tokens.list_tokens()} == {"ann", "ben"}


def test_a_token_for_metrics_is_said_to_open_no_journal():
    """Not the machine user's own either, in whose name it may be."""
    made = run("tokens", "create", "--owner", "me", "--scope", "metrics").output
    assert "For me: metrics; none; never expires\nIt is not shown again." in made
    both = run("tokens", "create", "--owner", "me", "--scope", "read,metrics")
    assert both.exit_code == 2
    assert "--scope metrics" in both.output
