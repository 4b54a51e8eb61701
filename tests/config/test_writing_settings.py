"""The user's settings file beside other processes, and values that it cannot hold."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.config.settings import unset_setting, user_file, write_setting
from commonplace.core.errors import Invalid
from commonplace.core.toml import parse_toml

VALUES = {
    "owner": "ann",
    "timezone": "Europe/Paris",
    "read_only": "yes",
    "toolsets": "private",
    "notebook.min_score": "0.5",
    "hooks.recall": "true",
    "log": "/var/log/ours",
}


def test_settings_that_are_written_at_once_are_all_there():
    """Two terminals, or a script beside one: neither puts the file back to what it had read."""
    keys = [*VALUES]
    barrier = threading.Barrier(len(keys))

    def write(key):
        barrier.wait()
        write_setting(key, VALUES[key], user_file())

    with ThreadPoolExecutor(len(keys)) as pool:
        list(pool.map(write, keys))
    written = parse_toml(user_file().read_text(), name="the file")
    flat = {
        f"{name}.{key}" if isinstance(value, dict) else name
        for name, value in written.items()
        for key in (value if isinstance(value, dict) else [""])
    }
    assert flat == set(keys)


def test_a_path_that_is_not_utf8_is_refused_and_named():
    """A folder may have such a name on Linux, a TOML file may not."""
    with pytest.raises(Invalid, match="COMMONPLACE_HOME") as caught:
        write_setting("home", "/tmp/\udcff", user_file())
    assert "/tmp/\\udcff" in str(caught.value)
    assert not user_file().exists()


def test_unsetting_makes_no_folder():
    """Where there is no file, there is nothing to take out."""
    assert unset_setting("owner", user_file()) is False
    assert not user_file().parent.exists()


def test_what_a_killed_command_left_beside_the_file_is_removed():
    """A temporary file that is old, at the next write."""
    write_setting("owner", "ann", user_file())
    temp = user_file().with_name(".00000000-0123456789abcdef.tmp")
    temp.write_text("owner")
    os.utime(temp, (0, 0))
    write_setting("owner", "bob", user_file())
    assert [each.name for each in user_file().parent.iterdir()] == ["config.toml"]
