"""The bench beside the originals: what is not named is left out, with a word."""

from __future__ import annotations

from bench.originals import ORIGINALS, Sizes, find_command, original_figures

SIZES = Sizes(entries=1, starts=1, writes=1, questions=1)


def test_an_original_that_is_not_named_is_left_out_with_a_word(monkeypatch, tmp_path, capsys):
    """No home is made for it, and each is told how it is named."""
    for original in ORIGINALS:
        monkeypatch.delenv(original.variable, raising=False)
    cache = tmp_path / "cache"
    assert list(original_figures(SIZES, cache, tmp_path / "scratch")) == []
    said = capsys.readouterr().err
    assert "private-journal-mcp is left out: PRIVATE_JOURNAL_MCP names no command" in said
    assert "chronicle's own tool is left out: CHRONICLE_MCP names no command" in said
    assert not cache.exists()


def test_an_original_is_started_by_the_command_that_its_variable_holds():
    """As a shell reads it: a folder may hold a space."""
    private = ORIGINALS[0]
    named = {"PRIVATE_JOURNAL_MCP": "node '/my tools/pj/dist/index.js'"}
    assert find_command(private, named) == ("node", "/my tools/pj/dist/index.js")
    assert find_command(private, {}) == ()
