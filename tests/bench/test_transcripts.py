"""What the import's figures stand on: the same sessions each time, each message imported once."""

from __future__ import annotations

from bench.transcripts import import_all, make_sessions, read_all


def test_sessions_are_the_same_each_time(tmp_path):
    """As large as was asked for."""
    sizes = [make_sessions(tmp_path / name, megabytes=1) for name in ("one", "two")]
    assert sizes[0] == sizes[1] >= 1_000_000
    files = [sorted((tmp_path / name).rglob("*.jsonl")) for name in ("one", "two")]
    assert [x.read_bytes() for x in files[0]] == [x.read_bytes() for x in files[1]]


def test_an_import_takes_all_that_was_said_once(tmp_path):
    """Of each turn what was asked and answered, and what was called; then nothing."""
    make_sessions(tmp_path / "home", megabytes=1)
    lines = read_all(tmp_path / "home")
    count = import_all(tmp_path / "home", tmp_path / "kept")
    assert 0 < count < lines
    assert import_all(tmp_path / "home", tmp_path / "kept") == 0
