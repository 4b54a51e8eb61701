"""What a sync merges: hashes stay true, nothing is reverted, and counts are those of the history."""

from __future__ import annotations

import os
from datetime import timedelta

from tests.journals.notebook.team import COUNT, both

from commonplace.core.spaces import Member, at_work
from commonplace.journals.notebook.conflicts import Clashes


def test_a_hash_once_given_stays_true(team):
    """Whoever syncs how often: the hash of an entry names its commit, in every clone."""
    given = {}
    for which, section in ((0, "a"), (1, "a"), (0, "b"), (1, "d/b")):
        id_ = team.write(which, section, f"{which} in {section}")
        given[section, team.head(which)] = id_
        if section == "b":
            team.sync(0)
    given["c", team.hand(1, "By hand", c="C.\n")] = None
    both(team)
    for which in (0, 1):
        for (section, hash_), id_ in given.items():
            entry = team.notes[which].read_entry(f"{section}#{hash_}")
            assert entry.hash == hash_
            assert id_ in (None, entry.id)
            assert team.git(which, "merge-base", "--is-ancestor", hash_, "main") == ""


def test_a_merge_by_hand_reverts_no_overview(teams):
    """Bob pulls, which merges; what Ann wrote stands after his sync, as does what each adds then."""
    team = teams(("a", "x", "One.\n\nTwo."))
    team.write(0, "a", "Ann", "One, by Ann.\n\nTwo.")
    team.sync(0)
    team.write(1, "a", "Bob")
    team.git(1, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    team.write(0, "b", "Of another section")
    team.sync(0)
    team.sync(1)
    assert team.notes[1].read_section("a").overview == "One, by Ann.\n\nTwo."
    team.write(1, "a", "Bob too", "One, by Ann.\n\nTwo, by Bob.")
    team.write(0, "a", "Ann again", "One, by Ann again.\n\nTwo.")
    team.sync(0)
    both(team)
    for which in (0, 1):
        read = team.notes[which].read_section("a")
        assert read.overview == "One, by Ann again.\n\nTwo, by Bob."
        assert read.entry_count == 5


def test_merges_made_crosswise_revert_no_overview(teams):
    """Each merged the other's commit: neither text is taken for the newer one, and both wait."""
    team = teams(("a", "x", "Old.\n\nOld too."))
    team.write(0, "a", "Ann", "Ann's.\n\nOld too.")
    team.write(1, "b", "Bob", "Bob's.")
    team.git(0, "push", "-q", str(team.place(1)), "main:refs/heads/ann")
    team.git(1, "push", "-q", str(team.place(0)), "main:refs/heads/bob")
    team.git(0, "merge", "-q", "--no-edit", "bob")
    team.git(1, "merge", "-q", "--no-edit", "ann")
    team.write(1, "a", "Bob", "Ann's, then Bob's.\n\nOld too.")
    team.write(0, "a", "Ann", "Ann's.\n\nNew.")
    team.write(0, "b", "Ann", "Bob's, then Ann's.")
    assert len(team.git(1, "merge-base", "--all", "main", "ann").split()) == 1
    team.sync(1)
    assert team.sync(0).conflicts == ("a", "b")
    both(team)
    waiting = {x.section: (x.ours, x.theirs) for x in Clashes(team.notes[0]).list_open()}
    assert waiting == {
        "a": ("Ann's.\n\nNew.", "Ann's, then Bob's.\n\nOld too."),
        "b": ("Bob's, then Ann's.", "Bob's."),
    }
    assert [team.notes[0].ledger.count(x) for x in "ab"] == [4, 2]


def test_an_overview_that_two_clones_wrote_alike_names_each_author_once(teams):
    """In the notebook of a space: what one member wrote in both, then what two members did."""
    team = teams(("a", "x", "Old."))
    notes = [team.open(which, owner="space:team") for which in (0, 1)]
    for text, names in (("New.", ("ann", "ann")), ("Newer.", ("ann", "bob"))):
        for which, name in enumerate(names):
            team.tick()
            version = team.version(which, "a")
            with at_work(Member(name=name, may_delete=False)):
                notes[which].write("a", f"{text} {which}", overview=text, base_version=version)
        both(team)
        assert sorted(notes[0].read_section("a").author.split(", ")) == sorted({*names})
    for each in notes:
        each.close()


def test_a_clock_before_the_notebooks_beginning(teams):
    """A teammate's commits are dated a day before the first one: nothing is forgotten or recounted."""
    team = teams(("a", "x", "Known."), *(("a", f"shared {number}") for number in range(4)))
    right = team.now
    team.now -= timedelta(days=1)
    for number in range(4):
        team.write(1, "a" if number % 2 else "b", f"early {number}")
    team.hand(1, "Early by hand", c="C.\n")
    team.sync(1)
    team.now, right = right, team.now
    team.write(0, "a", "later")
    team.sync(0)
    team.now, right = right, team.now
    team.write(1, "b", "later")
    team.sync(1)
    both(team)
    assert [team.notes[0].ledger.count(x) for x in "abc"] == [8, 3, 1]
    assert team.files(1)["a"] == "Known.\n\n" + COUNT.format(8)
    assert team.files(1)["b"] == COUNT.format(3)
    assert team.entries(0) == team.entries(1)
    assert team.git(0, "log", "--format=%s", "--grep=Commonplace: recount") == ""
    head = team.head(0)
    assert team.sync(0).now == team.sync(1).now == head


def test_counts_that_a_union_merge_left(teams):
    """Both lines go from the overview at once, and from the file with the next sync."""
    team = teams(("a", "x", "Known."))
    (team.place(0) / ".git" / "info" / "attributes").write_text("*.md merge=union\n")
    team.write(0, "a", "Ann", "Known.\n\nAnn's.")
    team.write(0, "a", "Ann")
    team.write(1, "a", "Bob", "Known.\n\nBob's.")
    team.sync(1)
    team.git(0, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert (team.place(0) / "a.md").read_text().count("entry count") == 2
    assert "count" not in team.notes[0].read_section("a").overview
    both(team)
    text = team.files(1)["a"]
    assert text.count("entry count") == 1
    assert text.endswith(COUNT.format(4))
    assert "Ann's." in text
    assert "Bob's." in text


def test_a_section_that_may_be_run_stays_so(teams):
    """Its mode is one side's change, like any other."""
    team = teams(("a", "x", "Known.\n\nTwo."))
    (team.place(0) / "a.md").chmod(0o755)
    team.git(0, "add", "a.md")
    team.hand(0, "It runs")
    team.write(1, "a", "Bob", "Known!\n\nTwo.")
    both(team)
    for which in (0, 1):
        assert team.git(which, "ls-tree", "HEAD", "a.md").startswith("100755 ")
        assert os.access(team.place(which) / "a.md", os.X_OK)


def test_a_moved_section_stays_moved_for_a_branch_of_before(teams):
    """What lies beside the move is moved with it; what comes after, under the old name, is not."""
    team = teams(("old", "x", "Known."))
    bob = team.write(1, "old", "Bob")
    team.notes[0].move("old", "new")
    ann = team.write(0, "old", "Begun afterwards", "Of its own.")
    team.sync(0)
    both(team)
    for which in (0, 1):
        notes = team.notes[which]
        assert [x.id for x in notes.list_entries("old")] == [ann]
        assert notes.list_entries("new")[0].id == bob
        assert team.files(which) == {
            "new": "Known.\n\n" + COUNT.format(2),
            "old": "Of its own.\n\n" + COUNT.format(1),
        }
    team.notes[0].close()
    (team.folder / "Ann.db").unlink()
    assert [x.id for x in team.notes[0].list_entries("old")] == [ann]


def test_one_key_in_two_clones_is_two_entries(team):
    """Nothing that was written vanishes, before a sync or after it; in one clone it is one."""
    first = team.write(0, "b", "one", idempotency_key="k")
    assert team.write(0, "b", "one", idempotency_key="k") == first
    second = team.write(1, "b", "two", idempotency_key="k")
    team.write(1, "c", "three", idempotency_key="l")
    both(team)
    team.write(0, "c", "four", idempotency_key="l")
    assert team.write(1, "b", "two", idempotency_key="k") == second
    both(team)
    assert team.entries(0) == team.entries(1)
    assert [x[1] for x in team.entries(0)] == ["one", "two", "three", "four"]


def test_what_a_person_changed_in_a_merge_is_found(teams):
    """A section that neither side touched, and the merge itself did: it is synced like any other."""
    team = teams(("a", "x", "Known."), ("c", "x", "Old."))
    team.write(0, "a", "Ann")
    team.write(1, "b", "Bob")
    team.sync(0)
    team.git(1, "fetch", "-q", "origin")
    team.git(1, "merge", "-q", "--no-commit", "origin/main")
    path = team.place(1) / "c.md"
    path.write_text(path.read_text().replace("Old.", "New."))
    team.git(1, "add", "-A")
    team.git(1, "commit", "-q", "-m", "Merge, and more")
    team.write(0, "c", "Ann")
    both(team)
    assert team.files(0)["c"] == "New.\n\n" + COUNT.format(2)


def test_a_branch_merged_by_hand_is_kept_as_it_is(teams):
    """Several branches at once, with one parent for each: its entries are there once, and counted."""
    team = teams(("a", "x"))
    for name in ("one", "two"):
        team.git(0, "switch", "-q", "-c", name, "main")
        team.write(0, name, f"On {name}")
    team.git(0, "switch", "-q", "main")
    team.write(0, "a", "Ann")
    team.git(0, "merge", "-q", "--no-edit", "one", "two")
    team.write(1, "a", "Bob")
    team.sync(1)
    both(team)
    assert team.files(1) == {
        "a": COUNT.format(3), "one": COUNT.format(1), "two": COUNT.format(1),
    }  # fmt: skip
    assert team.git(1, "rev-list", "--min-parents=3", "--count", "main") == "1\n"


def test_what_was_written_since_is_put_on_a_rewritten_remote(teams):
    """Entries, commits by hand, moves and other files: each once, under the names they have now."""
    team = teams(("a", "x", "Known."), ("a", "secret", "Known, and a secret."))
    team.git(1, "reset", "-q", "--hard", "HEAD~1")
    team.write(1, "b", "Bob")
    team.git(1, "push", "-q", "--force", "origin", "main")
    by_hand = team.hand(0, "By hand", c="C.\n")
    id_ = team.notes[0].read_entry(f"c#{by_hand}").id
    team.notes[0].move("a", "moved")
    ann = team.write(0, "moved", "Ann")
    (team.place(0) / "x.txt").write_text("x")
    team.git(0, "add", "x.txt")
    team.hand(0, "A file")
    accepted = team.sync(0, accept_loss=True)
    assert (accepted.dropped, accepted.sent, accepted.received) == (1, 2, 1)
    both(team)
    for which in (0, 1):
        notes = team.notes[which]
        assert [x[1] for x in team.entries(which)] == ["x", "Bob", "By hand", "Ann"]
        assert notes.read_entry(f"c#{id_}").text == "By hand"
        assert notes.read_entry(f"a#{ann}").section == "moved"
        assert team.files(which) == {
            "moved": "Known.\n\n" + COUNT.format(2),
            "b": COUNT.format(1),
            "c": "C.\n",
        }
        assert (team.place(which) / "x.txt").read_text() == "x"
        assert "secret" not in team.git(which, "log", "-p", "main")
    assert team.notes[0].read_entry(f"c#{by_hand}").id == id_


def test_two_sections_that_a_move_brings_to_a_third(team):
    """Ann's move gives one name to two of Bob's, begun apart: no overview of any is lost."""
    team.write(0, "a", "Ann", "Ann's a.")
    team.notes[0].move("a", "b")
    team.write(1, "a", "Bob in a", "Bob's a.")
    team.write(1, "b", "Bob in b", "Bob's b.")
    team.sync(1)
    team.sync(0)
    both(team)
    waiting = {x.ours for x in Clashes(team.notes[0]).list_open()}
    (text,) = team.files(1).values()
    assert {text.partition("\n")[0]} | waiting == {"Ann's a.", "Bob's a.", "Bob's b."}
    assert [x[0] for x in team.entries(1)] == ["b", "b", "b"]
    assert text.endswith(COUNT.format(3))
