"""Two clones and where they meet: both hold what either wrote, in whatever order they sync."""

from __future__ import annotations

import os
import re

import pytest
from tests.journals.notebook.team import COUNT, Team, both, clashing

from commonplace.core.errors import Conflict, Denied, Invalid, NotFound, Unavailable
from commonplace.journals.git import index as git_index
from commonplace.journals.notebook import sync as notebook_sync
from commonplace.journals.notebook.conflicts import Clashes
from commonplace.journals.notebook.names import parse_address


@pytest.mark.design("001-38", "001-62", "001-68")
def test_what_either_wrote_is_with_both(team):
    """Entries of one section and of others, the counts, the folders, who wrote them and when."""
    team.write(0, "api", "Ann 1", "We use REST.")
    first = team.sync(0)
    assert (first.received, first.sent, first.notes) == (0, 1, ())
    assert team.sync(1).received == 1
    ids = [team.write(0, "api", "Ann 2"), team.write(1, "api", "Bob 1"), team.write(1, "d/b", "x")]
    assert team.sync(1).sent == 2
    again = team.sync(0)
    assert (again.received, again.sent) == (2, 1)
    both(team)
    for which in (0, 1):
        assert team.entries(which) == [
            ("api", "Ann 1"), ("api", "Ann 2"), ("api", "Bob 1"), ("d/b", "x"),
        ]  # fmt: skip
        assert team.files(which) == {
            "api": "We use REST.\n\n" + COUNT.format(3),
            "d/b": COUNT.format(1),
        }
        assert {x for i in ids for x in [team.notes[which].ledger.by_id(i)[0].id]} == set(ids)
    line = team.notes[1].ledger.by_id(ids[0])[0]
    assert team.git(1, "log", "-1", "--format=%an %at %cn", line.hash).split() == [
        "Ann", str(int(line.at.timestamp())), "Ann",
    ]  # fmt: skip
    quiet = team.sync(0)
    assert (quiet.received, quiet.sent, quiet.before) == (0, 0, quiet.now)


def test_nothing_yet_on_either_side(team):
    """Two empty sides are in step; an empty clone takes what the remote has."""
    assert team.sync(0).now == ""
    team.write(1, "a", "x")
    team.sync(1)
    assert team.sync(0).received == 1
    assert team.files(0) == {"a": COUNT.format(1)}


def test_overviews_changed_in_different_places_are_merged(teams):
    """By block, three ways; one side's change alone is taken as it is."""
    team = teams(("a", "x", "One.\n\nTwo.\n\nThree."), ("b", "x", "One."))
    team.write(0, "a", "Ann", "One!\n\nTwo.\n\nThree.")
    team.write(0, "b", "Ann")
    team.write(1, "a", "Bob", "One.\n\nTwo.\n\nThree?\n\nFour.")
    team.write(1, "b", "Bob", "Odd  \n\n\n\nspacing.")
    both(team)
    assert team.files(0) == {
        "a": "One!\n\nTwo.\n\nThree?\n\nFour.\n\n" + COUNT.format(3),
        "b": "Odd  \n\n\n\nspacing.\n\n" + COUNT.format(3),
    }
    assert Clashes(team.notes[0]).list_open() == []
    assert team.notes[0].read_section("b").overview == "Odd  \n\n\n\nspacing."


@pytest.fixture
def clashed(tmp_path):
    """Ann has an overview of `a` to settle with Bob's."""
    made = Team(tmp_path, after=clashing)
    yield made
    made.close()


def test_a_conflict_of_overviews_holds_up_nothing_else(clashed):
    """Theirs stands, ours is listed with both texts, entries and other sections are synced."""
    team = clashed
    both(team)
    team.sync(0)
    (waits,) = Clashes(team.notes[0]).list_open()
    assert (waits.section, waits.ours, waits.theirs, waits.base) == (
        "a", "It is green.\n\nIt is round.", "It is blue.\n\nIt is round.",
        "It is red.\n\nIt is round.",
    )  # fmt: skip
    assert Clashes(team.notes[1]).list_open() == []
    assert (
        team.files(1)
        == team.files(0)
        == {
            "a": "It is blue.\n\nIt is round.\n\n" + COUNT.format(3),
            "b": "Of its own.\n\n" + COUNT.format(1),
        }
    )
    assert Clashes(team.notes[0]).list_open() == [waits]
    assert [x.section for x in Clashes(team.notes[0]).list_open()] == ["a"]


