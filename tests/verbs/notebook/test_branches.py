"""Other local branches of the notebook: their entries are found, listed, opened and narrowed to."""

from __future__ import annotations

import subprocess
from datetime import timedelta

import pytest
from tests.verbs.notebook_world import NotebookWorld

from commonplace.core.errors import Conflict, NotFound
from commonplace.core.values import Since
from commonplace.journals.notebook.source import NotebookSource


@pytest.fixture
def world(tmp_path):
    """A notebook with an entry on main, and one that only the branch `idea` holds."""
    made = NotebookWorld(tmp_path)
    made.write("api", "REST it is.", days_ago=2)
    git(made, "switch", "-q", "-c", "idea")
    made.write("api", "GraphQL pays after all.", days_ago=1)
    git(made, "switch", "-q", "main")
    yield made
    made.close()


def git(world, *words):
    """What a command of git's prints in the notebook."""
    command = ["git", "-C", str(world.notebook.folder), "-c", "user.name=Wren", *words]
    environment = ["-c", "user.email=wren@example.org"]
    command[3:3] = environment
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def listed(world, path="api", **rest):
    """The summaries of a section's entries, each with its branches."""
    found = world("list_entries", path=path, **rest).facts["entries"]
    return {each["summary"]: each.get("branches") for each in found}


def found(world, content="GraphQL REST", **rest):
    """The summaries that a search finds, each with its branches."""
    facts = world("search", content=content, **rest).facts["results"]
    return {each["summary"]: each.get("branches") for each in facts if each["type"] == "entry"}


BOTH = {"GraphQL pays after all.": ["idea"], "REST it is.": None}


@pytest.mark.design("001-41", "001-63")
def test_entries_of_all_local_branches_are_listed_and_found_with_their_branch(world):
    """Once each; what the notebook's own branch holds bears no name."""
    assert list(listed(world)) == ["GraphQL pays after all.", "REST it is."]
    assert listed(world) == found(world) == BOTH
    (line, _) = world("list_entries", path="api").text.splitlines()
    assert line.endswith(", on branch idea)")


def test_of_one_second_what_rests_on_an_entry_is_the_newer(world):
    """A branch that is made and written within a second: its entry stands above ours."""
    world.write("fields", "camelCase.", days_ago=1)
    git(world, "switch", "-q", "-c", "snake")
    world.write("fields", "snake_case.", days_ago=1)
    newest_first = ["snake_case.", "camelCase."]
    assert list(listed(world, "fields")) == newest_first
    git(world, "switch", "-q", "main")
    assert list(listed(world, "fields")) == list(listed(world, "fields", branch="snake"))
    assert list(listed(world, "fields")) == newest_first
    since = Since(mark=None, stamps=lambda _prefix: {})
    docs = {x.doc.text: x.doc for x in NotebookSource(world.notebook).scan(since)}
    assert docs["snake_case."].turn > docs["camelCase."].turn > 0


def test_an_entry_of_another_branch_is_opened_by_id_and_by_hash(world):
    """Whole, and its branch is named."""
    (first, _) = world("list_entries", path="api").facts["entries"]
    for name in (first["id"], first["hash_id"], first["hash_id"][:12]):
        read = world("read", id=name)
        assert read.facts["content"] == "GraphQL pays after all."
        assert read.facts["branches"] == ["idea"]
        assert ", on branch idea" in read.text


def test_a_branch_narrows_a_list_and_a_search_to_what_it_holds(world):
    """As `git log BRANCH` does: what was there when it parted is on it too."""
    world.write("api", "REST has versions.")
    main = {"REST it is.": None, "REST has versions.": None}
    assert listed(world, branch="main") == found(world, branch="main") == main
    assert listed(world, branch="idea") == found(world, branch="idea") == BOTH
    with pytest.raises(NotFound, match="no branch 'ideal'"):
        listed(world, branch="ideal")
    with pytest.raises(NotFound, match="no branch 'ideal'"):
        found(world, branch="ideal")


def test_the_notebook_may_go_to_the_other_branch(world):
    """What was elsewhere is its own then, and the other way round."""
    world.write("api", "REST has versions.")
    git(world, "switch", "-q", "idea")
    there = {"REST has versions.": ["main"], "GraphQL pays after all.": None, "REST it is.": None}
    assert listed(world) == there
    assert found(world) == there
    git(world, "switch", "-q", "main")
    assert found(world) == {**BOTH, "REST has versions.": None}


def test_a_branch_that_is_deleted_takes_its_entries_out_of_lists_and_index(world):
    """Nothing of it is left to be found."""
    assert found(world) == BOTH
    git(world, "branch", "-q", "-D", "idea")
    assert found(world) == listed(world) == {"REST it is.": None}
    known = world.index.known().stamps("notebook:")
    assert not any(stamp.startswith("branch ") for stamp in known.values())


def test_an_entry_that_several_branches_share_is_there_once(world):
    """It names each branch; after a merge none, being the notebook's own."""
    git(world, "branch", "more", "idea")
    shared = {**BOTH, "GraphQL pays after all.": ["idea", "more"]}
    assert listed(world) == found(world) == shared
    git(world, "merge", "-q", "--no-ff", "-m", "Merge", "idea")
    own = dict.fromkeys(BOTH)
    assert listed(world) == found(world) == own
    git(world, "reset", "-q", "--hard", "HEAD^")
    assert listed(world) == found(world) == shared


def test_a_copy_on_another_branch_is_the_same_entry(world):
    """A cherry-pick is there once, and on both branches."""
    git(world, "cherry-pick", "-n", "idea")
    git(world, "commit", "-q", "-C", "idea")
    own = dict.fromkeys(BOTH)
    assert listed(world) == found(world) == own
    assert listed(world, branch="idea") == found(world, branch="idea") == own


