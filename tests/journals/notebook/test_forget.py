"""Entries leave a notebook's history: what other clones and open questions have to do with it."""

from __future__ import annotations

import os
import subprocess
from datetime import timedelta

import pytest

from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.journals.notebook.forget import NotebookHistory
from commonplace.journals.notebook.format import ref_of
from commonplace.journals.notebook.sync_checks import BACKUPS
from commonplace.verbs.forgetting.shingles import cutter, shingles_of

SECRET = "The blue door behind the bakery opens with four seven one one, Ann said so to me."


def forget(team, which, entry, *, keep_days=0):
    """Take an entry of the door out of one clone's history, or its overview for an empty one."""
    history = NotebookHistory(team.notes[which])
    until = team.now + timedelta(days=keep_days) if keep_days else None
    return history.forget([ref_of("door", entry)], cutter(shingles_of(SECRET)), keep_until=until)


def holds(team, which, text):
    """Whether any object of a clone holds a text, whatever leads to it."""
    asked = ["git", "-C", str(team.place(which)), "cat-file", "--batch-all-objects", "--batch"]
    return text.encode() in subprocess.run(asked, capture_output=True, check=True).stdout


def sign(team, which):
    """Give the newest commit of a clone a signature; its new hash."""
    head, _, message = team.git(which, "cat-file", "commit", "HEAD").partition("\n\n")
    place = team.folder / "signed"
    place.write_text(f"{head}\ngpgsig -----BEGIN\n abcd\n -----END\n\n{message}", "utf-8")
    name = team.git(which, "hash-object", "-t", "commit", "-w", str(place)).strip()
    team.git(which, "update-ref", "HEAD", name)
    return name


def test_another_clone_takes_the_new_history(teams):
    """It is refused at first, as any that was rewritten; what it alone wrote meanwhile is kept."""
    team = teams(("door", SECRET, f"# Door\n\n{SECRET}\n"), ("door", "It is blue."))
    entry, _ = team.ids
    own = team.write(1, "garden", "Bob planted a pear tree.")
    (note,) = forget(team, 0, entry)
    assert "git push --force origin main" in note.replace(f"-C {team.place(0)} ", "")
    with pytest.raises(Conflict, match="forgotten here"):
        team.sync(0)
    team.git(0, "push", "-q", "--force", "origin", "main")
    with pytest.raises(Conflict):
        team.sync(1)
    team.sync(1, accept_loss=True)
    team.sync(0)
    assert team.head(0) == team.head(1) == team.remote_head()
    for which in (0, 1):
        said = team.git(which, "log", "-p", "HEAD")
        assert "bakery" not in said
        assert own in said
        assert "It is blue." in said


def test_what_waits_to_be_settled_goes_first(teams):
    """An overview of both sides may say it: nothing is rewritten until that is settled."""
    team = teams(("door", SECRET, "# Door\n\nRed.\n"))
    (entry,) = team.ids
    team.write(0, "door", "a", "# Door\n\nGreen.\n")
    team.write(1, "door", "b", "# Door\n\nTeal.\n")
    team.sync(0)
    team.sync(1)
    head = team.head(1)
    with pytest.raises(Conflict, match="wait to be settled"):
        forget(team, 1, entry)
    assert team.head(1) == head


def test_a_merge_is_ended_first(team):
    """What it is about to commit may hold the text: nothing is rewritten, and it goes on."""
    team.write(0, "garden", "It is dry.", "# Garden\n")
    team.git(0, "branch", "side")
    entry = team.write(0, "door", SECRET)
    team.git(0, "switch", "-q", "side")
    team.hand(0, "Side", garden="# Garden\n\nWet.\n")
    team.git(0, "switch", "-q", "main")
    team.git(0, "merge", "-q", "--no-commit", "--no-ff", "side")
    head = team.head(0)
    with pytest.raises(Conflict, match="in the middle of a merge"):
        forget(team, 0, entry)
    assert team.head(0) == head
    team.git(0, "commit", "-qm", "Both")
    forget(team, 0, entry)
    assert not holds(team, 0, "bakery")