@pytest.mark.parametrize(
    ("text", "now"),
    [
        ("It is green.\n\nIt is round.", "It is green.\n\nIt is round."),
        (None, "It is blue.\n\nIt is round."),
    ],
)
def test_a_conflict_is_settled(clashed, text, now):
    """By ours or by theirs; it is no entry."""
    clashes = Clashes(clashed.notes[0])
    assert clashes.settle(clashes.find("a"), text) == ()
    assert clashes.list_open() == []
    with pytest.raises(NotFound):
        clashes.find("a")
    section = clashed.notes[0].read_section("a")
    assert (section.overview, section.entry_count) == (now, 3)
    assert clashed.files(0)["a"] == f"{now}\n\n" + COUNT.format(3)


def test_what_a_conflict_is_settled_by_goes_to_the_others(clashed):
    """A text that is neither; it is no entry there either."""
    clashes = Clashes(clashed.notes[0])
    assert clashes.settle(clashes.find("a"), "It is teal.") == ()
    both(clashed)
    for which in (0, 1):
        section = clashed.notes[which].read_section("a")
        assert (section.overview, section.entry_count) == ("It is teal.", 3)
    assert clashed.files(1)["a"] == "It is teal.\n\n" + COUNT.format(3)
    assert clashes.list_open() == Clashes(clashed.notes[1]).list_open() == []


def test_a_conflict_is_not_settled_over_others(clashed):
    """Who wrote meanwhile is not overwritten; marks that are left are refused; moves are followed."""
    team = clashed
    clashes = Clashes(team.notes[0])
    stale = clashes.find("a")
    with pytest.raises(Invalid, match="marks"):
        clashes.settle(stale, stale.marked)
    team.write(0, "a", "More", "It is black.")
    with pytest.raises(Conflict, match="has changed since"):
        clashes.settle(stale, "It is white.")
    team.notes[0].move("a", "colour")
    fresh = clashes.find("colour")
    assert (fresh.ours, fresh.theirs) == ("It is green.\n\nIt is round.", "It is black.")
    clashes.settle(fresh, "It is grey.")
    assert team.notes[0].read_section("colour").overview == "It is grey."


def test_a_conflict_outlives_its_branchs_name(clashed):
    """It is listed under the new one, and on no other branch; what was written all the same is over."""
    team = clashed
    clashes = Clashes(team.notes[0])
    team.git(0, "branch", "-m", "renamed")
    (waits,) = clashes.list_open()
    team.git(0, "branch", "main")
    assert clashes.list_open() == []
    team.git(0, "branch", "-D", "main")
    team.git(0, "branch", "-m", "main")
    team.write(0, "a", "As it was here", waits.ours)
    assert clashes.list_open() == []
    team.sync(0)
    team.write(0, "a", "And another", "It is none of both.")
    assert clashes.list_open() == []


def test_moves_are_followed_from_either_side(teams):
    """What others wrote under the old name is under the new one; two new names: theirs holds."""
    team = teams(("old", "x", "Known."), ("both", "y", "Of both."))
    team.notes[0].move("old", "new")
    ann = team.write(0, "new", "Ann", "Known well.")
    bob = team.write(1, "old", "Bob")
    team.notes[0].move("both", "ann/both")
    team.notes[1].move("both", "bob/both")
    team.write(0, "ann/both", "Ann in both", "Of both, and Ann.")
    team.sync(1)
    assert team.sync(0).notes == (
        "both was moved to bob/both there, and to ann/both here: it is bob/both.",
    )
    both(team)
    for which in (0, 1):
        notes = team.notes[which]
        assert {x.id for x in notes.list_entries("new")} >= {ann, bob}
        assert team.files(which) == {
            "new": "Known well.\n\n" + COUNT.format(3),
            "bob/both": "Of both, and Ann.\n\n" + COUNT.format(2),
        }
    team.write(0, "new", "more")
    team.notes[1].move("new", "newer")
    team.sync(1)
    both(team)
    assert team.files(0)["newer"].endswith(COUNT.format(4))


