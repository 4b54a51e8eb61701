"""Project logs are written where `.chronicle` asks for them, never elsewhere, never into the way."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from tests.cases import cases

from commonplace.journals.chronicle.log_config import find_log_config, read_log_config
from commonplace.journals.chronicle.logs import render_log, write_log
from commonplace.journals.chronicle.times import to_instant
from commonplace.journals.chronicle.trust import TrustedLogs, TrustRequest

CHICAGO = ZoneInfo("America/Chicago")
AT = datetime(2025, 11, 29, 14, 30, tzinfo=UTC)


class Entry(Struct, frozen=True, kw_only=True):
    """An entry as logs ask for it."""

    id: str = "0d8f3b1c-7a52-4f0e-9f5e-1c2d3e4f5a6b"
    instant: int = to_instant(AT)
    message: str = "test message"
    tags: tuple[str, ...] = ("work", "test")
    hostname: str = "testhost"
    username: str = "testuser"
    directory: str = "/test/dir"


@pytest.fixture
def project(tmp_path):
    """A function that lays a project with this `.chronicle` below a home, and gives its folder."""

    def lay(config: str, name: str = "project"):
        folder = tmp_path / "home" / name
        folder.mkdir(parents=True)
        (folder / ".chronicle").write_text(config)
        return folder

    return lay


def _found(folder):
    return find_log_config(folder, folder.parent)


def _trusted(folder):
    """What the user has allowed, kept beside the project's home."""
    return TrustedLogs(folder.parent.parent / "trusted")


def _log(folder, entry=None, zone=UTC):
    """Allow the log of a folder, and write one entry to it: the warning."""
    config = _found(folder)
    _trusted(folder).allow(config)
    return write_log(config, entry or Entry(), zone, _trusted(folder))


def test_markdown_is_the_originals(project):
    """The log of the day holds the entry byte for byte as the original's own test expects it."""
    folder = project("local_logging = true\n")
    assert _log(folder) == ""
    assert (folder / "logs" / "2025-11-29.log").read_text() == (
        "## 14:30:00 - test message\n- **Tags**: work, test\n"
        "- **User**: testuser@testhost\n- **Directory**: /test/dir\n\n"
    )


def test_json_is_one_object_a_line_as_go_writes_it(project):
    """Keys in the original's order, no spaces, `<` and `&` escaped, `null` for no tags."""
    folder = project('local_logging = true\nlog_format = "json"\n')
    assert (
        _log(folder, Entry(message="a < b & c", tags=(), instant=to_instant(AT) + 5), CHICAGO) == ""
    )
    assert _log(folder, zone=CHICAGO) == ""
    first, second = (folder / "logs" / "2025-11-29.log").read_text().splitlines()
    assert first == (
        '{"id":"0d8f3b1c-7a52-4f0e-9f5e-1c2d3e4f5a6b",'
        '"timestamp":"2025-11-29T08:30:00.000000005-06:00","message":"a \\u003c b \\u0026 c",'
        '"hostname":"testhost","username":"testuser","working_directory":"/test/dir","tags":null}'
    )
    assert json.loads(second)["tags"] == ["work", "test"]


def test_text_is_a_line(project):
    """Time, user, folder, tags and message."""
    folder = project('local_logging = true\nlog_format = "text"\nlog_dir = "notes/days"\n')
    assert _log(folder) == ""
    assert (folder / "notes" / "days" / "2025-11-29.log").read_text() == (
        "14:30:00 testuser@testhost /test/dir [work, test] test message\n"
    )


def test_the_zone_names_the_day_and_tells_the_time(project):
    """23:30 in Chicago belongs to that day, though UTC is a day ahead."""
    folder = project("local_logging = true\n")
    late = Entry(instant=to_instant(datetime(2025, 11, 30, 5, 30, tzinfo=UTC)))
    assert _log(folder, late, CHICAGO) == ""
    assert (folder / "logs" / "2025-11-29.log").read_text().startswith("## 23:30:00 - ")


