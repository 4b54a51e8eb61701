"""Whatever ignore rules a repository brings, git adds no private note, and the answer says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.repositories import git

from commonplace.core.errors import Denied
from commonplace.journals.private.source import sources_of

NOTE = {"project_notes": "nobody but me"}
TODAY = "2026-11-21"


def staged(folder):
    """The files below a private root that `git add -A` stages."""
    git(folder, "add", "-A")
    names = git(folder, "diff", "--cached", "--name-only", "--diff-filter=A").split("\n")
    return [name for name in names if name.endswith((".md", ".embedding"))]


@pytest.fixture
def repository(world):
    """The world's project as a repository; a function that commits a file there."""
    git(world.project, "init", "-q")

    def commit(name, text):
        path = world.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        git(world.project, "add", "-f", name)
        git(world.project, "commit", "-q", "-m", name)
        return path

    return commit


def exclude(world):
    """What git's own list of ignored files holds."""
    return world.project / ".git" / "info" / "exclude"


def test_a_new_root_ignores_itself(world, repository):
    """Nothing of the repository's is touched, and nothing is said."""
    before = exclude(world).read_text()
    assert world.open().write(NOTE).notes == ()
    assert staged(world.project) == []
    assert exclude(world).read_text() == before


@pytest.mark.parametrize(
    ("name", "rule", "ours"),
    [
        (".private-journal/.gitignore", "!*\n", f"{TODAY}/.gitignore"),
        (".private-journal/2026-11-20/10-00-00-000000.md", "an old day\n", ".gitignore"),
        (".private-journal/.gitignore", "*\n!*.md\n!*/\n", f"{TODAY}/.gitignore"),
    ],
)
def test_a_root_that_git_would_add_is_excluded(world, repository, name, rule, ours):
    """By a `.gitignore` of the root, or of the day where the root has one; the answer names it."""
    repository(name, rule)
    journal = world.open()
    file = world.project_root / ours
    said = f"Git did not ignore {world.project_root}: {file} now keeps your notes out."
    assert journal.write(NOTE).notes == (said,)
    assert journal.write(NOTE).notes == ()
    assert world.open().write(NOTE).notes == ()
    assert staged(world.project) == []


def test_rules_of_the_repository_are_outranked_by_the_day(world, repository):
    """A `.gitignore` of ours in the day folder, which no rule above it can undo."""
    repository(".private-journal/.gitignore", "!*\n")
    repository(".gitignore", "!.private-journal/\n!.private-journal/**\n")
    journal = world.open()
    (note,) = journal.write(NOTE).notes
    assert f"{world.project_root / TODAY / '.gitignore'} now keeps your notes out." in note
    assert journal.write(NOTE).notes == ()
    assert staged(world.project) == []


def test_a_day_that_undoes_every_rule_is_refused(world, repository):
    """Nothing is written there; the error names the file that came with the project."""
    repository(".private-journal/.gitignore", "!*\n")
    file = repository(f".private-journal/{TODAY}/.gitignore", "!*\n")
    repository(".gitignore", "!.private-journal/\n!.private-journal/**\n")
    with pytest.raises(Denied, match="came with the project") as caught:
        world.open().write(NOTE)
    assert str(file) in caught.value.located
    assert staged(world.project) == []
    assert list(world.project_root.rglob("*.md")) == []
    file.unlink()
    assert world.open().write(NOTE).refs


def test_a_day_with_rules_of_its_own_is_outranked_by_the_root(world, repository):
    """Git looks into no folder that is ignored as a whole."""
    repository(f".private-journal/{TODAY}/.gitignore", "!*\n")
    repository(".gitignore", "!.private-journal/\n!.private-journal/**\n")
    assert len(world.open().write(NOTE).notes) == 1
    assert staged(world.project) == []


def test_rules_that_change_are_asked_about_again(world, repository):
    """A branch that is checked out while a server runs."""
    journal = world.open()
    journal.write(NOTE)
    (world.project_root / ".gitignore").write_text("!*\n")
    assert len(journal.write(NOTE).notes) == 1
    assert staged(world.project) == []