def test_two_sections_that_got_one_name_are_one(teams):
    """One was moved, one begun there: all entries are under it, and both overviews are kept."""
    team = teams(("a", "x", "Of a."))
    team.notes[0].move("a", "b")
    team.write(0, "b", "Ann")
    team.write(1, "b", "Bob", "Another b.")
    team.sync(1)
    synced = team.sync(0)
    assert synced.notes == ("Two sections are called b now: they are one.",)
    assert synced.conflicts == ("b",)
    both(team)
    assert team.files(1) == {"b": "Another b.\n\n" + COUNT.format(3)}
    assert Clashes(team.notes[0]).find("b").ours == "Of a."
    assert [x[1] for x in team.entries(1)] == ["x", "Ann", "Bob"]


def test_commits_by_hand_are_entries_once(teams):
    """With one id in each of their sections, by whatever way they came."""
    team = teams(("a", "x"))
    first = team.hand(0, "Tidy up\n\nBoth of them.", a="Mine.\n", d__b="New.\n", **{"x.y": "z"})
    id_ = team.notes[0].find_line(parse_address(f"a#{first}")).id
    team.git(0, "push", "-q", str(team.folder / "Bob"), "main:refs/heads/anns")
    team.write(1, "a", "Bob")
    team.sync(1)
    team.git(1, "merge", "-q", "-m", "By hand too", "-X", "theirs", "anns")
    team.sync(0)
    both(team)
    for which in (0, 1):
        notes = team.notes[which]
        assert [x.section for x in notes.ledger.by_id(id_)] == ["a", "d/b", "x.y"]
        entry = notes.read_entry(f"d/b#{id_}")
        assert (entry.text, entry.summary) == ("Tidy up\n\nBoth of them.", "Tidy up")
        assert entry.author == "Ann"
        assert len(notes.list_entries("a")) == 3
    assert team.files(0)["a"] == "Mine.\n\n" + COUNT.format(3)


def test_a_hand_commit_that_was_rebased_is_told_once(team):
    """Whoever rebased it gave it another hash, and no other words."""
    team.write(0, "a", "x")
    team.hand(0, "By hand", b="B.\n")
    both(team)
    team.write(1, "a", "y")
    team.git(1, "rebase", "-q", "--force-rebase", "HEAD~2")
    team.write(0, "c", "z")
    team.sync(0)
    team.sync(1)
    assert [x for x in team.entries(1) if x[0] == "b"] == [("b", "By hand")]