def test_nothing_is_written_unasked(project):
    """Without `local_logging`, or without a `.chronicle`, no folder appears and nothing is said."""
    folder = project('log_format = "nonsense"\n')
    assert _log(folder) == ""
    assert write_log(None, Entry(), UTC, _trusted(folder)) == ""
    assert os.listdir(folder) == [".chronicle"]


def test_an_unknown_format_is_markdown_with_a_warning(project):
    """The log is written and the answer says why it looks so."""
    folder = project('local_logging = true\nlog_format = "xml"\n')
    warning = _log(folder)
    assert "'xml'" in warning
    assert str(folder / ".chronicle") in warning
    assert (folder / "logs" / "2025-11-29.log").read_text().startswith("## 14:30:00 - ")


@pytest.mark.parametrize(
    "config",
    [
        "local_logging = tru",
        'local_logging = "yes"',
        "local_logging = true\nlog_dir = 3",
        "# \xff",
        "# " + "x" * 70_000,
    ],
)
def test_a_broken_config_is_a_warning(project, config):
    """What cannot be understood logs nothing, names the file, and raises nothing."""
    folder = project("")
    (folder / ".chronicle").write_bytes(config.encode("latin-1"))
    warning = _log(folder)
    assert str(folder / ".chronicle") in warning
    assert "\n" not in warning
    assert os.listdir(folder) == [".chronicle"]


@pytest.mark.design("004-43")
def test_the_config_is_found_upward_and_the_nearest_rules(project, tmp_path):
    """A folder deep in a project finds its file; a nearer one goes first."""
    outer = project("", "outer")
    inner = outer / "a" / "b"
    inner.mkdir(parents=True)
    assert find_log_config(inner, tmp_path / "home").root == outer
    (outer / "a" / ".chronicle").write_text("local_logging = true")
    assert find_log_config(inner, tmp_path / "home").root == outer / "a"


def test_the_search_ends_with_the_home(tmp_path):
    """The home's own `.chronicle` counts, one above it does not, nor does a folder of that name."""
    home = tmp_path / "home"
    (home / "project" / ".chronicle").mkdir(parents=True)
    (tmp_path / ".chronicle").write_text("local_logging = true")
    assert find_log_config(home / "project", home) is None
    assert find_log_config(home, home) is None
    (home / ".chronicle").write_text("local_logging = true")
    assert find_log_config(home / "project", home).root == home
    (home / ".chronicle").unlink()
    (tmp_path / "elsewhere").mkdir()
    assert find_log_config(tmp_path / "elsewhere", home).root == tmp_path


def test_a_home_behind_a_link_still_ends_the_search(tmp_path):
    """Both the folder and the home are resolved before they are compared."""
    (tmp_path / "real" / "project").mkdir(parents=True)
    (tmp_path / ".chronicle").write_text("")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert find_log_config(tmp_path / "linked" / "project", tmp_path / "linked") is None


@pytest.mark.parametrize("log_dir", ["../out", "{outside}", "a/../../out", "\\u0000", "~/out"])
def test_logs_stay_below_the_project(project, tmp_path, log_dir):
    """Whatever leads out (dots, an absolute path) writes nothing and says so."""
    outside = tmp_path / "home" / "out"
    outside.mkdir(parents=True)
    folder = project(f'local_logging = true\nlog_dir = "{log_dir.format(outside=outside)}"\n')
    warning = _log(folder)
    assert (
        warning
        == f"No project log was written: log_dir in {folder / '.chronicle'} leads out of its folder."
    )
    assert list(outside.iterdir()) == []
    assert os.listdir(folder) == [".chronicle"]


@pytest.mark.parametrize("log_dir", [".", "", "a/../logs", "{folder}/deep/er"])
def test_every_way_that_stays_inside_is_good(project, tmp_path, log_dir):
    """The folder itself, dots and a path in full hold logs."""
    inside = log_dir.format(folder=tmp_path / "home" / "project")
    folder = project(f'local_logging = true\nlog_dir = "{inside}"\n')
    assert _log(folder) == ""
    assert len([*folder.rglob("2025-11-29.log")]) == 1