def test_a_branch_of_another_work_tree_is_followed(world, tmp_path):
    """What is committed there is found here at the next search."""
    assert found(world) == BOTH
    git(world, "worktree", "add", "-q", str(tmp_path / "tree"), "idea")
    (tmp_path / "tree" / "api.md").write_text("GraphQL\n")
    tree = ["git", "-C", str(tmp_path / "tree"), "-c", "user.name=Ann", "-c", "user.email=a@b"]
    subprocess.run([*tree, "commit", "-qam", "GraphQL has a schema."], check=True)
    expected = {**BOTH, "GraphQL has a schema.": ["idea"]}
    assert found(world) == listed(world) == expected


def test_a_detached_head_still_finds_what_the_branches_hold(world):
    """Where the notebook is on no branch, all of them are others."""
    git(world, "switch", "-q", "--detach", "main")
    assert listed(world) == found(world) == BOTH
    assert listed(world, branch="main") == {"REST it is.": None}


def test_a_section_of_another_branch_alone_is_listed(world):
    """Though the notebook's own branch has no file of it."""
    git(world, "switch", "-q", "idea")
    world.write("web/forms", "Forms post JSON.")
    git(world, "switch", "-q", "main")
    assert listed(world, path="web/forms") == {"Forms post JSON.": ["idea"]}
    with pytest.raises(NotFound):
        listed(world, path="web/pages")


def test_what_is_written_of_another_branchs_entry_waits_until_the_notebook_is_there(world):
    """It would go to the wrong branch; the hint has both ways."""
    (first, _) = world("list_entries", path="api").facts["entries"]
    ref = f"notebook:{first['id']}"
    with pytest.raises(Conflict, match="on the branch idea") as refused:
        world("write", path="api", entry="No.", supersedes=ref)
    assert "notebook switch idea" in refused.value.hint
    with pytest.raises(Conflict, match="on the branch idea"):
        world.notebook.take_back(first["id"])
    with pytest.raises(Conflict, match="on the branch idea"):
        world.notebook.set_end(first["id"], world.clock() + timedelta(days=1))


def test_what_another_branch_replaced_still_holds_here(world):
    """The notebook's own branch did not replace it; among its own the branch's word counts."""
    git(world, "switch", "-q", "idea")
    (new, old) = world("list_entries", path="api").facts["entries"]
    world("write", path="api", entry="GraphQL with REST.", supersedes=f"notebook:{old['id']}")
    world("write", path="api", entry="GraphQL it stays.", supersedes=f"notebook:{new['id']}")
    git(world, "switch", "-q", "main")
    replaced = {
        each["summary"]: bool(each.get("replaced_by"))
        for each in world("search", content="GraphQL REST").facts["results"]
        if each["type"] == "entry"
    }
    assert replaced["REST it is."] is False
    assert replaced["GraphQL pays after all."] is True


def test_an_entry_of_another_branch_expires(world):
    """By its own word or by a later commit of its branch; no list and no search shows it then."""
    git(world, "switch", "-q", "idea")
    end = world.clock() + timedelta(hours=1)
    world.notebook.write("api", "GraphQL for an hour.", expires=end)
    (entry, _, _) = world("list_entries", path="api").facts["entries"]
    later = world.write("api", "GraphQL for two.")
    world.notebook.set_end(later, end + timedelta(hours=1))
    git(world, "switch", "-q", "main")
    assert len(found(world)) == 4
    world.clock.advance(3_601)
    assert set(listed(world)) == {*BOTH, "GraphQL for two."} == set(found(world))
    with pytest.raises(NotFound, match="expired"):
        world("read", id=entry["id"])
    world.clock.advance(3_600)
    assert set(listed(world)) == {*BOTH} == set(found(world))


def test_a_section_that_another_branch_moved_has_its_new_name_there(world):
    """An entry has the name that its branch gives its section."""
    git(world, "switch", "-q", "idea")
    world.notebook.move("api", "http")
    git(world, "switch", "-q", "main")
    assert listed(world, path="http") == {"GraphQL pays after all.": ["idea"]}
    assert listed(world) == {"REST it is.": None}
    assert found(world) == BOTH


def test_what_was_known_then_covers_other_branches(world):
    """`as_of` counts what was written down by then, on whatever branch."""
    assert found(world, as_of="2026-11-20") == {"REST it is.": None}
    assert found(world, as_of="2026-11-21") == BOTH


def test_a_branch_that_lacks_an_object_hides_nothing_of_the_others(world):
    """Its tip, or a tree below it, is gone, as after a power cut; what comes later is found."""
    git(world, "switch", "-q", "-c", "torn")
    (world.notebook.folder / "other.txt").write_text("Lost with the disk.")
    git(world, "add", "other.txt")
    git(world, "commit", "-q", "-m", "Torn.")
    tree = git(world, "rev-parse", "HEAD^{tree}")
    git(world, "switch", "-q", "main")
    folder = world.notebook.repo.common_dir
    (folder / "objects" / tree[:2] / tree[2:]).unlink()
    (folder / "refs" / "heads" / "gone").write_text(f"{'1' * 40}\n")
    assert listed(world) == BOTH
    assert found(world) == BOTH
    world.write("api", "REST stays.")
    assert found(world) == {**BOTH, "REST stays.": None}
    git(world, "branch", "later", "main~")
    git(world, "branch", "-q", "-D", "idea")
    assert listed(world) == {"REST it is.": None, "REST stays.": None}
    for name in ("gone", "torn"):
        (folder / "refs" / "heads" / name).unlink()
    git(world, "reflog", "expire", "--expire=now", "--all")
    git(world, "gc", "-q", "--prune=now")
