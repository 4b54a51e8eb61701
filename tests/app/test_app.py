"""The wiring: opened late, closed twice, healed after a crash, one owner apart from another."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_S

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.clock import utc_now
from commonplace.core.errors import CommonplaceError
from commonplace_testing import FrozenClock

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def opened(tmp_path, no_weights, monkeypatch):
    """Makes apps over the test's home and project; without weights unless asked otherwise."""
    made = []

    def open_app(clock=utc_now, **environ):
        for name, value in environ.items():
            monkeypatch.setenv(f"COMMONPLACE_{name.upper()}", value)
        settings = read_settings(cwd=tmp_path / "project", home=tmp_path / "home")
        made.append(App(settings, user_home=tmp_path / "home", clock=clock))
        return made[-1]

    yield open_app
    for each in made:
        each.close()


def call(app, tool, **arguments):
    return app.private.toolset().tool(tool).call(arguments)


def files_below(folder: Path):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_listing_the_tools_opens_nothing(opened, tmp_path):
    """No file, no folder, and none of the heavy libraries."""
    (toolset,) = opened(toolsets="private").toolsets()
    assert toolset.tools[0].name == "process_thoughts"
    assert all(tool.schema for tool in toolset.tools)
    assert files_below(tmp_path) == []
    script = (
        "import sys; from pathlib import Path; from commonplace.app import App;"
        "from commonplace.config.settings import read_settings;"
        "App(read_settings(cwd=Path('.'), home=None), user_home=None).toolsets();"
        "print([x for x in ('numpy', 'onnxruntime', 'tokenizers', 'mcp') if x in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "[]\n"


def test_read_only_leaves_the_writing_tool_out(opened):
    """The others stay, in their order."""
    names = [tool.name for tool in opened(read_only="1", toolsets="private").toolsets()[0].tools]
    assert names == [
        "search_journal",
        "read_journal_entry",
        "list_recent_entries",
        "read_recent_entries",
    ]


@pytest.mark.design("001-67")
def test_what_was_written_before_a_crash_is_found_after_it(opened):
    """The truth is whole and the index knows nothing: the next process files it by itself."""
    crashed = opened()
    ref = crashed.private.journal.write({"feelings": "about walnuts"}).refs[0]
    answer = call(opened(), "search_journal", query="walnuts")
    assert [hit["ref"] for hit in answer.facts["results"]] == [ref]


def test_an_entry_deleted_by_another_hand_leaves_the_index(opened, tmp_path):
    """Removed with the file manager: the next search does not show it."""
    app = opened()
    call(app, "process_thoughts", feelings="about walnuts")
    (path,) = (tmp_path / "home" / ".private-journal").rglob("*.md")
    path.unlink()
    assert call(app, "search_journal", query="walnuts").facts["results"] == []


def test_owners_have_indexes_of_their_own(opened):
    """The folder follows from the name, and two names never share one."""
    folders = {opened(owner=name).folder for name in ("me", "Me", "a/b", "..", "ä")}
    assert len(folders) == 5
    assert all(folder.parent.name == "users" for folder in folders)


def test_it_closes_twice_and_refuses_use_after(opened):
    """Closing an app that opened nothing is fine too."""
    opened().close()
    app = opened()
    call(app, "process_thoughts", feelings="about walnuts")
    app.close()
    app.close()
    with pytest.raises(CommonplaceError):
        call(app, "search_journal", query="walnuts")


@pytest.mark.design("000-35")
def test_a_write_succeeds_though_its_index_cannot(opened):
    """A folder where the index's file should be: recorded, pending, and the reason is told."""
    app = opened()
    (app.folder / "index" / "index.db").mkdir(parents=True)
    answer = call(app, "process_thoughts", feelings="about walnuts")
    assert answer.text.startswith("Thoughts recorded successfully.")
    assert "index.db" in answer.facts["notes"][0]
    assert "walnuts" in call(app, "read_recent_entries").text


def test_where_no_temp_folder_can_be_made_the_journal_is_read(opened, monkeypatch):
    """A disk without a single writable folder still holds what was written."""
    call(opened(), "process_thoughts", feelings="about walnuts")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    assert "walnuts" in call(opened(), "read_recent_entries").text


@pytest.mark.design("000-69", "000-70")
def test_warming_up_files_and_encodes_what_is_there(opened, monkeypatch):
    """With the installed weights: entries of others get their vectors and their `.embedding`."""
    opened().private.journal.write({"feelings": "about walnuts"})
    monkeypatch.delenv("COMMONPLACE_ENCODER_FOLDER")
    app = opened()
    app.warm_up()
    encoder = app.encoder.get(PATIENCE_S)
    assert encoder is not None
    waiting = threading.Event()
    deadline = time.monotonic() + PATIENCE_S
    while (
        app.index.counts(encoder.identity).docs == 0 or app.index.counts(encoder.identity).pending
    ):
        assert time.monotonic() < deadline
        waiting.wait(0.02)
    (hit,) = call(app, "search_journal", query="nuts of a tree", explain=True).facts["results"]
    assert hit["by"] == "meaning"


def test_a_close_under_way_work_is_prompt(opened):
    """Two hundred entries wait to be filed: closing does not."""
    app = opened()
    for number in range(200):
        app.private.journal.write({"feelings": f"thought {number}"})
    app.filing.start()
    started = time.monotonic()
    app.close()
    # Five times what closing promises: a guard, not a measurement.
    assert time.monotonic() - started < 10


def test_a_chronicle_that_cannot_be_found_leaves_the_private_journal_alone(opened, tmp_path):
    """Broken settings of the chronicle tool stop chronicle's tools, and nothing else."""
    broken = tmp_path / "home" / ".config" / "chronicle" / "config.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{broken")
    app = opened()
    call(app, "process_thoughts", feelings="about walnuts")
    assert call(app, "search_journal", query="walnuts").facts["count"] == 1
    with pytest.raises(CommonplaceError, match=r"config\.json cannot be used"):
        app.chronicle.service().list_entries()


