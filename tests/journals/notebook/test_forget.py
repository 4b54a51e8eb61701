"""Entries leave a notebook's history: what other clones and open questions have to do with it."""

from __future__ import annotations

import pytest
from tests.journals.notebook.team import Team

from commonplace.core.errors import Conflict
from commonplace.journals.notebook.forget import NotebookHistory
from commonplace.journals.notebook.format import ref_of
from commonplace.services.forgetting.pieces import cutter, pieces_of

SECRET = "The blue door behind the bakery opens with four seven one one, Ann said so to me."


@pytest.fixture
def team(tmp_path):
    """Ann and Bob."""
    team = Team(tmp_path)
    yield team
    team.close()


def forget(team, which, entry, section="door"):
    """Take an entry out of one clone's history, at once."""
    history = NotebookHistory(team.notes[which])
    return history.forget([ref_of(section, entry)], cutter(pieces_of(SECRET)), keep_until=None)


def test_another_clone_takes_the_new_history(team):
    """It is refused at first, as any that was rewritten; what it alone wrote meanwhile is kept."""
    entry = team.write(0, "door", SECRET, f"# Door\n\n{SECRET}\n")
    team.write(0, "door", "It is blue.")
    team.sync(0)
    team.sync(1)
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


def test_what_waits_to_be_settled_goes_first(team):
    """An overview of both sides may say it: nothing is rewritten until that is settled."""
    entry = team.write(0, "door", SECRET, "# Door\n\nRed.\n")
    team.sync(0)
    team.sync(1)
    team.write(0, "door", "a", "# Door\n\nGreen.\n")
    team.write(1, "door", "b", "# Door\n\nTeal.\n")
    team.sync(0)
    team.sync(1)
    head = team.head(1)
    with pytest.raises(Conflict, match="wait to be settled"):
        forget(team, 1, entry)
    assert team.head(1) == head


def test_a_tag_is_named_and_stays(team):
    """What a person has put there is theirs."""
    entry = team.write(0, "door", SECRET)
    team.git(0, "tag", "opening-day")
    notes = forget(team, 0, entry)
    assert any("refs/tags/opening-day" in each for each in notes)
    assert "bakery" in team.git(0, "log", "opening-day")
    assert "bakery" not in team.git(0, "log", "main")
