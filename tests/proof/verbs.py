"""The verbs of every journal in processes made to be killed: forked off one that has loaded all.

Run as a program it reads what to do, a line of JSON for each child, and tells what came of it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.patience import PATIENCE_S

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.errors import Conflict
from commonplace.core.values import Filter, Interval
from commonplace.doors.doctor.checks import Doctor
from commonplace.journals.memory.records import ref_of
from commonplace_testing import HashingEncoder, ReadySlot

SECTION = "api/errors"
CLOSING_S = PATIENCE_S


def private_write(app, text):
    """The ref of a new entry."""
    return _called(app.private.toolset(), "process_thoughts", reflections=text)["refs"][0]


def private_edit(app, ref, text):
    app.private.amender().edit_read(app.private.service().open_entry(ref), text)


def private_delete(app, ref):
    app.private.amender().delete_read(ref)


def chronicle_add(app, text):
    """The ref of a new entry."""
    return _called(app.chronicle.toolset(), "add_entry", message=text)["ref"]


def chronicle_edit(app, ref, text):
    app.chronicle.amender().edit_entry(ref=ref, message=text)


def chronicle_delete(app, ref):
    app.chronicle.amender().delete_entry(ref=ref)


def notebook_add(app, text):
    """Nothing of the notebook is ever altered: its ref is not needed."""
    _called(app.notebook.toolset(), "journal_write", path=SECTION, entry=text)
    return ""


def notebook_write(app, text):
    """An entry with a new overview, which keeps what the old one said."""
    read = app.notebook.toolset().tool("journal_read").call
    known = app.notebook.journal.exists and SECTION in app.notebook.journal.list_sections()
    before = read({"id": SECTION}).facts if known else {"overview": "", "version": ""}
    _called(
        app.notebook.toolset(),
        "journal_write",
        path=SECTION,
        entry=text,
        overview=f"{before['overview']}\n\nAn overview of {text}",
    )
    return ""


def timeline_add(app, text):
    """The ref of a new entry."""
    return app.timeline.service().add(text).entry.id


def timeline_edit(app, ref, text):
    app.timeline.amender().update(ref, content=text)


def timeline_delete(app, ref):
    app.timeline.amender().delete_entry(ref)


def memory_save(app, text):
    """The ref of a new to-do."""
    return _called(app.memory.write_toolset(), "memory_save", kind="todo", title=text)["ref"]


def memory_edit(app, ref, text):
    _called(app.memory.write_toolset(), "memory_save", kind="todo", ref=ref, title=text)


def memory_delete(app, ref):
    _called(app.memory.write_toolset(), "memory_delete", kind="todo", ref=ref)


def write(app, journal, text, supersedes="", at=0.0):
    """The ref of an entry, or why it was refused; written at a moment that others wait for too."""
    toolset, tool, field, given = {
        "private": (app.private.toolset(), "process_thoughts", "reflections", {}),
        "chronicle": (app.chronicle.toolset(), "add_entry", "message", {}),
        "notebook": (app.notebook.toolset(), "journal_write", "entry", {"path": SECTION}),
        "timeline": (app.timeline.toolset(), "timeline_add", "content", {}),
        "memory": (app.memory.write_toolset(), "memory_save", "title", {"kind": "todo"}),
    }[journal]
    while time.time() < at:
        pass
    try:
        facts = _called(toolset, tool, **given, **{field: text}, supersedes=supersedes)
    except Conflict as exc:
        return {"refused": exc.message}
    if journal == "notebook":
        return {"ref": f"notebook:{facts['id']}"}
    return {"ref": facts["refs"][0] if "refs" in facts else facts["ref"]}


def successor(app, ref):
    """The ref of what took an entry's place; empty for none."""
    return app.recall.service().open_ref(ref).superseded_by


def recalled(app, query):
    """The refs that recall finds, best first."""
    return [
        hit.doc.ref
        for hit in app.recall.service().recall(query, when="", within=Filter(), limit=50).found.hits
    ]


ADDING = (
    private_write,
    chronicle_add,
    notebook_add,
    notebook_write,
    timeline_add,
    memory_save,
)
EDITING = (private_edit, chronicle_edit, timeline_edit, memory_edit)
DELETING = (private_delete, chronicle_delete, timeline_delete, memory_delete)
VERBS = {verb.__name__: verb for verb in (*ADDING, *EDITING, *DELETING)}