def test_without_a_notebook_nothing_of_it_is_opened(opened, tmp_path):
    """Neither a module, nor pages, nor a folder; with one, its entries are found and opened."""
    app = opened()
    call(app, "process_thoughts", feelings="about walnuts")
    assert app.recall.toolset().tool("recall").call({"query": "walnuts"}).facts["count"] == 1
    assert "notebook" not in app.recall.service().journals
    assert "journal" not in vars(app.notebook)
    assert not list(tmp_path.rglob("ledgers"))
    notes = opened(notebook=str(tmp_path / "notes")).notebook.journal
    notes.init()
    entry = notes.write("api/errors", "Problem details, as RFC 9457 has them.").entry
    app = opened(notebook=str(tmp_path / "notes"))
    assert "notebook" in {x.name for x in app.sources()}
    assert app.recall.service().journals["notebook"].read_ref(entry.ref).text.startswith("Problem")
    found = app.recall.toolset().tool("recall").call({"query": "RFC 9457"})
    assert entry.ref in str(found.facts)


def test_a_notebook_made_while_a_server_runs_is_found(opened):
    """Its entries and its refs, by whoever asked before it was there."""
    server = opened()
    recall = server.recall.toolset().tool("recall")
    assert recall.call({"query": "RFC 9457"}).facts["count"] == 0
    notes = opened().notebook.journal
    notes.init()
    entry = notes.write("api/errors", "Problem details, as RFC 9457 has them.").entry
    found = recall.call({"query": "RFC 9457"})
    assert entry.ref in str(found.facts)
    page = server.recall.toolset().tool("open_ref").call({"ref": entry.ref})
    assert "Problem details" in page.text


def test_the_default_notebook_lies_in_the_owners_folder(opened):
    """Each owner has one of his own."""
    folders = [opened(owner=owner).notebook.journal.folder for owner in ("ann", "ben")]
    assert [x.parent.name for x in folders] == ["ann", "ben"]
    assert {x.name for x in folders} == {"notebook"}


def test_other_journals_feed_the_timeline(opened):
    """What was logged and what was felt count in the day, and recall tells each thing once."""
    app = opened(FrozenClock(), timeline_feed="chronicle,private", timezone="UTC")
    app.private.service().process_thoughts(feelings="Relieved that the orchard report is done.")
    app.chronicle.toolset().tool("add_entry").call({"message": "Deployed the orchard report"})
    desk = app.timeline.service()
    day = desk.rollup("daily", partial=True)
    assert day.metadata["entries"] == 2
    assert "Deployed the orchard report" in day.content


def test_the_way_down_shows_what_was_written(opened):
    """Of a private entry neither its front matter nor its headings."""
    app = opened(FrozenClock(), timeline_feed="private", timezone="UTC")
    app.private.service().process_thoughts(feelings="Relieved that the orchard report is done.")
    told = app.timeline_commands().show("today").text
    assert "  Relieved that the orchard report is done.  private:user/" in told
    assert "title:" not in told


def test_what_a_journal_deletes_leaves_the_summaries_at_once(opened, tmp_path):
    """The text is in no file of ours when the answer comes, the index and the timeline included."""
    app = opened(FrozenClock(), timeline_feed="chronicle", timezone="UTC")
    add = app.chronicle.toolset().tool("add_entry").call
    add({"message": "Deployed the orchard report"})
    gone = add({"message": "Called about zanzibarquartz"})
    desk = app.timeline.service()
    assert desk.catch_up() == 0
    desk.rollups.grace = timedelta(days=-400)
    assert desk.catch_up() == 5
    assert "zanzibarquartz" in desk.rollup("yearly").content
    assert desk.find("zanzibarquartz").hits
    app.chronicle.amender().delete_entry(ref=gone.facts["id"])
    ours = list((tmp_path / "home" / ".local" / "share" / "commonplace").rglob("*"))
    assert ours
    assert not [x.name for x in ours if x.is_file() and b"zanzibarquartz" in x.read_bytes()]
    assert desk.rollup("yearly").metadata["entries"] == 1


def test_what_an_edit_replaces_leaves_the_summaries_at_once(opened, tmp_path):
    """As what a delete takes: the old words of a log entry and of a private one are in no file."""
    app = opened(FrozenClock(), timeline_feed="chronicle,private", timezone="UTC")
    logged = app.chronicle.toolset().tool("add_entry").call({"message": "Called zanzibarquartz"})
    felt = app.private.service().process_thoughts(feelings="Uneasy about zanzibarquartz.")
    desk = app.timeline.service()
    assert desk.catch_up() == 0
    desk.rollups.grace = timedelta(days=-400)
    assert desk.catch_up() == 5
    assert desk.rollup("yearly").content.count("zanzibarquartz") == 2
    app.chronicle.amender().edit_entry(ref=logged.facts["id"], message="Called Ada")
    read = app.private.service().open_entry(felt.facts["refs"][0])
    app.private.amender().edit_read(read, "## Feelings\n\nCalm about Ada.")
    ours = [x for x in (tmp_path / "home").rglob("*") if x.is_file() and "former" not in x.parts]
    assert ours
    assert not [x.name for x in ours if b"zanzibarquartz" in x.read_bytes()]
    year = desk.rollup("yearly")
    assert year.metadata["entries"] == 2
    assert "Called Ada" in year.content
