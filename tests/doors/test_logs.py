"""What is logged, where, and what never is."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

import pytest

from commonplace.config.settings import read_settings
from commonplace.core.errors import Invalid
from commonplace.doors.logs import close_logging, log_failure, set_up_logging


@pytest.fixture(autouse=True)
def closed():
    """No log file stays open behind a test."""
    yield
    close_logging()


def settings(log=None):
    """Settings with or without a log file."""
    flags = {"log": log, "timezone": "UTC"}
    return read_settings(flags=flags, environ={}, cwd=Path.cwd(), home=None)


def raise_over(text):
    """Raise an error of ours over a foreign one that quotes the text."""
    try:
        int(text)
    except ValueError as exc:
        raise Invalid("A number is wanted.") from exc


LOGGER = logging.getLogger("commonplace.search")


def test_nothing_is_logged_unless_asked(capfd):
    """No file, no stream: silence, even for errors."""
    set_up_logging(settings())
    LOGGER.error("lost")
    assert log_failure(ValueError("x")) == ""
    assert capfd.readouterr() == ("", "")


def test_the_server_tells_what_it_does_on_its_stream():
    """How many vectors were made, and warnings; what only a developer wants stays out."""
    stream = io.StringIO()
    set_up_logging(settings(), stderr=stream)
    LOGGER.debug("detail")
    LOGGER.info("made 3 vectors")
    LOGGER.warning("no weights")
    assert stream.getvalue() == "commonplace: made 3 vectors\ncommonplace: no weights\n"


def test_the_file_is_private_and_in_utc(tmp_path):
    """One line a record, with instant, level, process and room."""
    file = tmp_path / "x.log"
    set_up_logging(settings(str(file)))
    LOGGER.info("filed %d\nand more", 3)
    (line,) = file.read_text().splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO \d+ commonplace\.search: filed 3\\nand more",
        line,
    )
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_file_is_rotated(tmp_path):
    """1 MB each, three files at most, all private."""
    file = tmp_path / "x.log"
    set_up_logging(settings(str(file)))
    for _ in range(45):
        LOGGER.info("%s", "x" * 100_000)
    files = sorted(tmp_path.glob("x.log*"))
    assert [f.name for f in files] == ["x.log", "x.log.1", "x.log.2"]
    assert all(f.stat().st_size <= 1_000_000 for f in files)
    assert {f.stat().st_mode & 0o777 for f in files} == {0o600}


def test_a_file_rotated_by_another_process_is_followed(tmp_path):
    """Records go to the file that has the name now."""
    file = tmp_path / "x.log"
    set_up_logging(settings(str(file)))
    LOGGER.info("first")
    file.rename(tmp_path / "x.log.1")
    LOGGER.info("second")
    assert "second" in file.read_text()


def test_a_foreign_exceptions_message_is_not_logged(tmp_path):
    """It may quote an entry; its kind and its place are enough."""
    file = tmp_path / "x.log"
    set_up_logging(settings(str(file)))
    with pytest.raises(Invalid) as caught:
        raise_over("dear diary")
    assert log_failure(caught.value) == str(file)
    text = file.read_text()
    assert "dear diary" not in text.replace('raise_over("dear diary")', "")
    assert "builtins.ValueError\n" in text
    assert "commonplace.core.errors.Invalid: A number is wanted." in text
    assert "test_logs.py" in text


@pytest.mark.parametrize("name", ["gone/x.log", "."])
def test_a_log_that_cannot_be_written_is_refused(tmp_path, name):
    """At the start, not at the first record."""
    with pytest.raises(Invalid, match="cannot be written"):
        set_up_logging(settings(str(tmp_path / name)))


def test_setting_up_again_replaces_what_was(tmp_path):
    """The last call counts; nothing is written twice."""
    one, two = io.StringIO(), io.StringIO()
    set_up_logging(settings(), stderr=one)
    set_up_logging(settings(), stderr=two)
    LOGGER.warning("w")
    assert (one.getvalue(), two.getvalue()) == ("", "commonplace: w\n")


def test_libraries_are_heard_without_their_words():
    """Who said something, where, and which kind of exception it was about; not what."""
    stream, before = io.StringIO(), logging.getLogger().handlers[:]
    set_up_logging(settings(), stderr=stream, foreign=True)
    library = logging.getLogger("some.library")
    library.warning("Invalid body: %s", "secret words")
    library.info("nothing of note")
    words = "secret words"
    try:
        raise_over(words)
    except Invalid:
        library.exception("It failed: %s", words)
    LOGGER.warning("Our own words.")
    said = stream.getvalue()
    assert "Said by some.library, test_logs.py:" in said
    assert "builtins.ValueError" in said
    assert said.count("Our own words.") == 1
    assert "secret" not in said
    assert "nothing of note" not in said
    close_logging()
    assert "Said by" not in stream.getvalue()[len(said) :]
    assert logging.getLogger().handlers == before