@pytest.mark.parametrize("log_dir", ["out", "out/deep", "link", "link/deep", "real/link"])
def test_no_log_is_written_through_a_link(project, tmp_path, log_dir):
    """Not even where the link leads back into the project: it may lead elsewhere tomorrow."""
    folder = project(f'local_logging = true\nlog_dir = "{log_dir}"\n')
    (folder / "real").mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "link").symlink_to(folder / "real")
    (folder / "real" / "link").symlink_to(folder)
    assert "is a symbolic link" in _log(folder)
    assert [*tmp_path.rglob("*.log")] == []


@pytest.mark.parametrize("log_dir", [".git/refs/heads", ".git", "sub/.GIT/hooks"])
def test_no_log_is_written_into_gits_own_folder(project, log_dir):
    """A line among the refs would break the repository."""
    folder = project(f'local_logging = true\nlog_dir = "{log_dir}"\n')
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    assert _log(folder).endswith("leads into git's own folder.")
    assert [*folder.rglob("*.log")] == []


def test_what_is_not_allowed_is_asked_about_once(project):
    """The first answer says where the log would lie and who allows it; then nothing is said."""
    folder = project("local_logging = true\n")
    config, trusted = _found(folder), _trusted(folder)
    first = write_log(config, Entry(), UTC, trusted)
    assert str(folder / "logs") in first
    assert "`commonplace trust`" in first
    assert write_log(config, Entry(), UTC, _trusted(folder)) == ""
    assert os.listdir(folder) == [".chronicle"]
    assert trusted.each() == []


def test_a_changed_config_is_asked_about_again(project):
    """What was allowed is this file with this content; the former content is asked about as well."""
    folder = project("local_logging = true\n")
    assert _log(folder) == ""
    allowed = _found(folder)
    assert _trusted(folder).each() == [
        TrustRequest(
            file=str(folder / ".chronicle"), content=allowed.content, allowed=True, logs=("logs",)
        )
    ]
    (folder / ".chronicle").write_text('local_logging = true\nlog_dir = "other"\n')
    assert "asks for a project log" in write_log(_found(folder), Entry(), UTC, _trusted(folder))
    assert not _trusted(folder).is_allowed(allowed)
    assert not (folder / "other").exists()


def test_what_was_allowed_can_be_revoked(project):
    """Afterwards nothing is written, and the user, who has answered, is not asked again."""
    folder = project("local_logging = true\n")
    assert _log(folder) == ""
    trusted = _trusted(folder)
    assert (trusted.revoke(folder / ".chronicle"), trusted.each()) == (True, [])
    assert trusted.revoke(folder / ".chronicle") is False
    before = (folder / "logs" / "2025-11-29.log").read_text()
    assert write_log(_found(folder), Entry(), UTC, trusted) == ""
    assert (folder / "logs" / "2025-11-29.log").read_text() == before