@pytest.mark.design("001-32")
def test_counts_that_people_left_wrong_are_put_right(teams):
    """By a merge with plain git, by an editor; where nothing else is new as well."""
    team = teams(("a", "x"))
    team.write(0, "a", "Ann")
    team.write(1, "a", "Bob")
    team.sync(1)
    team.git(0, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert (team.place(0) / "a.md").read_text() == COUNT.format(2)
    both(team)
    assert team.files(1) == {"a": COUNT.format(3)}
    team.hand(0, "Miscount", a=COUNT.format(40))
    both(team)
    assert team.files(1) == {"a": COUNT.format(4)}
    assert team.git(0, "log", "--format=%s", "--grep=Commonplace: recount").count("Count") == 2
    assert team.notes[0].ledger.count("a") == 4


def test_what_a_rebase_by_hand_lost_is_told(teams):
    """An entry is taken for nothing new whose count is there already; it is told how to get it."""
    team = teams(("a", "x"))
    id_ = team.write(0, "a", "Ann")
    team.write(1, "a", "Bob")
    team.sync(1)
    team.git(0, "pull", "-q", "--rebase", "origin", "main")
    assert team.entries(0) == [("a", "x"), ("a", "Bob")]
    (note,) = team.sync(0).notes
    assert note.startswith("A rebase by hand lost an entry of a, 'Ann': git -C ")
    command = note.partition(": ")[2].partition(" brings")[0].split()
    team.git(0, *command[3:])
    assert team.sync(0).notes == ()
    both(team)
    assert team.entries(1) == [("a", "x"), ("a", "Ann"), ("a", "Bob")]
    assert team.files(1) == {"a": COUNT.format(3)}
    assert team.notes[1].ledger.by_id(id_)


def test_removed_and_written_to(teams):
    """What one removed stays removed; what another went on with stays."""
    team = teams(
        *((name, "x", f"Of {name}.") for name in "abc"), *(("long", str(n)) for n in range(12))
    )
    team.hand(0, "Away with a", a=None)
    team.hand(0, "Away with b", b=None)
    team.write(1, "b", "Still here")
    team.hand(1, "Away with c", c=None)
    team.write(0, "c", "Still here")
    team.sync(1)
    assert team.sync(0).notes == ("b was removed here, and written to there: it stays.",)
    both(team)
    files = team.files(1)
    assert "a" not in files
    assert files["b"] == "Of b.\n\n" + COUNT.format(3)  # x, its removal, what was written
    assert files["c"] == "Of c.\n\n" + COUNT.format(3)


def test_files_that_are_no_sections(team):
    """One side's, with their modes; another on both sides: both are kept beside each other."""
    place = [team.place(0), team.place(1)]
    (place[0] / "run.sh").write_text("one")
    (place[0] / "image.png").write_bytes(bytes(range(256)) * 100)
    team.git(0, "add", ".")
    team.hand(0, "Files")
    both(team)
    (place[0] / "run.sh").chmod(0o755)
    (place[0] / "image.png").write_bytes(b"\0Ann")
    (place[1] / "image.png").write_bytes(b"\0Bob")
    (place[1] / "new.bin").write_bytes(b"\xff\0")
    os.symlink("run.sh", place[1] / "link")
    for which in (0, 1):
        team.git(which, "add", ".")
        team.hand(which, "Files again")
    team.sync(1)
    told = team.sync(0)
    assert "image.png is another on both sides" in told.notes[0]
    assert "link" in told.notes[1]
    both(team)
    for which in (0, 1):
        assert (place[which] / "image.png").read_bytes() == b"\0Bob"
        (mine,) = place[which].glob("image.*.png")
        assert mine.read_bytes() == b"\0Ann"
        assert os.access(place[which] / "run.sh", os.X_OK)
        assert (place[which] / "new.bin").read_bytes() == b"\xff\0"


def test_a_file_on_one_side_and_a_folder_on_the_other(teams):
    """Is refused, with its name."""
    team = teams(("a", "x"))
    (team.place(0) / "thing").write_text("file")
    (team.place(1) / "thing").mkdir()
    (team.place(1) / "thing" / "x").write_text("folder")
    for which in (0, 1):
        team.git(which, "add", ".")
        team.hand(which, "thing")
    team.sync(1)
    before = team.states(0)
    with pytest.raises(Conflict, match="thing is a file on one side"):
        team.sync(0)
    assert team.states(0) == before


def test_what_lies_uncommitted_in_the_folder(teams):
    """Is refused where the sync would change it, edited, staged or new; else it stays."""
    team = teams(("a", "x", "Known."), ("b", "x"))
    team.write(1, "a", "y")
    team.write(1, "c", "z")
    team.sync(1)
    place = team.place(0)
    before = team.states(0)
    (place / "b.md").write_text("I am typing")
    (place / "c.md").write_text("Mine")
    (place / "a.md").write_text("I am typing here")
    with pytest.raises(Conflict, match=r"a\.md, c\.md"):
        team.sync(0)
    team.git(0, "add", "a.md")
    (place / "a.md").write_bytes(team.git(0, "show", "HEAD:a.md").encode())
    (place / "c.md").unlink()
    with pytest.raises(Conflict, match=r"not committed: a\.md;"):
        team.sync(0)
    assert team.states(0) == before
    team.git(0, "restore", "--staged", "a.md")
    team.sync(0)
    assert (place / "b.md").read_text() == "I am typing"
    assert team.git(0, "status", "--porcelain") == " M b.md\n"


def test_windows_line_ends(teams):
    """A folder that git checked out with CRLF is no edit, and stays so."""
    team = teams(("a", "x", "One.\n\nTwo."))
    path = team.place(0) / "a.md"
    team.git(0, "config", "core.autocrlf", "true")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    team.write(1, "a", "y", "One.\n\nTwo!")
    team.sync(1)
    team.sync(0)
    assert path.read_bytes() == b"One.\r\n\r\nTwo!\r\n\r\n<!-- entry count: 2 -->\r\n"
    assert team.git(0, "status", "--porcelain") == ""


def force(team: Team, *words: str) -> None:
    """Bob rewrites his history with plain git, and pushes it over what is there."""
    team.git(1, *words)
    team.git(1, "push", "-q", "--force", "origin", "main")


def test_a_rewritten_remote_is_refused_until_it_is_accepted(teams):
    """Then what it lost is gone here, and what was written here since is kept."""
    team = teams(*(("a", text) for text in ("one", "two", "three")))
    force(team, "reset", "-q", "--hard", "HEAD~1")
    team.write(0, "b", "mine")
    before = team.states(0)
    with pytest.raises(Conflict, match="1 of your entries are gone") as told:
        team.sync(0)
    assert "--accept-loss" in told.value.located_hint
    assert team.states(0) == before
    accepted = team.sync(0, accept_loss=True)
    assert (accepted.dropped, accepted.sent, accepted.received) == (1, 1, 0)
    assert team.entries(0) == [("a", "one"), ("a", "two"), ("b", "mine")]
    both(team)
    assert team.files(1) == {"a": COUNT.format(2), "b": COUNT.format(1)}


def test_a_remote_that_was_rebased_lost_nothing(teams):
    """It is refused all the same; accepted, every entry is there once."""
    team = teams(("a", "one", "Known."), ("a", "two"))
    force(team, "commit", "--amend", "-q", "-m", team.git(1, "log", "-1", "--format=%B") + "\n")
    force(team, "rebase", "-q", "--force-rebase", "HEAD~1")
    team.write(0, "a", "three", "Known well.")
    with pytest.raises(Conflict, match="no entry is gone"):
        team.sync(0)
    assert team.sync(0, accept_loss=True).dropped == 0
    assert team.entries(0) == [("a", "one"), ("a", "two"), ("a", "three")]
    assert team.files(0) == {"a": "Known well.\n\n" + COUNT.format(3)}


def test_a_remote_that_moved_house_is_no_rewritten_one(teams):
    """At another address it may hold less; nothing is lost by that."""
    team = teams(("a", "one"))
    team.write(0, "a", "two")
    team.git(None, "clone", "-q", "--bare", str(team.bare), "other.git", at=team.folder)
    team.sync(0)
    team.git(0, "remote", "set-url", "origin", str(team.folder / "other.git"))
    assert team.sync(0).sent == 1
    assert team.entries(0) == [("a", "one"), ("a", "two")]


def test_sections_that_would_go_out_of_sight(teams):
    """More than a tenth of the entries is refused until it is accepted; a tenth is not."""
    team = teams(*(("a", str(number)) for number in range(9)), ("b", "x"))
    team.hand(1, "Away with b", b=None)
    team.sync(1)
    assert team.sync(0).dropped == 0
    team.hand(1, "Away with a", a=None)
    team.sync(1)
    before = team.states(0)
    with pytest.raises(Conflict, match="sections of 9 of 11 entries are gone: a"):
        team.sync(0)
    assert team.states(0) == before
    team.sync(0, accept_loss=True)
    assert team.files(0) == {}


def test_notebooks_begun_apart_are_joined(team):
    """Both entries and both overviews are there; the same name is one section."""
    team.write(0, "a", "Ann", "Of Ann.")
    team.write(1, "b", "Bob", "Of Bob.")
    team.write(1, "a", "Bob in a")
    both(team)
    assert team.files(0) == {
        "a": "Of Ann.\n\n" + COUNT.format(2),
        "b": "Of Bob.\n\n" + COUNT.format(1),
    }


def test_a_strangers_history_is_left_alone(team):
    """A remote that is no notebook is not written to; the way to join it is told."""
    (team.place(1) / "main.c").write_text("int main;")
    team.git(1, "add", ".")
    team.hand(1, "Some program")
    team.git(1, "push", "-q", "origin", "main")
    team.write(0, "a", "x")
    before = team.remote_head()
    with pytest.raises(Conflict, match="is not a notebook") as told:
        team.sync(0)
    assert "--allow-unrelated-histories origin main" in told.value.located_hint
    assert team.remote_head() == before
    team.git(0, "pull", "-q", "--no-rebase", "--no-edit", "--allow-unrelated-histories", "origin", "main")  # fmt: skip
    team.sync(0)
    assert team.remote_head() == team.head(0)


def test_another_branch_there(team):
    """Its name is told, with how to take it over; an upstream of another name is followed."""
    team.write(1, "a", "x")
    team.git(1, "push", "-q", "origin", "main:master")
    with pytest.raises(Conflict, match="has no branch main, but has: master") as told:
        team.sync(0)
    assert f"git -C {team.place(0)} symbolic-ref HEAD refs/heads/master" in told.value.located_hint
    team.write(0, "b", "y")
    with pytest.raises(Conflict) as told:
        team.sync(0)
    assert f"git -C {team.place(0)} branch -m master" in told.value.located_hint
    team.git(0, "config", "branch.main.remote", "origin")
    team.git(0, "config", "branch.main.merge", "refs/heads/master")
    assert team.sync(0).branch == "refs/heads/master"
    assert team.files(0).keys() == {"a", "b"}


@pytest.mark.parametrize("name", ["nobody", "--upload-pack=x", "-v", "../x", "https://x.org/y", ""])
def test_only_a_remote_that_is_there(team, name):
    """No address and no option passes for one."""
    with pytest.raises((NotFound, Invalid)):
        team.sync(0, remote=name)


def test_a_remote_that_cannot_be_had(team, tmp_path):
    """Gone, no repository, on nobody's machine: the next step is told, no password shown."""
    team.write(0, "a", "x")
    for address, error in {
        str(tmp_path / "gone"): Unavailable,
        str(tmp_path): Unavailable,
        "http://user:secret@127.0.0.1:1/x": Unavailable,
        "ssh://127.0.0.1:1/x": Unavailable,
        "ext::touch sprung": Denied,
        "foo::bar": Denied,
    }.items():
        team.git(0, "remote", "set-url", "origin", address)
        with pytest.raises(error) as told:
            team.sync(0)
        assert "secret" not in str(told.value)
        assert f"git -C {team.place(0)}" in told.value.located_hint
    assert not (team.place(0) / "sprung").exists()


def test_a_remote_with_its_branch_checked_out(team):
    """Nobody pushes to it; a bare repository is told of."""
    team.write(0, "a", "x")
    team.write(1, "a", "y")
    team.git(0, "remote", "set-url", "origin", str(team.place(1)))
    with pytest.raises(Denied, match="checked out"):
        team.sync(0)
    assert team.entries(0) == [("a", "x")]


def test_a_shallow_clone_is_told_how_to_become_whole(teams, tmp_path):
    """Its history is cut off: nobody can tell what is missing."""
    team = teams(*(("a", text) for text in "xyz"))
    team.git(None, "clone", "-q", "--depth", "1", f"file://{team.bare}", "shallow", at=tmp_path)
    with_shallow = team.open(1, tmp_path / "shallow")
    team.notes[1].close()
    team.notes[1] = with_shallow
    with pytest.raises(Conflict) as told:
        team.sync(1)
    assert told.value.located_hint.endswith(f"git -C {tmp_path / 'shallow'} fetch --unshallow")
    team.git(None, "fetch", "-q", "--unshallow", at=tmp_path / "shallow")
    assert team.sync(1).sent == 0


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["checkout", "-q", "--detach"], "on no branch"),
        (["merge", "-q", "side"], "middle of a merge"),
        (["rebase", "-q", "side"], "middle of a rebase"),
    ],
)
def test_nothing_is_synced_in_the_middle_of_something(team, words, match):
    """What to do is told."""
    team.write(0, "a", "x")
    team.git(0, "switch", "-q", "-c", "side")
    team.hand(0, "side", a="side")
    team.git(0, "switch", "-q", "main")
    team.hand(0, "main", a="main")
    team.git(0, *words, check=False)
    with pytest.raises(Conflict, match=match):
        team.sync(0)


