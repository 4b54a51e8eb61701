"""The account of who used what over HTTP, which holds refs and no text."""

from __future__ import annotations

import json
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import httpx2
import pytest
from server.tests.http_world import HttpServer, Raw, home, token_for
from tests.doors.terminal import run

from commonplace.core.access_files import FOLDER
from commonplace.core.values import Answer
from commonplace_server.http.accesses import AccessLog, AccessUpkeep
from commonplace_server.http.calls import FinishedCall, refs_of
from commonplace_server.tokens import TokenFile
from commonplace_testing import FrozenClock

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _words(words_only):
    """What is found here is found by words."""


def accesses(owner):
    """All that is noted of an owner."""
    folder = home() / "users" / owner / FOLDER
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def test_who_called_what_is_noted_with_refs_and_no_text():
    """The token and its label, the tool, how it ended; of each owner with the owner's own."""
    ann, bob = token_for("ann", label="phone"), token_for("bob")
    with HttpServer("--toolsets", "memory,memory-write", COMMONPLACE_SERVE_AUDIT_DAYS="30") as it:
        with Raw(it.url, ann) as hers, Raw(it.url, bob) as his:
            hers.handshake()
            his.handshake()
            saved = hers.call("memory_save", kind="todo", title="Buy xylophone cables").text
            ref = next(x["refs"][0] for x in accesses("ann"))
            assert ref in saved
            hers.call("memory_search", query="xylophone")
            hers.call("memory_search", query="xylophone", top_k=0)
            his.call("memory_delete", kind="todo", ref=ref)
        assert it.end() == 0
    hers = accesses("ann")
    assert [(x["tool"], x["outcome"], x["refs"]) for x in hers] == [
        ("memory_save", "ok", [ref]),
        ("memory_search", "ok", [ref]),
        ("memory_search", "invalid", []),
    ]
    assert {(x["owner"], x["token"], x["label"]) for x in hers} == {
        ("ann", ann.split("_")[1], "phone")
    }
    (his,) = accesses("bob")
    assert (his["tool"], his["outcome"], his["refs"]) == ("memory_delete", "not_found", [])
    assert "xylophone" not in json.dumps([*hers, his])


def test_what_a_connector_found_and_opened_is_noted():
    """Its clients call a ref an id."""
    ann = token_for("ann", toolsets=["chronicle", "connector"])
    with HttpServer("--toolsets", "chronicle,connector", COMMONPLACE_SERVE_AUDIT_DAYS="30") as it:
        with Raw(it.url, ann) as raw:
            raw.handshake()
            raw.call("add_entry", message="painted the harbour wall")
            (ref,) = accesses("ann")[0]["refs"]
            raw.call("search", query="harbour")
            raw.call("fetch", id=ref)
        assert it.end() == 0
    assert [(x["tool"], x["refs"]) for x in accesses("ann")[1:]] == [
        ("search", [ref]),
        ("fetch", [ref]),
    ]


def test_no_backup_and_no_export_holds_the_account(tmp_path):
    """A restore would bring back the refs of what was forgotten since."""
    with HttpServer(COMMONPLACE_SERVE_AUDIT_DAYS="30") as server:
        with Raw(server.url) as raw:
            raw.handshake()
            raw.call("process_thoughts", feelings="The ochre zebrafinch counts eleven umbrellas.")
        assert server.end() == 0
    assert accesses("me")
    assert run("backup", str(tmp_path / "b.zip")).exit_code == 0
    with zipfile.ZipFile(tmp_path / "b.zip") as made:
        names = made.namelist()
    assert [x for x in names if x.endswith(".md")]
    assert not [x for x in names if FOLDER in x]
    assert run("export", str(tmp_path / "export")).exit_code == 0
    assert not [*(tmp_path / "export").rglob(f"*{FOLDER}*")]