@pytest.mark.parametrize(
    "record", [b"", b"{", b"[]", b'{"file": 1}', b"\xff", b'{"allowed": true}']
)
def test_a_record_that_cannot_be_read_allows_nothing(project, record):
    """A file cut short by a crash means that the user is asked again."""
    folder = project("local_logging = true\n")
    assert _log(folder) == ""
    (kept,) = (folder.parent.parent / "trusted").iterdir()
    kept.write_bytes(record)
    assert "asks for a project log" in write_log(_found(folder), Entry(), UTC, _trusted(folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root can give a file to another user.")
@pytest.mark.parametrize("path", [".chronicle", "logs", "logs/2025-11-29.log"])
def test_nothing_is_written_to_another_users_file_or_folder(project, path):
    """Neither that user's `.chronicle` nor log is obeyed, allowed or not."""
    folder = project("local_logging = true\n")
    (folder / "logs").mkdir()
    (folder / "logs" / "2025-11-29.log").write_text("")
    os.chown(folder / path, 65_534, 65_534)
    assert _log(folder) == f"No project log was written: {folder / path} belongs to another user."
    assert (folder / "logs" / "2025-11-29.log").read_text() == ""


def test_a_log_that_is_a_link_or_a_pipe_is_refused(project, tmp_path):
    """The file of the day is neither followed elsewhere nor waited for."""
    folder = project("local_logging = true\n")
    (folder / "logs").mkdir()
    target = tmp_path / "target"
    target.write_text("")
    log = folder / "logs" / "2025-11-29.log"
    log.symlink_to(target)
    assert _log(folder).startswith("No project log was written: ")
    assert target.read_text() == ""
    log.unlink()
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert _log(folder) == f"No project log was written: {log} is not a plain file."
    finally:
        os.close(reader)
    assert _log(folder).startswith("No project log was written: ")


def test_a_project_s_settings_that_became_a_pipe_are_broken(project):
    """An entry of before is looked for where they said: nothing waits for them."""
    file = project("local_logging = true\n") / ".chronicle"
    file.unlink()
    os.mkfifo(file)
    assert "is not a file" in read_log_config(file).warning


def test_a_folder_that_cannot_be_written_is_a_warning(project, plain_permissions):
    """A disk that refuses is told of, and never raised."""
    folder = project("local_logging = true\n")
    (folder / "logs").write_text("in the way")
    assert "is not a folder" in _log(folder)
    (folder / "logs").unlink()
    (folder / "logs").mkdir(mode=0o500)
    with plain_permissions():
        assert "is refused" in _log(folder)


def test_modes_follow_the_umask(project):
    """A new log is 0644 less the umask, its folder 0755 less it."""
    folder = project("local_logging = true\n")
    before = os.umask(0o027)
    try:
        assert _log(folder) == ""
    finally:
        os.umask(before)
    assert (folder / "logs").stat().st_mode & 0o777 == 0o750
    assert (folder / "logs" / "2025-11-29.log").stat().st_mode & 0o777 == 0o640


def test_writers_at_once_never_mix_their_entries(project):
    """Eight threads, forty entries each: every line is whole."""
    folder = project('local_logging = true\nlog_format = "json"\n')

    def write(name: str) -> None:
        for _ in range(40):
            assert _log(folder, Entry(message=name * 900)) == ""

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcdefgh"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    lines = (folder / "logs" / "2025-11-29.log").read_text().splitlines()
    messages = [json.loads(line)["message"] for line in lines]
    assert sorted(messages) == sorted(name * 900 for name in "abcdefgh" for _ in range(40))


@cases("ending", ["\n", "\r", "\r\n"])
def test_a_message_cannot_forge_an_entry(ending):
    """Further lines are indented by four spaces: neither a heading nor an item of ours."""
    forged = ending.join(["did it", "", "## 09:00:00 - was paid", "- **User**: boss@host"])
    hostile = Entry(
        message=forged,
        tags=(f"a{ending}## b",),
        hostname=f"h{ending}## c",
        directory=f"/x{ending}## d",
    )
    assert render_log(hostile, "markdown", UTC) == (
        "## 14:30:00 - did it\n\n    ## 09:00:00 - was paid\n    - **User**: boss@host\n"
        "- **Tags**: a ## b\n- **User**: testuser@h ## c\n- **Directory**: /x ## d\n\n"
    )


@given(st.text(), st.lists(st.text(), max_size=3), st.text(), st.sampled_from(["markdown", "text"]))
def test_only_the_first_line_of_an_entry_begins_a_heading(message, tags, hostname, log_format):
    """Whatever is logged, one line is the heading, and nothing in it steers a terminal."""
    entry = Entry(message=message, tags=tuple(tags), hostname=hostname, directory=message)
    text = render_log(entry, log_format, UTC)
    lines = text.split("\n")
    assert "\r" not in text
    assert "\x1b" not in text
    if log_format == "markdown":
        assert [line.startswith("## ") for line in lines].count(True) == 1
        assert [line.startswith("- **Directory**") for line in lines].count(True) == 1
    else:
        assert [line[:1] not in {"", " "} for line in lines].count(True) == 1


def test_an_offset_with_seconds_is_written_in_utc():
    """RFC 3339 has minutes alone; the instant goes before the clock."""
    odd = timezone(timedelta(hours=1, seconds=7))
    assert '"timestamp":"2025-11-29T14:30:00Z"' in render_log(Entry(), "json", odd)