def test_a_stale_lock_of_the_index(teams, monkeypatch):
    """It is named, and nothing is synced: the index would be left behind for a commit to revert."""
    monkeypatch.setattr(git_index, "WAIT_S", 0.0)
    team = teams(("a", "x"))
    team.write(1, "a", "y")
    team.sync(1)
    lock = team.place(0) / ".git" / "index.lock"
    lock.touch()
    before = team.states(0)
    with pytest.raises(Unavailable, match=re.escape(f"remove the file {lock}")):
        team.sync(0)
    assert team.states(0) == before
    lock.unlink()
    team.sync(0)
    assert team.files(0) == {"a": COUNT.format(2)}


def test_a_stale_lock_at_the_remote_is_named(team, monkeypatch):
    """It may be somebody's who pushes: it is waited for, then told."""
    monkeypatch.setattr(notebook_sync, "TRIES", 2)
    team.write(0, "a", "x")
    team.sync(0)
    team.write(0, "a", "y")
    lock = team.bare / "refs" / "heads" / "main.lock"
    lock.touch()
    before = team.states(0)
    with pytest.raises(Conflict, match="is locked") as told:
        team.sync(0)
    assert str(lock) in told.value.located
    assert team.states(0) == before
    lock.unlink()
    assert team.sync(0).sent == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a folder away")