def start(app):
    """What a server does at its start, to its end; the texts of each journal, and what is wrong."""
    app.memory.service().erase()
    app.timeline.service().keep_up()  # as much as a server does at once, then the rest
    app.timeline.service().catch_up()
    app.filing.start()
    app.filing.sweep()
    app.filing.wake()
    app.filing.settle(HashingEncoder.identity, CLOSING_S)
    app.filing.close(CLOSING_S)
    return {"texts": _texts(app), "problems": _problems(app)}


OTHERS = {each.__name__: each for each in (write, successor, recalled, start)}


def _texts(app):
    """(ref, text) of every entry, by journal."""
    everything = Interval()
    private = app.private.journal.list_entries(limit=1000, kind="both", within=everything)
    events = app.chronicle.journal.list_events(limit=1000).events
    timeline = app.timeline.journal.list_entries(everything, level=0, limit=1000).entries
    notebook = app.notebook.journal
    lines = notebook.list_entries(SECTION, length=1000) if notebook.exists else []
    return {
        "private": [(entry.ref, entry.text) for entry in private],
        "chronicle": [(event.ref, event.message) for event in events],
        "notebook": [("", line.summary) for line in lines],
        "timeline": [(entry.id, entry.content) for entry in timeline],
        "memory": [
            (ref_of("todo", record.id), record.title)
            for record in app.memory.journal.list_records("todo", limit=100).records
        ],
    }


def _problems(app):
    parts = {"folders", "private", "chronicle", "timeline", "memory", "index"}
    report = Doctor(app).examine()
    found = [problem.what for part, problem in report.problems if part in parts]
    return found + [note for part, note in report.notes if part == "index" and "bytes" in note]


def _called(toolset, name, **arguments):
    return toolset.tool(name).call(arguments).facts


class Nursery:
    """A process that has loaded all, off which the verbs' processes are forked. Close it."""

    def __init__(self, env=None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.proof.verbs"],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "HOME": "/nonexistent", **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, asked):
        """What the verb answered, None where it was killed before; seconds until its end."""
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = None
        while "ended" not in (told := json.loads(self._process.stdout.readline())):
            answer = told
        return answer, told["ended"]

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(CLOSING_S)
        self._process.stdout.close()


class Verbs:
    """Runs verbs over one home, each in a process of its own."""

    def __init__(self, nursery: Nursery, home: Path, project: Path) -> None:
        self._nursery = nursery
        self._places = [str(home), str(project)]

    def run(self, verb: str, *given: str | float, kill_after_s: float = CLOSING_S):
        """What the verb answered, None where it was killed before; seconds until its end."""
        asked = {"places": self._places, "verb": verb, "given": given}
        return self._nursery.run({**asked, "kill_after_s": kill_after_s})


def _tell(told) -> None:
    # In one piece, through a pipe that the faults of a disk leave alone.
    os.write(1, (json.dumps(told) + "\n").encode())


def _open(home: Path, project: Path) -> App:
    settings = read_settings(
        flags={"home": str(home / "own"), "timezone": "UTC"}, environ={}, cwd=project, home=home
    )
    return App(settings, user_home=home, encoder=ReadySlot(HashingEncoder()))


def _child(home: Path, project: Path, asked) -> None:
    app = _open(home, project)
    verb = {**VERBS, **OTHERS}[asked["verb"]]
    _tell({"answer": verb(app, *asked["given"])})
    app.close()


def _load_all() -> None:
    """Import what the verbs import when they are called."""
    with tempfile.TemporaryDirectory() as scratch:
        app = _open(Path(scratch), Path(scratch))
        refs = [verb(app, "a text") for verb in ADDING]
        private_edit(app, refs[0], "another")
        private_delete(app, refs[0])
        recalled(app, "a text")
        start(app)
        app.close()


def _main() -> None:
    _load_all()
    for line in sys.stdin:
        asked = json.loads(line)
        began = time.perf_counter()
        ended, lives = os.pipe()  # whose other end the child alone holds open
        child = os.fork()
        if not child:
            os.close(ended)
            home, project = map(Path, asked["places"])
            os.environ["HOME"] = str(home)
            try:
                _child(home, project, asked)
            except BaseException:  # noqa: BLE001  the test meets an answer that never came
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(lives)
        if not select.select([ended], [], [], max(0.0, asked["kill_after_s"]))[0]:
            os.kill(child, signal.SIGKILL)
        os.close(ended)
        os.waitpid(child, 0)
        _tell({"ended": time.perf_counter() - began})


if __name__ == "__main__":
    _main()
