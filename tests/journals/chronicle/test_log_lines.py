"""Taking a line out of a project log while others write to it."""

from __future__ import annotations

import os
import threading
from datetime import UTC
from pathlib import Path

import pytest
from tests.journals.chronicle.test_logs import Entry

from commonplace.journals.chronicle.log_config import read_log_config
from commonplace.journals.chronicle.log_lines import ProjectLogs
from commonplace.journals.chronicle.logs import write_log
from commonplace.journals.chronicle.trust import TrustedLogs

LINES = 60


@pytest.fixture(params=["markdown", "json", "text"])
def logging(tmp_path, request):
    """A function that logs an entry in a project, and the logs of it."""
    file = tmp_path / "project" / ".chronicle"
    file.write_text(f'local_logging = true\nlog_format = "{request.param}"\n')
    trusted = TrustedLogs(tmp_path / "trusted")
    trusted.allow(read_log_config(file))

    def log(entry):
        assert write_log(read_log_config(file), entry, UTC, trusted) == ""

    return log, ProjectLogs(trusted=trusted, zone=UTC)


def entry(number):
    return Entry(id=f"{number:08}", message=f"step {number} of it")


def test_no_line_of_another_writer_is_lost(logging):
    """One thread adds lines while another takes out half of them: the rest is there, once."""
    log, logs = logging
    for number in range(LINES):
        log(entry(number))

    def taking():
        for number in range(0, LINES, 2):
            assert logs.correct(entry(number)) == ()

    threads = [threading.Thread(target=taking)]
    threads += [
        threading.Thread(
            target=lambda first=first: [log(entry(x)) for x in range(first, first + LINES)]
        )
        for first in (LINES, 2 * LINES)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    content = "".join(path.read_text() for path in logs.files())
    kept = [number for number in range(3 * LINES) if f"step {number} of it" in content]
    assert kept == [*range(1, LINES, 2), *range(LINES, 3 * LINES)]
    assert content.count("step ") == len(kept)


@pytest.mark.parametrize("longer", ["alpha\n  beta", "alpha\n\n\n  beta", "alpha\n\ttab"])
def test_a_message_that_begins_another_is_not_taken_for_it(logging, longer):
    """The line of `alpha` is not the first line of a longer message of the same second."""
    log, logs = logging
    log(Entry(id="1", message=longer))
    (path,) = logs.files()
    before = path.read_bytes()
    assert logs.correct(Entry(id="2", message="alpha")) == ()
    assert path.read_bytes() == before
    log(Entry(id="2", message="alpha"))
    logs.correct(Entry(id="2", message="alpha"))
    assert path.read_bytes() == before


def test_what_only_looks_like_a_log_is_left(logging, tmp_path):
    """A link and a folder under the name of a day's log."""
    log, logs = logging
    log(entry(1))
    (path,) = logs.files()
    elsewhere = tmp_path / "elsewhere"
    os.rename(path, elsewhere)
    path.symlink_to(elsewhere)
    assert logs.correct(entry(1)) == ()
    assert Path(elsewhere).read_text() != ""
    path.unlink()
    path.mkdir()
    assert logs.correct(entry(1)) == ()