def test_a_notebook_of_another_user(team):
    """Git's own rule holds; where it refuses, the command that says otherwise is told."""
    team.write(0, "a", "x")
    for folder in (team.place(0), team.place(0) / ".git"):
        os.chown(folder, 12345, 12345)
    try:
        team.notes[0].close()
        team.notes[0] = team.open(0)
        with pytest.raises(Denied) as told:
            team.sync(0)
        trust = f"git config --global --add safe.directory {team.place(0)}"
        assert told.value.located_hint == f"If you do, run: {trust}"
        team.git(None, *trust.split()[1:], at=team.folder)
        team.notes[0] = team.open(0)
        assert team.sync(0).sent == 1
    finally:
        for folder in (team.place(0), team.place(0) / ".git"):
            os.chown(folder, os.geteuid(), os.getegid())


def test_a_worktree_and_a_bare_notebook(team, tmp_path):
    """A work tree of another branch syncs that one; a bare notebook has no folder to bring."""
    team.write(0, "a", "x")
    team.sync(0)
    team.git(0, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    team.git(0, "push", "-q", "origin", "other")
    team.notes[1].close()
    team.notes[1] = team.open(1, tmp_path / "tree")
    team.write(1, "b", "y")
    assert team.sync(1).branch == "refs/heads/other"
    team.git(None, "clone", "-q", "--bare", str(team.bare), "bare", at=tmp_path)
    team.notes[0].close()
    team.notes[0] = team.open(0, tmp_path / "bare")
    team.write(0, "c", "z")
    assert team.sync(0).sent == 1


def test_it_needs_no_identity(team):
    """Who commits where nobody is named stands in the log."""
    team.write(1, "a", "x")
    team.sync(1)
    team.notes[0].close()
    team.notes[0] = team.open(0, author=None)
    team.write(0, "b", "y")
    team.sync(0)
    assert "Journal Server" in team.git(0, "log", "-1", "--format=%cn")