def test_what_a_person_commits_meanwhile_stays(team):
    """The branches were built from what they were before: nothing is moved."""
    entry = team.write(0, "door", SECRET)
    cut, made = cutter(shingles_of(SECRET)), []

    def meanwhile(content):
        if not made:
            (team.place(0) / "mine.txt").write_text("mine")
            team.git(0, "add", "mine.txt")
            team.git(0, "commit", "-q", "-m", "Mine.")
            made.append(team.head(0))
        return cut(content)

    history = NotebookHistory(team.notes[0])
    with pytest.raises(CommonplaceError):
        history.forget([ref_of("door", entry)], meanwhile, keep_until=None)
    assert [team.head(0)] == made
    assert (team.place(0) / "mine.txt").read_text() == "mine"
    forget(team, 0, entry)
    assert not holds(team, 0, "bakery")
    assert team.git(0, "log", "-1", "--format=%s", "main") == "Mine.\n"


def test_a_tag_is_named_and_stays(team):
    """What a person has put there is theirs."""
    entry = team.write(0, "door", SECRET)
    team.git(0, "tag", "opening-day")
    notes = forget(team, 0, entry)
    assert any("refs/tags/opening-day" in each for each in notes)
    assert "bakery" in team.git(0, "log", "opening-day")
    assert "bakery" not in team.git(0, "log", "main")


def test_a_tag_that_does_not_lead_to_it_is_not_named(team):
    """One of before the entry holds none of it."""
    team.write(0, "door", "It is blue.")
    team.git(0, "tag", "opening-day")
    (note,) = forget(team, 0, team.write(0, "door", SECRET))
    assert note.startswith("The remote origin may still have it: ")


def test_what_was_before_the_entry_stays_what_it_is(team):
    """A signed commit keeps its hash, and so its signature."""
    team.write(0, "door", "It is blue.")
    signed = sign(team, 0)
    forget(team, 0, team.write(0, "door", SECRET))
    assert signed in team.git(0, "log", "--format=%H")
    assert not holds(team, 0, "bakery")


def test_stashes_stay(team):
    """Each of them; one that leads to the former history is named, wherever it is in the stack."""
    entry = team.write(0, "door", SECRET)
    team.write(0, "lamp", "It is lit.", "# Lamp\n")
    for text in ("one", "two"):
        (team.place(0) / "lamp.md").write_text(text)
        team.git(0, "stash", "-q")
    notes = forget(team, 0, entry)
    assert "These lead to the former history too, and are yours to remove: refs/stash." in notes
    for text in ("two", "one"):
        team.git(0, "checkout", "-q", "--", ".")
        team.git(0, "stash", "pop", "-q")
        assert (team.place(0) / "lamp.md").read_text() == text
    assert not any("refs/stash" in each for each in forget(team, 0, team.write(0, "door", SECRET)))


@pytest.mark.parametrize("how", ["-b side", "--detach"])
def test_another_work_tree_is_not_left_behind(team, how):
    """Its next commit would bring the text back: it is refused, and the work tree is named."""
    entry = team.write(0, "door", SECRET, f"# Door\n\n{SECRET}\n")
    place = team.folder / "a side"
    team.git(0, "worktree", "add", "-q", *how.split(), str(place))
    head = team.head(0)
    with pytest.raises(Conflict, match="a side' is on a commit that would change"):
        forget(team, 0, entry)
    assert team.head(0) == head
    team.git(0, "worktree", "remove", str(place))
    forget(team, 0, entry)
    assert not holds(team, 0, "bakery")


def test_an_overview_is_not_brought_back(teams):
    """Where no entry went either, a sync with the former history is refused."""
    team = teams(("door", "It is blue.", f"# Door\n\n{SECRET}\n"))
    forget(team, 0, "")
    with pytest.raises(Conflict, match="forgotten here"):
        team.sync(0)


def test_a_refused_sync_leaves_nothing_of_it(teams):
    """What was fetched, to see what the remote has, goes again."""
    team = teams(("door", SECRET))
    (entry,) = team.ids
    forget(team, 0, entry)
    with pytest.raises(Conflict, match="forgotten here"):
        team.sync(0)
    assert not holds(team, 0, "bakery")


