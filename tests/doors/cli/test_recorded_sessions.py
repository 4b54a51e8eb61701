"""Sessions that the real clients wrote down are read as they were typed and answered, each once."""

from __future__ import annotations

import shutil
import sys
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
    ("name", "typed"),
    [
        ("claude-code", [*SAID]),
        ("codex", [*SAID]),
        ("codex-copied", [*SAID]),
        ("codex packed", [*SAID]),
        ("codex-copied packed", [*SAID]),
        ("gemini", [FIRST]),
    ],
)
def test_each_message_is_there_once(tmp_path, name, typed):
    """In the order in which they were said, forks and all; no kind of line is unknown."""
    folder, _, form = name.partition(" ")
    place = Path(shutil.copytree(PLACE / folder, tmp_path / folder))
    for path in place.rglob("*.jsonl") if form else ():
        path.with_name(f"{path.name}.zst").write_bytes(zstd.compress(path.read_bytes()))
        path.unlink()
    client = folder.removesuffix("-copied")
    done = facts("import", client, str(place))
    (counts,) = done["items"]
    assert (counts["left_out"], done["messages"]) == ([], 2 * len(typed))
    said = []
    for session in reversed(facts("transcripts", "list")["items"]):
        said += facts("transcripts", "show", session["ref"])["items"]
    assert [x["text"] for x in said] == [y for x in typed for y in (x, SAID[x])]
    assert facts("import", client, str(place))["messages"] == 0
    assert "Left out" not in run("status").stdout
