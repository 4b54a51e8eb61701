"""Sessions that the real clients wrote down are read as they were typed and answered, each once."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.doors.recorded.record import PLACE, SAID
from tests.doors.terminal import facts, run

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.usefixtures("no_weights")

FIRST, *_ = SAID


@pytest.mark.parametrize(
    ("name", "typed", "called"),
    [
        ("claude-code", [*SAID], []),
        ("codex", [*SAID], []),
        ("codex-copied", [*SAID], []),
        ("codex packed", [*SAID], []),
        ("codex-copied packed", [*SAID], []),
        ("gemini", [FIRST], []),
        ("opencode", [*SAID], ["bash"]),
    ],
)
def test_each_message_is_there_once(tmp_path, name, typed, called):
    """In the order in which they were said, forks and all; no kind of line is unknown."""
    folder, _, form = name.partition(" ")
    place = Path(shutil.copytree(PLACE / folder, tmp_path / folder))
    for path in place.rglob("*.jsonl") if form else ():
        path.with_name(f"{path.name}.zst").write_bytes(zstd.compress(path.read_bytes()))
        path.unlink()
    for path in place.rglob("*.sql"):
        with closing(sqlite3.connect(path.with_suffix(".db"))) as database:
            database.executescript(path.read_text("utf-8"))
    client = folder.removesuffix("-copied")
    done = facts("import", client, str(place))
    (counts,) = done["items"]
    assert (counts["left_out"], done["messages"]) == ([], 2 * len(typed) + len(called))
    said = []
    for session in reversed(facts("transcripts", "list")["items"]):
        said += facts("transcripts", "show", session["ref"])["items"]
    texts = [x["text"] for x in said if not x["tools"]]
    assert texts == [y for x in typed for y in (x, SAID[x])]
    assert [y for x in said for y in x["tools"]] == called
    assert facts("import", client, str(place))["messages"] == 0
    assert "Left out" not in run("status").stdout
