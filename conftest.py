"""What every test stands on: a home of its own, and none of the machine's settings."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

import hypothesis
import pytest
from server.tests import databases
from server.tests.databases import (  # noqa: F401  fixtures
    administrator,
    database,
    empty_database,
    own_server,
    postgres_index,
    postgres_template,
    postgres_url,
)
from tests.patience import PATIENCE_S
from tests.proof import reliability
from tests.proof.reliability import counted  # noqa: F401  a fixture

# How long an example takes says how busy the machine is; what things may cost, the bench says.
# The examples are the same at each run, so that none fails a change that has no part in it; new
# ones are tried by `make explore`.
hypothesis.settings.register_profile("commonplace", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True)
hypothesis.settings.load_profile("commonplace")

# A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Of the machine's environment only this reaches a test: where programs lie, and how libraries run.
KEPT_NAMES = {
    "CI",
    "COMSPEC",
    "PATH",
    "PATHEXT",
    "PYTHONPATH",
    "PYENV_ROOT",
    "SYSTEMROOT",
    "WINDIR",
}
KEPT_BEGINNINGS = (
    "CP_TEST_",
    "COVERAGE_",
    "HYPOTHESIS_",
    "LD_",
    "NODE_",
    "OPENBLAS_",
    "PYTEST_",
    "SSL_",
)
MEMORY_DISK = "/dev/shm"
_ENOUGH_BYTES = 4 << 30
_SKIPPED: list[str] = []
# Python looks for cycles as seldom as in a command (`commonplace.__main__`): it hardly finds any.
_COLLECTED_AT = 50_000
# In a fresh clone each file of tests is compiled for its asserts: two processes that begin at either
# end take half of the files each, and find the others made.
_COLLECTS_BACKWARDS = os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579"


def _forget_the_machine() -> None:
    """Leave no variable, zone, language or umask of the machine to the tests of this process."""
    for name in [*os.environ]:
        is_kept = name in KEPT_NAMES or name.startswith(KEPT_BEGINNINGS)
        if not is_kept or name == "PYTEST_ADDOPTS":
            del os.environ[name]
    os.environ.update({"LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"})
    if hasattr(time, "tzset"):
        time.tzset()
    os.umask(0o022)
    # Programs that tests start would else be compiled anew by each of them.
    sys.dont_write_bytecode = False


def _use_memory_disk() -> None:
    """Lay the run's folders into memory where there is room: a test then waits for no disk."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(MEMORY_DISK).free >= _ENOUGH_BYTES and os.access(MEMORY_DISK, os.W_OK):
            os.environ["TMPDIR"] = MEMORY_DISK


@pytest.fixture(scope="session")
def temp_of_run():
    """The temporary folder of the run, which no test gets itself."""
    return tempfile.gettempdir()


@pytest.fixture(scope="session")
def system_folder(temp_of_run):
    """What stands for the system's own folder: a file there bears out what the clock says."""
    with tempfile.TemporaryDirectory(prefix="cp-etc-", dir=temp_of_run) as folder:
        open(os.path.join(folder, "hosts"), "wb").close()
        yield folder


@pytest.fixture
def patient_searches(monkeypatch):
    """Searches that wait for vectors as long as they take, however busy the machine is.

    Theirs is a bound of a second or two, after which they answer by words: the subject of
    `tests/search` alone.
    """
    from commonplace.search import policy

    for wait in ("ENCODER_WAIT_S", "VECTORS_WAIT_S", "FILING_WAIT_S"):
        monkeypatch.setattr(policy, wait, PATIENCE_S)


@pytest.fixture(autouse=True)
def own_world(temp_of_run, tmp_path, monkeypatch, system_folder):
    """Point every home and folder at tmp_path, and stand in a project there."""
    home = tmp_path / "home"
    project = tmp_path / "project"
    # Short, since programs make sockets there, whose paths end at 107 bytes.
    temp = tempfile.mkdtemp(prefix="cp-", dir=temp_of_run)
    home.mkdir()
    project.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", temp)
    monkeypatch.setattr("commonplace.core.present.SYSTEM", system_folder)
    for name, folder in {
        "TMPDIR": temp,
        "HOME": home,
        "USERPROFILE": home,
        "APPDATA": home / "AppData" / "Roaming",
        "LOCALAPPDATA": home / "AppData" / "Local",
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local" / "share",
        "XDG_CACHE_HOME": home / ".cache",
        "XDG_STATE_HOME": home / ".local" / "state",
    }.items():
        monkeypatch.setenv(name, str(folder))
    monkeypatch.chdir(project)
    yield
    shutil.rmtree(temp, ignore_errors=True)