def test_nothing_is_noted_unless_it_is_asked_for():
    """There is no account of what people read on a server whose operator wants none."""
    with HttpServer("--toolsets", "memory,memory-write") as server:
        with Raw(server.url) as raw:
            raw.handshake()
            raw.call("memory_save", kind="todo", title="Buy cables")
        assert server.end() == 0
    assert not [*home().rglob(FOLDER)]


@contextmanager
def entered(server, token):
    """A browser that a token signed in."""
    headers = {"sec-fetch-site": "same-origin", "origin": server.base}
    with httpx2.Client(headers=headers, follow_redirects=True) as browser:
        answer = browser.post(f"{server.base}/web/enter", data={"key": token})
        assert answer.status_code == 200, answer.text
        yield browser


def test_a_page_of_an_entry_is_an_access_and_what_is_forgotten_leaves_the_account():
    """The calls stay, without the entry that they were about; what is no ref was never noted."""
    token = token_for("me")
    with HttpServer(COMMONPLACE_SERVE_AUDIT_DAYS="30") as server:
        with Raw(server.url, token) as raw:
            raw.handshake()
            raw.call("process_thoughts", feelings="The ochre zebrafinch counts eleven umbrellas.")
            (ref,) = accesses("me")[0]["refs"]
        with entered(server, token) as browser:
            assert browser.get(f"{server.base}/web/entry", params={"ref": ref}).status_code == 200
            # That page does not read `ref`.
            for text in ("Is it the key?", "memory:Is it the key?"):
                asked = browser.get(f"{server.base}/web/transcripts", params={"ref": text})
                assert asked.status_code == 200
        assert server.end() == 0
    noted = [(x["tool"], x["outcome"], x["refs"]) for x in accesses("me")]
    assert noted[0] == ("process_thoughts", "ok", [ref])
    assert ("page entry", "ok", [ref]) in noted
    assert noted.count(("page transcripts", "ok", [])) == 2
    before = len(noted)
    assert "its refs in the accesses" in run("forget", ref, "--dry-run").output
    assert run("forget", ref, "--yes").exit_code == 0
    after = accesses("me")
    assert len(after) == before
    assert ref not in json.dumps(after)


def test_what_cannot_be_noted_fails_no_call(tmp_path, caplog):
    """It is logged, once while it lasts."""
    (tmp_path / FOLDER).write_text("in the way")
    tokens = TokenFile(tmp_path, clock=FrozenClock(NOW))
    log = AccessLog(lambda _owner: tmp_path, tokens=tokens, clock=FrozenClock(NOW))
    call = FinishedCall(owner="ann", token_id="", tool="recall", outcome="ok", seconds=0.1)
    log(call)
    log(call)
    assert caplog.text.count("Accesses are not noted") == 1


def test_the_refs_of_an_answer_are_those_it_wrote_and_shows():
    """Wherever among its facts; nothing that only looks like one."""
    facts = {"ref": "a", "list": [{"ref": "b", "text": "ref"}], "refs": ("c",), "n": {"ref": None}}
    assert [*refs_of(Answer("", facts, written={"d": "1"}))] == ["d", "a", "b", "c"]


def test_old_accesses_go_of_every_owner(tmp_path):
    """After as many days as they are kept."""
    clock = FrozenClock(NOW)
    tokens = TokenFile(tmp_path, clock=clock)
    log = AccessLog(lambda owner: tmp_path / "users" / owner, tokens=tokens, clock=clock)
    call = partial(FinishedCall, token_id="", tool="recall", outcome="ok", seconds=0.1)
    for owner in ("ann", "bob"):
        log(call(owner=owner))
    clock.advance(30 * 86_400)
    log(call(owner="bob"))
    AccessUpkeep(tmp_path / "users", days=29, clock=clock).drop()
    left = sorted(str(x.relative_to(tmp_path)) for x in tmp_path.rglob("*.jsonl"))
    assert left == ["users/bob/accesses/2026-12-28.jsonl"]