def test_a_root_of_any_name_is_excluded(world, repository):
    """Signs that mean something in a rule mean nothing in the name of a folder."""
    odd = world.project / "a [b] *c? \\d"
    odd.mkdir()
    (odd / "x").mkdir()
    journal = world.open(journal_path=str(odd / "x"), journal_base=world.project)
    (odd / "x" / ".gitignore").write_text("!*\n")
    assert len(journal.write(NOTE).notes) == 1
    assert staged(world.project) == []


def test_a_git_file_that_leads_elsewhere_changes_nothing_there(world, repository, tmp_path):
    """Another repository does not know of it: its own list stays, the day folder is hidden."""
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", other)
    before = (other / ".git" / "info" / "exclude").read_text()
    world.project = tmp_path / "lured"
    (world.project / ".private-journal").mkdir(parents=True)
    (world.project / ".private-journal" / ".gitignore").write_text("!*\n")
    (world.project / ".git").write_text(f"gitdir: {other / '.git'}\n")
    (note,) = world.open().write(NOTE).notes
    assert str(world.project / ".private-journal" / TODAY / ".gitignore") in note
    assert (other / ".git" / "info" / "exclude").read_text() == before
    assert staged(world.project) == []


def test_where_git_cannot_say_the_day_is_hidden(world, repository):
    """A list that is a folder makes git fail; what lies in the day folder holds whatever it says."""
    repository(".private-journal/.gitignore", "!*\n")
    exclude(world).unlink()
    exclude(world).mkdir()
    assert world.open().write(NOTE).notes == ()
    exclude(world).rmdir()
    assert staged(world.project) == []


_WRITE = f"""
import sys
from pathlib import Path
from tests.journals.conftest import World
print(*World(Path(sys.argv[1])).open().write({NOTE}).notes)
"""


def test_without_git_nothing_is_asked_and_the_day_is_hidden(world, repository):
    """Another machine's git may look at the folder."""
    repository(".private-journal/.gitignore", "!*\n")
    # A process looks for git once.
    written = subprocess.run(
        [sys.executable, "-c", _WRITE, world.project.parent],
        env={**os.environ, "PATH": str(world.temp)},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )
    assert (written.stdout, written.stderr) == ("\n", "")
    assert list((world.project_root / TODAY).glob("*.md"))
    assert staged(world.project) == []


def test_a_root_that_the_user_named_is_the_users_affair(world, repository):
    """Notes that are meant to be in git: nothing is asked and nothing is written."""
    repository(".private-journal/.gitignore", "!*\n")
    before = exclude(world).read_text()
    assert world.open(journal_path=str(world.project_root)).write(NOTE).notes == ()
    assert exclude(world).read_text() == before
    assert len(staged(world.project)) == 1


def test_no_vector_is_put_beside_an_entry_that_git_would_add(world, repository):
    """A repository's own entries are read and filed, and their folders stay as they are."""
    repository(".private-journal/2026-11-20/10-00-00-000000.md", "## Project Notes\n\nours\n")
    journal = world.open()
    source = sources_of(journal)[1]
    (entry,) = journal.list_entries(limit=9)
    assert (list(source.wanting()), list(source.wanting([entry.ref]))) == ([], [])
    journal.write(NOTE)
    assert len(list(source.wanting())) == 2


def test_doctor_names_the_root_and_repairs_it(world, repository):
    """Afterwards nothing is wrong, and nothing is added."""
    repository(".private-journal/2026-11-20/10-00-00-000000.md", "## Project Notes\n\nours\n")
    (world.project_root / "2026-11-20" / "11-00-00-000000.md").write_text("mine\n")
    world.project_root.chmod(0o700)
    journal = world.open()
    (problem,) = journal.problems()
    assert str(world.project_root) in problem.what
    assert problem.repairable
    assert any(str(world.project_root / ".gitignore") in done for done in journal.repair())
    assert journal.problems() == []
    assert staged(world.project) == []
