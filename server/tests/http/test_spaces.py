"""Spaces: several users share an owner, each entry names its author, and a role says who deletes."""

from __future__ import annotations

import json

import anyio
import httpx2
import pytest
from server.tests.http_world import ALL, HttpServer, connected, home, token_for
from tests.doors.terminal import run
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("words_only")

TEAM = "space:team"
ADMIN = ["read", "write", "admin"]


def member(name: str, *scopes: str, space: str = TEAM) -> str:
    """A token of a member of a space."""
    return token_for(space, member=name, scopes=scopes or ("read", "write"))


def called(url: str, token: str, *calls: tuple[str, dict]) -> list[tuple[str, dict]]:
    """The text and the facts that calls of the SDK's own client are answered with."""

    async def call() -> list[tuple[str, dict]]:
        async with connected(url, token) as client:
            answers = [await client.call_tool(name, given) for name, given in calls]
        return [(each.content[0].text, each.structured_content or {}) for each in answers]

    return anyio.run(call)


def test_each_entry_of_a_space_names_who_wrote_it():
    """In all of its journals, for every member, also where the text or its metadata name another."""
    ann, bob = member("ann"), member("bob ä")
    with HttpServer("--toolsets", "all") as server:
        wrote = called(
            server.url,
            ann,
            ("add_entry", {"message": "Moved the site to Hetzner, says bob."}),
            ("journal_write", {"path": "hosting", "entry": "Hetzner.", "overview": "At Hetzner."}),
            ("timeline_add", {"content": "Signed the contract.", "metadata": {"author": "bob"}}),
        )
        refs = [facts["ref"] for _, facts in wrote]
        said = called(
            server.url,
            bob,
            *(("open_ref", {"ref": ref}) for ref in refs),
            ("add_entry", {"message": "Told the customers."}),
        )
        assert [facts["author"] for _, facts in said[:3]] == ["ann"] * 3
        assert all(" by ann" in text for text, _ in said[:3])
        [(_, told)] = called(server.url, ann, ("open_ref", {"ref": said[3][1]["ref"]}))
        assert told["author"] == "bob ä"


def test_what_a_member_wrote_says_nothing_of_anothers():
    """A text that another gives it is an entry of its own; each alters their own in its place."""
    ann, bob = member("ann"), member("bob", *ADMIN)
    with HttpServer("--toolsets", "all") as server:
        wrote = called(
            server.url,
            ann,
            ("add_entry", {"message": "I am against it."}),
            ("timeline_add", {"content": "I am against it."}),
            ("journal_write", {"path": "vote", "entry": "I am against it."}),
        )
        for _, facts in wrote:
            given = {"ref": facts["ref"], "text": "I am for it."}
            [(_, done)] = called(server.url, bob, ("amend", given))
            pages = called(
                server.url,
                ann,
                ("open_ref", {"ref": done["ref"]}),
                ("open_ref", {"ref": facts["ref"]}),
            )
            assert [(page["author"], page["text"]) for _, page in pages] == [
                ("bob", "I am for it."),
                ("ann", "I am against it."),
            ]
        [(_, own)] = called(server.url, bob, ("add_entry", {"message": "It is tody."}))
        given = {"ref": own["ref"], "text": "It is today."}
        [(_, done)] = called(server.url, bob, ("amend", given))
        assert (done["act"], done["ref"]) == ("edited", own["ref"])


def test_only_an_admin_deletes():
    """A member who writes may correct all there is; nothing is gone by any way of a call."""
    reader, writer, admin = member("ann", "read"), member("bob"), member("eve", *ADMIN)
    with HttpServer("--toolsets", "all") as server:
        [(_, kept)] = called(server.url, writer, ("add_entry", {"message": "The site is at Fly."}))
        [(_, newer)] = called(
            server.url,
            writer,
            ("amend", {"ref": kept["ref"], "text": "The site is at Hetzner.", "supersede": True}),
        )
        refused = called(
            server.url,
            writer,
            ("amend", {"ref": kept["ref"], "delete": True}),
            ("amend", {"ref": newer["ref"], "undo": True}),  # which would delete what replaced it
        )
        for text, _ in refused:
            assert "bob may write in this space, and delete nothing." in text
        [(text, _)] = called(server.url, reader, ("open_ref", {"ref": newer["ref"]}))
        assert "The site is at Hetzner." in text
        assert called(server.url, admin, ("amend", {"ref": newer["ref"], "delete": True}))
        [(text, _)] = called(server.url, reader, ("open_ref", {"ref": newer["ref"]}))
        assert "Hetzner" not in text


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("add_entry", {"message": "The site is at Fly."}),
        ("timeline_add", {"content": "The site is at Fly."}),
        ("journal_write", {"path": "hosting", "entry": "The site is at Fly."}),
    ],
)
def test_a_member_has_nothing_expire_that_another_wrote(tool, given):
    """By the same key, or the same text in the same place; their own does, also when repeated."""
    ann, bob = member("ann"), member("bob")
    soon = {"expires": "in 2 days"}
    with HttpServer("--toolsets", "all") as server:
        [(_, former)] = called(server.url, ann, (tool, given))
        for by in ({"idempotency_key": "k"}, {"supersedes": former["ref"]}):
            written = {**given, **by}
            [(_, made)] = called(server.url, ann, (tool, written))
            [(text, again)] = called(server.url, bob, (tool, {**written, **soon}))
            assert again["ref"] == made["ref"]
            assert "Another member wrote it" in text
            shown, own, ends = called(
                server.url,
                ann,
                ("open_ref", {"ref": made["ref"]}),
                (tool, {**written, **soon}),
                ("open_ref", {"ref": made["ref"]}),
            )
            assert "expires" not in shown[1]
            assert "It expires" in own[0]
            assert ends[1]["expires"]