def test_what_was_taken_back_is_synced_again(teams):
    """A reset to the former branch; it was never forgotten then."""
    team = teams(("door", SECRET))
    (entry,) = team.ids
    forget(team, 0, entry, keep_days=3)
    kept = team.git(0, "for-each-ref", "--format=%(refname)", BACKUPS).strip()
    team.git(0, "reset", "-q", "--hard", kept)
    team.sync(0)
    assert team.head(0) == team.remote_head()


def test_only_what_the_remote_had_is_to_be_pushed(teams):
    """A branch that is here alone stays here; one that is only there is named."""
    team = teams(("door", SECRET))
    (entry,) = team.ids
    team.git(0, "branch", "mine-alone")
    team.git(0, "push", "-q", "origin", "main:theirs")
    (note,) = forget(team, 0, entry)
    assert "push --force origin main;" in note
    assert note.endswith("Remove the branches there that are not here: theirs.")


def test_what_an_earlier_call_kept_goes_with_it(team):
    """Where nothing is to be kept, nothing is: the earlier history held this entry as well."""
    first = team.write(0, "door", SECRET)
    second = team.write(0, "door", "Something else that all of us want to be gone at once.")
    forget(team, 0, first, keep_days=3)
    forget(team, 0, second)
    assert NotebookHistory(team.notes[0]).list_ends() == []
    assert not holds(team, 0, "bakery")
    assert not holds(team, 0, "Something else")


def test_what_is_in_odd_files_and_in_a_merge_goes(team):
    """A name that is not UTF-8, lines of Windows, a branch and a merge whose message says it."""
    entry = team.write(0, "door", SECRET)
    odd = os.path.join(os.fsencode(team.place(0)), b'caf\xe9 "q"\nx.md')
    with open(odd, "wb") as file:
        file.write(SECRET.replace(" ", "\r\n").encode() + b"\r\nMore.\r\n")
    team.git(0, "add", "-A")
    team.git(0, "commit", "-qm", "An odd file")
    team.git(0, "checkout", "-q", "-b", "sid\u00e9", "HEAD~1")
    team.write(0, "lamp", "It is lit.")
    team.git(0, "checkout", "-q", "main")
    team.git(0, "merge", "-q", "--no-ff", "-m", SECRET, "sid\u00e9")
    forget(team, 0, entry)
    assert team.git(0, "status", "--porcelain") == ""
    with open(odd, "rb") as file:
        assert file.read() == b"[forgotten]\r\nMore.\r\n"
    said = team.git(0, "log", "--all", "-p")
    assert "It is lit." in said
    assert said.count("bakery") == 1  # the merge was not named


def test_a_merge_that_is_not_finished_is_waited_for(team):
    """And a head that is on no branch: neither would follow."""
    entry = team.write(0, "door", SECRET, "# Door\n")
    team.git(0, "checkout", "-q", "-b", "side")
    team.hand(0, "one", door="one\n")
    team.git(0, "checkout", "-q", "main")
    team.hand(0, "two", door="two\n")
    team.git(0, "merge", "-q", "side", check=False)
    with pytest.raises(Conflict, match="in the middle of a merge"):
        forget(team, 0, entry)
    team.git(0, "merge", "--abort")
    team.git(0, "checkout", "-q", "--detach")
    with pytest.raises(Conflict, match="on no branch"):
        forget(team, 0, entry)


def test_what_the_other_clone_made_of_it_stays_out(teams):
    """Its overview has a line more in one place, and the text itself changed in another."""
    team = teams(("door", SECRET, f"# Door\n\n{SECRET}\n"))
    (entry,) = team.ids
    own = team.write(1, "door", "Bob painted it.", f"# Door\n\nPS: {SECRET} So?\n\nPainted.\n")
    forget(team, 0, entry)
    team.git(0, "push", "-q", "--force", "origin", "main")
    team.sync(1, accept_loss=True)
    team.sync(0)
    said = team.git(0, "log", "-p", "HEAD")
    assert own in said
    assert "bakery" not in said
