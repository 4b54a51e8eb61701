"""A rollout that Codex packed is copied as it was, once, whatever it holds."""

from __future__ import annotations

import json
import os
import sys

import pytest
from tests.journals.transcripts.originals import (
    add_lines,
    codex_message,
    codex_meta,
    write_lines,
)
from tests.peak_memory import peak_memory

from commonplace.core.errors import Invalid
from commonplace.journals.transcripts.clients import codex
from commonplace.journals.transcripts.copying import Kept, copied_from, copy_new, is_whole
from commonplace.journals.transcripts.store import TranscriptStore

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROLLOUT = "rollout-2026-11-10T10-00-00-01a20852-5196-7f92-ab6a-1cd17f0107a9.jsonl"


@pytest.fixture
def store(tmp_path):
    made = TranscriptStore(str(tmp_path / "transcripts"))
    yield made
    made.close()


def copied(store, path):
    return copy_new(store, "codex", str(path), kept=Kept()).copied


def texts(store):
    return [x.text for x in store.read("codex", "s1")]


def packed(path, *, end=None):
    """The file packed by zstd in its place, its time as it was, or a part of it."""
    own = path.with_name(f"{path.name}.zst")
    own.write_bytes(zstd.compress(path.read_bytes())[:end])
    state = path.stat()
    os.utime(own, ns=(state.st_atime_ns, state.st_mtime_ns))
    path.unlink()
    return own


def test_a_packed_rollout_is_copied(store, tmp_path):
    """Codex packs what is a week old; what was copied from the plain file is not copied again."""
    path = tmp_path / ROLLOUT
    write_lines(path, codex_meta(), codex_message("one"))
    assert copied(store, path) == 1
    add_lines(path, codex_message("two", second=2))
    path = packed(path)
    assert [x for x, _ in codex.originals_in(str(tmp_path))] == [str(path)]
    assert not is_whole(*copied_from(store, str(path)), str(path), path.stat())
    assert copied(store, path) == 1
    assert copied(store, path) == 0
    assert texts(store) == ["one", "two"]


def test_a_rollout_that_was_copied_to_its_end_before_it_was_packed_is_whole(store, tmp_path):
    """By its time, which packing leaves as it was; unpacked again, it goes on where it ended."""
    path = tmp_path / ROLLOUT
    write_lines(path, codex_meta(), codex_message("one"))
    copied(store, path)
    content, own = path.read_bytes(), packed(path)
    assert is_whole(*copied_from(store, str(own)), str(own), own.stat())
    path.write_bytes(content)
    add_lines(path, codex_message("two", second=2))
    assert [x for x, _ in codex.originals_in(str(tmp_path))] == [str(path)]
    assert copied(store, path) == 1


def test_of_a_damaged_packed_rollout_what_stands_before_is_kept(store, tmp_path):
    """And it is named, each time."""
    path = tmp_path / ROLLOUT
    noise = [os.urandom(2000).hex() for _ in range(100)]
    write_lines(path, codex_meta(), *(codex_message(x, second=n) for n, x in enumerate(noise)))
    own = packed(path, end=-1000)
    for _ in range(2):
        with pytest.raises(Invalid, match="damaged"):
            copied(store, own)
    assert 50 < len(texts(store)) < 100


@pytest.mark.parametrize("form", ["one line", "many lines"])
def test_a_packed_bomb_fills_no_memory(store, tmp_path, monkeypatch, form):
    """What unpacks into more than 200 times its size, and than is harmless, is not read further."""
    monkeypatch.setattr("commonplace.core.archive.HARMLESS", 4 << 20)
    path = tmp_path / f"{ROLLOUT}.zst"
    with zstd.ZstdFile(path, "w") as file:
        file.write(json.dumps(codex_meta()).encode() + b"\n")
        file.write(json.dumps(codex_message("one")).encode() + b"\n")
        line = b" " * 64 if form == "one line" else b"[" + b" " * 61 + b"]\n"
        for _ in range(20):
            file.write(line * 50_000)
    with peak_memory() as most, pytest.raises(Invalid, match="unpacks"):
        copied(store, path)
    assert most() < 16 << 20
    assert texts(store) == ["one"]


def test_a_packed_rollout_without_what_unpacks_it_is_named(store, tmp_path, monkeypatch):
    """With what to install; the others are imported all the same."""
    path = tmp_path / ROLLOUT
    write_lines(path, codex_meta(), codex_message("one"))
    own = packed(path)
    monkeypatch.setitem(sys.modules, zstd.__name__, None)
    monkeypatch.delattr(sys.modules[zstd.__name__.partition(".")[0]], "zstd")
    with pytest.raises(Invalid, match="not installed") as found:
        copied(store, own)
    assert "backports.zstd" in found.value.hint