def test_only_an_admin_takes_back_what_another_wrote():
    """Neither an edit of their own entry, nor the first overview of a section."""
    ann, bob, eve = member("ann"), member("bob"), member("eve", *ADMIN)
    with HttpServer("--toolsets", "all") as server:
        wrote = called(
            server.url,
            ann,
            ("add_entry", {"message": "It is tody."}),
            ("timeline_add", {"content": "It is tody."}),
            ("journal_write", {"path": "day", "entry": "It is today."}),
        )
        refs = [facts["ref"] for _, facts in wrote[:2]] + ["notebook:day"]
        for ref in refs:
            edited, opened = (
                ("amend", {"ref": ref, "text": "It is today."}),
                ("open_ref", {"ref": ref}),
            )
            undone = ("amend", {"ref": ref, "undo": True})
            called(server.url, ann, edited)
            [(text, _)] = called(server.url, bob, undone)
            assert "bob may write in this space, and delete nothing." in text
            [(_, page)] = called(server.url, bob, opened)
            assert page["text"] == "It is today."
            [(_, done)] = called(server.url, eve, undone)
            assert done["act"] == ("deleted" if ref == "notebook:day" else "edited")


def test_a_member_takes_back_only_their_own_edit_of_an_overview():
    """Whose text stands there is not asked: whose edit of it goes is what counts."""
    ann, bob = member("ann"), member("bob")
    with HttpServer("--toolsets", "all") as server:
        given = {"path": "day", "entry": "Lunch.", "overview": "Lunch."}
        called(server.url, ann, ("journal_write", given))
        edited, undone, opened = (
            ("amend", {"ref": "notebook:day", "text": "Lunch at noon."}),
            ("amend", {"ref": "notebook:day", "undo": True}),
            ("open_ref", {"ref": "notebook:day"}),
        )
        called(server.url, ann, edited)
        [(text, _), (_, page)] = called(server.url, bob, undone, opened)
        assert "bob may write in this space, and delete nothing." in text
        assert page["text"] == "Lunch at noon."
        [(_, done), (_, page)] = called(server.url, ann, undone, opened)
        assert (done["act"], page["text"]) == ("edited", "Lunch.")


def test_a_space_is_an_owner_of_its_own():
    """Neither its members' own entries nor another space's are found in it, nor its own in theirs."""
    own, other = token_for("ann"), member("ann", space="space:choir")
    with HttpServer("--toolsets", "all") as server:
        said = {
            own: "Zanzibar alone.",
            member("ann"): "Zanzibar as a team.",
            other: "Zanzibar in song.",
        }
        for token, text in said.items():
            called(server.url, token, ("add_entry", {"message": text}))
        for token, text in said.items():
            [(answer, _)] = called(server.url, token, ("recall", {"query": "Zanzibar"}))
            assert [each for each in said.values() if each in answer] == [text]


def test_a_space_has_the_journals_that_name_an_author():
    """Private and memory are of one person: their tools are neither listed nor answered."""
    token = token_for(TEAM, member="ann", toolsets=ALL.split(","))

    async def names(token: str) -> set[str]:
        async with connected(server.url, token) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    with HttpServer() as server:
        listed, usual = anyio.run(names, token), anyio.run(names, member("bob"))
        assert {"recall", "add_entry", "journal_write", "timeline_add"} <= listed & usual
        assert not {"process_thoughts", "memory_save", "memory_search"} & (listed | usual)
        answer = httpx2.post(
            f"{server.base}/api/v1/tools/memory_save",
            json={"kind": "todo", "title": "x"},
            headers={"authorization": f"Bearer {token}"},
            timeout=PATIENCE_S,
        )
        assert answer.status_code == 403


def test_the_account_of_accesses_says_who():
    """By the name of the member, beside the space."""
    with HttpServer(COMMONPLACE_SERVE_AUDIT_DAYS="30") as server:
        called(server.url, member("ann"), ("list_entries", {}))
    lines = [
        x for each in home().glob("users/*/accesses/*.jsonl") for x in each.read_text().split("\n")
    ]
    (access,) = [json.loads(line) for line in lines if line]
    assert (access["owner"], access["member"], access["tool"]) == (TEAM, "ann", "list_entries")


def test_the_commands_of_a_space():
    """A member is let in by name and role, and is listed with the space."""
    made = run(
        "tokens", "create", "--space", "team", "--member", "ann", "--scope", "read,write,admin"
    )
    assert "For ann in space:team: read,write,admin" in made.stdout
    assert "ann in space:team" in run("tokens", "list").stdout
    (token,) = json.loads(run("tokens", "list", "--json").stdout)["tokens"]
    assert (token["user"], token["member"]) == (TEAM, "ann")
    for given, why in (
        (("--space", "team"), "Say who uses it: --member ann."),
        (("--owner", TEAM), "is a space, not a user"),
        (("--owner", "Space:team"), "is the name of a space"),
        (("--owner", "space\N{RATIO}team"), "is the name of a space"),
        # What is read of the file of tokens is checked again: one that is refused shuts out all.
        (("--space", "x" * 123, "--member", "ann"), "An owner of 129 characters."),
        (("--owner", "ann", "--space", "team"), "of one user, or of one space"),
        ((), "of one user, or of one space"),
        (("--space", " ", "--member", "ann"), "A space without a name."),
        (("--owner", "ann", "--member", "bob"), "has no members"),
        # No author of git has such a name, and each journal is to name who wrote.
        (("--space", "team", "--member", "bob <bob@example.org>"), "holds < or >"),
    ):
        refused = run("tokens", "create", *given)
        assert refused.exit_code == 2
        assert why in refused.stderr
