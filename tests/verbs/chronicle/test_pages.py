"""Chronicle's resources and prompts: pages of what the log holds now, texts to begin with."""

from __future__ import annotations

import json
import re

import pytest
from tests.verbs.chronicle_world import ChronicleWorld


@pytest.fixture
def world(tmp_path):
    """One user's chronicle, and the project it is asked in."""
    opened = ChronicleWorld(tmp_path / "home", tmp_path / "project")
    yield opened
    opened.close()


@pytest.mark.design("004-27")
def test_recent_activity_is_the_last_ten(world):
    """As JSON, newest first, with everything known."""
    world.log(*((f"2026-11-20 10:{n:02}", f"entry {n}") for n in range(12)))
    page = json.loads(world.page("recent-activity"))
    assert [entry["message"] for entry in page["entries"]] == [
        f"entry {n}" for n in range(11, 1, -1)
    ]
    assert page["entries"] == world("list_entries").facts["entries"]


@pytest.mark.design("004-28")
def test_tags_go_by_frequency_then_name(world):
    """Spellings that differ in case count as one."""
    world.log(
        ("2026-11-21 10:00", "a", "zoo b"),
        ("2026-11-21 10:01", "b", "Zoo a"),
        ("2026-11-21 10:02", "c", "zoo"),
    )
    assert list(json.loads(world.page("tags")).items()) == [("zoo", 3), ("a", 1), ("b", 1)]


@pytest.mark.design("004-29", "004-30")
def test_today_is_the_owners_day_by_tag(world):
    """From local midnight on, with time ranges and counts."""
    assert world.page("today-summary") == "# 2026-11-21\n\nNothing was logged yet.\n"
    world.log(
        ("2026-11-20 23:59", "yesterday", "work"),
        ("2026-11-21 00:00", "a", "work api"),
        ("2026-11-21 09:30", "b\nmore"),
        ("2026-11-21 12:00", "c", "work"),
    )
    assert world.page("today-summary") == (
        "# 2026-11-21\n\n## work (00:00 to 12:00, 2)\n\n- 00:00 a\n- 12:00 c\n\n"
        "## untagged (09:30, 1)\n\n- 09:30 b\n  more\n"
    )


@pytest.mark.design("004-31", "004-32")
def test_project_context_has_the_settings_and_the_folders_entries(world):
    """The `.chronicle` found above the folder, and what was logged in just this folder."""
    world.log(("2026-11-21 10:00", "here"))
    world.chronicle.add_event("elsewhere", directory="/srv/garden")
    page = json.loads(world.page("project-context"))
    assert page["has_project_config"] is False
    assert [entry["message"] for entry in page["entries"]] == ["here"]
    (world.project / ".chronicle").write_text('local_logging = true\nlog_format = "json"\n')
    page = json.loads(world.page("project-context"))
    assert page["project_root"] == str(world.project)
    config = {"local_logging": True, "log_dir": "logs", "log_format": "json", "allowed": False}
    assert page["config"] == config
    world.trust()
    assert json.loads(world.page("project-context"))["config"] == {**config, "allowed": True}
    world.without_folder()
    page = json.loads(world.page("project-context"))
    assert (page["directory"], page["config"], page["entries"]) == (None, None, [])


@pytest.mark.design("004-33")
def test_the_prompts_name_the_tools(world):
    """Each is a text of its own that says which tools to call, and each it names is there, or among the default ones."""
    texts = {prompt.name: prompt.write() for prompt in world.toolset.prompts}
    assert list(texts) == ["chronicle-getting-started", "daily-standup", "weekly-review"]
    names = {tool.name for tool in world.toolset.tools} | {"list_by_time"}
    for text in texts.values():
        named = {word for word in re.findall(r"`([a-z_]+)`", text) if "_" in word}
        assert named
        assert named <= names


def test_a_read_only_toolset_logs_nothing(world):
    """The tools that write are left out; pages and prompts stay."""
    kept = world.toolset.read_only()
    assert {tool.name for tool in kept.tools} == {
        "list_entries",
        "search_entries",
        "what_was_i_doing",
        "find_when_i",
    }
    assert len(kept.resources) == 4
