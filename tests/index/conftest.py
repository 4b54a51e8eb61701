"""An index on disk, and ways to break it."""

import contextlib
import importlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import HashingEncoder, IndexContract, a_doc


@pytest.fixture
def encoder():
    return HashingEncoder()


@pytest.fixture
def law():
    """The helpers of the contract: `filled` and `find`."""
    return IndexContract()


@pytest.fixture
def folder(tmp_path):
    """The folder of the owner `me`."""
    return tmp_path / "users" / "me"


@pytest.fixture
def opened(tmp_path):
    """Makes indexes over one folder of owners; each call is what another process would open."""
    made = []

    def open_index():
        made.append(SqliteIndex(lambda owner: tmp_path / "users" / owner))
        return made[-1]

    yield open_index
    for each in made:
        each.close()


@pytest.fixture
def open_to_all():
    """A folder that any user of the machine may enter."""
    # Root's own folder for temporary files may be closed to others.
    root = Path(tempfile.mkdtemp(dir="/tmp" if os.geteuid() == 0 else None))
    root.chmod(0o777)
    yield root
    shutil.rmtree(root)


@pytest.fixture
def as_plain_user(opened, law):
    """A context in which a read-only folder means something: root may write anywhere."""
    # What is read from packages once is read now: their folders may be closed to others.
    importlib.import_module("mmap")  # numpy's, once it reads a matrix
    law.filled(opened(), [a_doc("n:1", "harbour")], "somebody else")

    @contextlib.contextmanager
    def acting():
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)

    return acting
