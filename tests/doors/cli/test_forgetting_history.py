"""`forget --rewrite-history`: an entry of the notebook leaves every commit of every branch."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from tests.doors.cli.test_expiring import book, let_expire
from tests.doors.homes import filled
from tests.doors.killing import killed_before
from tests.doors.terminal import facts, opened_app, run, write

from commonplace.core.errors import Conflict

SECRET = "The blue door behind the bakery opens with four seven one one, Ann said so to me."
AT_ONCE = ("--rewrite-history", "--keep-days", "0", "--yes")
BACKUPS = "refs/commonplace/before-forgetting"


def git(*words, at=None):
    """What git prints in the notebook's folder."""
    command = ["git", "-C", str(at or folder()), *words]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)
    return done.stdout


def folder():
    """The notebook's."""
    app = opened_app()
    try:
        return app.notebook.journal.folder
    finally:
        app.close()


def all_objects(at=None):
    """What every object of the repository holds, whether anything leads to it or not."""
    return git("cat-file", "--batch-all-objects", "--batch", at=at)


def holders(text):
    """The files below the home that hold the text."""
    files = [path for path in Path.home().rglob("*") if path.is_file()]
    return [str(path) for path in files if text.encode() in path.read_bytes()]


def opened(ref):
    """What an entry says, and when it was."""
    shown = facts("open", ref)
    return shown["text"], shown["at"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the home that most tests begin with is kept."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def written(no_weights, tmp_path, kept):
    """The refs of three entries of which the second says it, as its overview does."""
    return filled(kept, tmp_path, write_three)


def write_three():
    """Write the three; their refs."""
    refs = [facts("notebook", "write", "api", "First: the API answers.")["ref"]]
    overview = f"# Api\n\nIt answers.\n\n{SECRET}\n"
    refs.append(facts("notebook", "write", "api", SECRET, "--overview", overview)["ref"])
    refs.append(facts("notebook", "write", "web/pages", "Third: a page is there.")["ref"])
    run("recall", "bakery")
    return refs


def test_no_object_holds_it(written):
    """It leaves the commit and every version of the overview; all other entries are as they were."""
    first, ref, third = written
    before = [opened(each) for each in (first, third)]
    proof = facts("forget", ref, *AT_ONCE)
    assert [item["ref"] for item in proof["items"]] == [ref]
    assert proof["made_again"] == ["notebook:api"]
    assert proof["clean"]
    assert proof["found"] == []
    assert "bakery" not in all_objects()
    assert holders("bakery") == []
    assert run("open", ref).exit_code == 3
    assert [opened(each) for each in (first, third)] == before
    assert facts("notebook", "read", "api")["overview"] == "# Api\n\nIt answers.\n\n[forgotten]"
    assert all("bakery" not in each["text"] for each in facts("recall", "bakery door")["items"])
    assert git("status", "--porcelain") == ""
    assert git("fsck", "--strict", "--no-dangling") == ""


def test_what_it_replaced_stays_replaced(no_weights):
    """What was replaced does not hold again because its successor left the history."""
    old = facts("notebook", "write", "api", "The API listens on port 8000.")["ref"]
    new = facts("notebook", "write", "api", SECRET, "--supersedes", old)["ref"]
    facts("forget", new, *AT_ONCE)
    assert facts("open", old)["replaced"]
    (found,) = facts("recall", "port 8000")["items"]
    assert found["replaced_by"]["ref"] == ""


@pytest.mark.parametrize("gone", [(1,), (2,), (1, 2), (2, 1)], ids=str)
def test_what_followed_it_takes_the_place_of_what_it_had_replaced(no_weights, gone):
    """The rest of a chain closes up, in the list, the index and the history."""
    refs = [facts("notebook", "write", "api", "The API listens on port 8000.")["ref"]]
    texts = (SECRET, f"Again: {SECRET}", "The API listens on port 9000.")
    for text in texts:
        refs.append(facts("notebook", "write", "api", text, "--supersedes", refs[-1])["ref"])
    run("recall", "port")
    facts("forget", *(refs[which] for which in gone), *AT_ONCE)
    left = [ref for number, ref in enumerate(refs) if number not in gone]
    for former, successor in pairwise(left):
        assert facts("open", former)["superseded_by"] == successor
        assert facts("open", successor)["supersedes"] == former
    assert facts("open", left[-1])["superseded_by"] == ""
    found = {each["ref"]: each for each in facts("recall", "port 8000")["items"]}
    assert found[refs[0]]["replaced_by"]["ref"] == refs[-1]
    said = git("log", "--format=%B")
    assert all(refs[which].rpartition("#")[2] not in said for which in gone)


def test_what_followed_the_first_of_a_chain_replaces_nothing(no_weights):
    """Its commit names no entry that is gone; trailers of other programs stay."""
    old = facts("notebook", "write", "api", SECRET)["ref"]
    new = facts("notebook", "write", "api", "The API is back.", "--supersedes", old)["ref"]
    ann = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    reviewed = ("--trailer", "Reviewed-by: Ann <ann@example.org>")
    git(*ann, "commit", "-q", "--amend", "--no-edit", *reviewed)
    facts("forget", old, *AT_ONCE)
    shown = facts("open", new)
    assert (shown["supersedes"], shown["text"]) == ("", "The API is back.")
    said = git("log", "-1", "--format=%B")
    assert "Supersedes" not in said
    assert "Reviewed-by: Ann <ann@example.org>" in said


def test_the_history_before_is_kept_for_a_while(written):
    """So that it can be taken back; a command after that time removes it for good."""
    _, ref, _ = written
    head = git("rev-parse", "HEAD").strip()
    proof = facts("forget", ref, "--rewrite-history", "--yes")
    assert "The notebook's former history is kept for 14 days." in proof["stays"]
    (found,) = proof["found"]
    assert "the former history, kept until" in found["refs"][0]
    assert proof["clean"]
    kept, name = git("for-each-ref", "--format=%(objectname) %(refname)", BACKUPS).split()
    assert kept == head
    let_expire()
    run("list")
    assert git("rev-parse", name).strip() == head  # its own time has not come
    assert min(json.loads(book().read_text("utf-8")).values()) > 1
    git("update-ref", f"{BACKUPS}/1/main", head)
    git("update-ref", "-d", name)
    let_expire()
    run("list")
    assert git("for-each-ref", BACKUPS) == ""
    assert "bakery" not in all_objects()
    assert json.loads(book().read_text("utf-8")) == {}


def test_it_is_taken_back(written):
    """A reset to the former branch brings everything again, and nothing undoes that."""
    _, ref, _ = written
    before = opened(ref)
    facts("forget", ref, "--rewrite-history", "--yes")
    assert run("open", ref).exit_code == 3
    name = git("for-each-ref", "--format=%(refname)", BACKUPS).strip()
    git("reset", "-q", "--hard", name)
    facts("notebook", "write", "api", "Fourth.")
    assert opened(ref) == before
    assert "bakery" in facts("notebook", "read", "api")["overview"]


def test_without_it_an_entry_is_refused(written):
    """Nothing goes; the refusal says how it would."""
    _, ref, _ = written
    done = run("forget", ref, "--yes")
    assert done.exit_code == 1
    assert "--rewrite-history" in done.stderr
    assert run("open", ref).exit_code == 0


def test_a_dry_run_rewrites_nothing(written):
    """It names the overview that would say it no more."""
    _, ref, _ = written
    head = git("rev-parse", "HEAD")
    planned = facts("forget", ref, "--rewrite-history", "--dry-run")
    assert planned["made_again"] == ["notebook:api"]
    assert git("rev-parse", "HEAD") == head


def test_an_overview_leaves_every_version(written):
    """Of one that was written over, the commits before it have none of its words either."""
    proof = facts("forget", "notebook:api", *AT_ONCE)
    assert "bakery" not in git("log", "--all", "-p", "--format=%h", "--", "api.md")
    assert run("notebook", "read", "api").exit_code in {0, 3}
    assert all("api.md" not in each["place"] for each in proof["found"])


def test_a_commit_by_hand_goes(written):
    """Its message is forgotten; the file that it added stays, but for the words."""
    place = folder() / "cellar.md"
    place.write_text(f"# Cellar\n\n{SECRET}\n\nIt is dry.\n", "utf-8")
    git("add", "-A")
    git("-c", "user.name=A", "-c", "user.email=a@x.org", "commit", "-qm", SECRET)
    listed = [item["ref"] for item in facts("list", "-j", "notebook")["items"]]
    (ref,) = [each for each in listed if each.startswith("notebook:cellar#")]
    proof = facts("forget", ref, *AT_ONCE)
    assert run("open", ref).exit_code == 3
    assert place.read_text("utf-8") == "# Cellar\n\n[forgotten]\n\nIt is dry.\n"
    # The entry of before still says the same words: it was not named.
    assert proof["clean"]
    assert len(proof["same_words"]) == 1


def test_other_branches_are_made_anew_too(written):
    """One that was begun after the entry, and one before it, which stays as it is."""
    first, ref, _ = written
    old = git("rev-list", "--max-parents=0", "HEAD").strip()
    git("branch", "old", old)
    git("branch", "later")
    facts("forget", ref, *AT_ONCE)
    assert git("rev-parse", "old").strip() == old
    assert git("rev-parse", "later") == git("rev-parse", "HEAD")
    assert "bakery" not in all_objects()
    assert run("open", first).exit_code == 0


def test_an_edit_that_is_not_committed_is_kept(written):
    """Where it is in the way nothing happens at all, and the file is named."""
    _, ref, _ = written
    head = git("rev-parse", "HEAD")
    place = folder() / "api.md"
    edited = place.read_text("utf-8") + "\nMine.\n"
    place.write_text(edited, "utf-8")
    done = run("forget", ref, *AT_ONCE)
    assert done.exit_code != 0
    assert "api.md" in done.stderr
    assert place.read_text("utf-8") == edited
    assert git("rev-parse", "HEAD") == head
    assert run("open", ref).exit_code == 0
    git("checkout", "--", "api.md")
    assert facts("forget", ref, *AT_ONCE)["clean"]


MOMENTS = {
    "the commits are made": ("subprocess.Popen", "commonplace forget"),
    "the branches have moved": ("os.rename", ".git/commonplace-index"),
    "all is swept": ("os.remove", "pending.json"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_one_that_is_killed_is_finished(written, counted, moment):
    """Once the new commits are made, once the branches have moved, and once all is swept."""
    counted("a rewriting of the notebook's history, killed", 1)
    first, ref, _ = written
    killed_before(*MOMENTS[moment], "forget", ref, *AT_ONCE)
    assert "An earlier forgetting of 1 entry was finished." in run("forget").stdout
    assert "bakery" not in all_objects()
    assert holders("bakery") == []
    assert git("status", "--porcelain") == ""
    assert run("open", first).exit_code == 0
    assert run("open", ref).exit_code == 3


def test_a_remote_is_named_and_does_not_bring_it_back(written, tmp_path):
    """A sync is refused until its history is put in the place of the remote's; then all is well."""
    bare = tmp_path / "meeting.git"
    git("init", "-q", "--bare", "-b", "main", str(bare), at=tmp_path)
    first, ref, _ = written
    git("remote", "add", "origin", str(bare))
    assert run("notebook", "sync").exit_code == 0
    proof = facts("forget", ref, *AT_ONCE)
    (note,) = [each for each in proof["notes"] if "The remote origin still has it" in each]
    assert "push --force origin main" in note
    assert "bakery" not in all_objects()
    refused = run("notebook", "sync")
    assert refused.exit_code == 4
    assert "still has what was forgotten here" in refused.stderr
    git("push", "-q", "--force", "origin", "main")
    assert run("notebook", "sync").exit_code == 0
    assert run("open", first).exit_code == 0
    assert run("open", ref).exit_code == 3
    assert "bakery" not in git("log", "--all", "-p", at=bare)


def test_a_notebook_that_was_moved_leaves_nothing_behind(no_weights, tmp_path, monkeypatch):
    """What was derived from it in its former place holds the entry's first line no more."""
    run("notebook", "init", str(tmp_path / "old"))
    monkeypatch.setenv("COMMONPLACE_NOTEBOOK", str(tmp_path / "old"))
    ref = write_three()[1]
    (tmp_path / "old").rename(tmp_path / "new")
    monkeypatch.setenv("COMMONPLACE_NOTEBOOK", str(tmp_path / "new"))
    assert facts("forget", ref, *AT_ONCE)["clean"]
    assert holders("bakery") == []


def test_what_else_is_named_goes_with_it(written):
    """A note of the same words, named beside the entry."""
    note = write(SECRET)
    _, ref, _ = written
    assert facts("forget", ref, note, *AT_ONCE)["clean"]
    assert holders("bakery") == []
    assert run("open", note).exit_code == 3


@pytest.mark.parametrize("days", ["-1", "4000", "soon"])
def test_days_are_a_number(no_weights, days):
    """Between none and ten years."""
    assert run("forget", "x", "--rewrite-history", "--keep-days", days).exit_code == 2


def test_an_overview_that_changed_since_is_kept(written):
    """The plan is of one moment: nothing goes that its reader did not see."""
    app = opened_app()
    try:
        service = app.forgetting()
        plan = service.plan(["notebook:api"], kept_days=0)
        changed = "# Api\n\nIt answers, and has a second page by now.\n"
        base = facts("notebook", "read", "api")["version"]
        words = ("--overview", changed, "--base-version", base)
        facts("notebook", "write", "api", "Fourth.", *words)
        with pytest.raises(Conflict, match="has changed since it was read"):
            service.carry_out(plan)
    finally:
        app.close()
    assert "second page" in facts("notebook", "read", "api")["overview"]


def test_what_is_kept_of_an_earlier_call_is_said(written):
    """It holds the entry as well: until its end, or it goes at once."""
    first, ref, _ = written
    facts("forget", ref, "--rewrite-history", "--keep-days", "30", "--yes")
    asked = ("forget", first, "--rewrite-history", "--dry-run", "--keep-days")
    until = facts(*asked, "3")["stays"]
    assert until[0].startswith(
        "The notebook's former history is kept for 3 days; one of an earlier"
    )
    assert "goes too" in facts(*asked, "0")["stays"][0]
    facts("forget", first, *AT_ONCE)
    assert git("for-each-ref", BACKUPS) == ""
    assert "bakery" not in all_objects()


def test_who_finishes_a_killed_one_is_told_of_the_remote(written, tmp_path):
    """It still has the entry, and the process that would have said so is dead."""
    _, ref, _ = written
    git("init", "-q", "--bare", "-b", "main", str(tmp_path / "meeting.git"), at=tmp_path)
    git("remote", "add", "origin", str(tmp_path / "meeting.git"))
    assert run("notebook", "sync").exit_code == 0
    killed_before(*MOMENTS["the branches have moved"], "forget", ref, *AT_ONCE)
    assert "push --force origin main" in run("forget").stdout