@contextlib.contextmanager
def _plain_permissions():
    """Make root obey the modes of files, as everybody else does."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3 of the interface, this thread
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    effective = sets[0]
    sets[0] = effective & ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert libc.capset(header, sets) == 0
    try:
        yield
    finally:
        sets[0] = effective
        assert libc.capset(header, sets) == 0


@pytest.fixture
def plain_permissions():
    """A context in which modes of files bind even root."""
    return _plain_permissions


@pytest.fixture
def no_weights(tmp_path, monkeypatch):
    """A machine without weights: words are enough there, and quick."""
    empty = tmp_path / "no weights"
    empty.mkdir()
    monkeypatch.setenv("COMMONPLACE_ENCODER_FOLDER", str(empty))


def pytest_addoption(parser):
    parser.addoption(
        "--on-disk", action="store_true", help="Lay the tests' folders on the disk, not in memory."
    )
    parser.addoption(
        "--no-skips", action="store_true", help="A skipped test fails the run, and says why."
    )
    parser.addoption(
        "--write-reliability",
        action="store_true",
        help="Write what the tests that count went through into docs/reliability.md.",
    )


def pytest_configure(config):
    _forget_the_machine()
    if not config.getoption("--on-disk"):
        _use_memory_disk()
    tempfile.tempdir = None
    databases.begin_run(config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """The tests that are found live to the end: Python need not look for cycles among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(_COLLECTED_AT)
        gc.enable()


@functools.cache
def _design_rows():
    """The numbers of all rows of the designs, without reading what the rows say."""
    files = (pathlib.Path(__file__).parent / "tests" / "designs").glob("*.toml")
    heads = re.compile(r"^\[([\d-]+)\]$", re.MULTILINE)
    return {row for file in files for row in heads.findall(file.read_text("utf-8"))}


def wrong_rows(item):
    """What is wrong with the rows of the designs that a test says it proves; empty for nothing."""
    for mark in item.iter_markers("design"):
        if not mark.args or not {*mark.args} <= _design_rows():
            named = ", ".join(map(str, mark.args)) or "none"
            return f"{item.nodeid} proves a row that is not in tests/designs: {named}"
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    items = [each for each in report.result or () if isinstance(each, pytest.Item)]
    if wrong := next(filter(None, map(wrong_rows, items)), ""):
        report.outcome, report.longrepr, report.result = "failed", wrong, []
    elif _COLLECTS_BACKWARDS and isinstance(collector, pytest.Directory | pytest.Session):
        report.result = report.result[::-1]
    return report


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.nodeid.partition("::")[0])  # alike, whichever end came first
    for item in items:
        room = item.nodeid.removeprefix("server/").split("/", 2)[1]
        if room == "proof" or "counted" in item.fixturenames:
            item.add_marker(pytest.mark.proof)
        if room == "contracts":
            item.add_marker(pytest.mark.law)


def pytest_unconfigure(config):
    databases.end_run(config)


def pytest_runtest_logreport(report):
    reliability.add_report(report)
    if report.skipped:
        _SKIPPED.append(f"{report.nodeid}: {report.longrepr}")


def pytest_sessionfinish(session):
    if session.config.getoption("--write-reliability") and not session.exitstatus:
        is_worker = hasattr(session.config, "workerinput")
        if not is_worker:
            reliability.write_page()
    if _SKIPPED and session.config.getoption("--no-skips") and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    if _SKIPPED and terminalreporter.config.getoption("--no-skips"):
        for line in _SKIPPED:
            terminalreporter.write_line(f"Skipped, and must not be: {line}")
