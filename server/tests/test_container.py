"""What the Dockerfile says of a running container, without Docker.

Its command runs as its user, on a root of which nothing can be written.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from server.tests.http_world import free_port
from tests.patience import until

from commonplace.config.table import SETTINGS
from commonplace.doors.cli import main

DEPLOY = Path(__file__).parents[1] / "deploy"


def steps():
    """The instructions of the Dockerfile, each with its words; the last of a name counts."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text("utf-8"))
    lines = [line.split(" ", 1) for line in text.splitlines() if line and line[0] != "#"]
    return dict(lines)


def test_the_user_is_no_root_and_all_is_kept_in_the_volume():
    """By number, since Kubernetes refuses a name where it asks for one that is no root."""
    said = steps()
    user, group = said["USER"].split(":")
    assert int(user) > 0 < int(group)
    (volume,) = json.loads(said["VOLUME"])
    kept = dict(word.split("=") for word in shlex.split(said["ENV"]))
    assert all(path.startswith(volume) for path in kept.values())
    assert said["WORKDIR"] == volume


def is_possible():
    """Whether this process may make a file system of its own and change its user."""
    try_it = ["unshare", "--mount", "setpriv", "--reuid=10001", "true"]
    return all(map(shutil.which, ("unshare", "setpriv"))) and not subprocess.call(try_it)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux" or not is_possible(), reason="No namespaces here.")
def test_it_serves_on_a_read_only_root_and_is_healthy(tmp_path):
    """A token is made and the health check passes; the user can write nothing else."""
    said = steps()
    port = str(free_port())
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    os.chown(data, 10001, 10001)
    (volume,) = json.loads(said["VOLUME"])
    kept = {
        x: y.replace(volume, str(data))
        for x, y in (word.split("=") for word in shlex.split(said["ENV"]))
    }
    program = str(Path(sys.executable).with_name("commonplace"))
    command = [program, *json.loads(said["CMD"])]
    command = [word.replace("0.0.0.0:8765", f"127.0.0.1:{port}") for word in command]
    # Our Python may lie where only root reads, so reading is allowed everywhere, as in an image.
    user = (
        "setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs "
        "--inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search "
        "--bounding-set=-all,+dac_read_search"
    )
    inside = f"""
        mount --make-rprivate / && mount --bind {data} {data}
        awk '{{print $2}}' /proc/mounts | grep -v -e '^/proc' -e '^/sys' -e '^/dev$' -e '^{data}$' |
            while read -r at; do mount -o remount,bind,ro "$at" 2>/dev/null; done
        cd {data} && exec {user} "$@"
    """
    contained = ["unshare", "--mount", "sh", "-c", inside, "sh"]
    environ = {"PATH": os.environ["PATH"], **kept}

    def run(*words):
        return subprocess.run([*contained, *words], env=environ, capture_output=True, text=True)

    refused = run("touch", str(tmp_path / "elsewhere"), str(DEPLOY / "elsewhere"))
    assert refused.stderr.count("Read-only file system") == 2
    assert run(program, "tokens", "create", "--owner", "ann").stdout.startswith("cp_")
    server = subprocess.Popen([*contained, *command], env=environ, stderr=subprocess.PIPE)
    try:
        check = json.loads(said["HEALTHCHECK"].partition("CMD ")[2])
        check = [sys.executable, *(word.replace("8765", port) for word in check[1:])]
        until(lambda: not run(*check).returncode, "the server is healthy")
        assert {x.stat().st_uid for x in data.rglob("*")} == {10001}
    finally:
        server.send_signal(signal.SIGTERM)
        said_last = server.communicate()[1]
    assert server.returncode == 0, said_last


def test_the_compose_file_sets_what_is_a_setting_and_runs_what_is_a_command():
    """Each of ours on a read-only root; none has the password of another's role."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    ours = {name: each for name, each in services.items() if "build" in each}
    assert set(ours) == {"server", "migrate"}
    known = {setting.env for setting in SETTINGS}
    for each in ours.values():
        assert each["read_only"]
        assert set(each["environment"]) <= known
    assert "POSTGRES_PASSWORD" not in json.dumps(ours["server"])
    help_of = CliRunner().invoke(main, [*ours["migrate"]["command"], "--help"])
    assert help_of.exit_code == 0
    assert "127.0.0.1:8765:8765" in ours["server"]["ports"]


def test_a_token_is_made_before_the_server_is_started():
    """As the page says: on an address that others reach it does not start without one."""
    page = (DEPLOY.parent / "docs" / "http.md").read_text("utf-8")
    block = page.split("## In a container")[1].split("```sh\n")[1].split("```")[0]
    commands = [line.split("#")[0].split() for line in block.splitlines()]
    made, up = (words for words in commands if words[:2] == ["docker", "compose"])
    assert up[2:] == ["up", "--detach"]
    assert made[2:5] == ["run", "--rm", "server"]
    assert CliRunner().invoke(main, [*made[5:7], "--help"]).exit_code == 0
    shown = CliRunner().invoke(main, json.loads(steps()["CMD"]))
    assert shown.exit_code == 1
    assert f"`commonplace {' '.join(made[5:7])} --owner" in shown.output
