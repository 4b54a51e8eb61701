"""The index's file: what one thread finds wrong with it says nothing of a file made since."""

from __future__ import annotations

import threading

import pytest

from commonplace.core.errors import Corrupted
from commonplace.index.sqlite.file import IndexFile


def in_a_thread(do):
    thread = threading.Thread(target=do)
    thread.start()
    thread.join()


def use(file):
    with file.using():
        pass


def test_whoever_comes_late_with_a_broken_file_leaves_the_new_one_whole(tmp_path):
    """Another thread has made it again by then: it is not called corrupt, nor removed again."""
    file = IndexFile(tmp_path / "index")

    def fail_late():
        with file.using():
            in_a_thread(file.recreate)
            in_a_thread(lambda: use(file))
            raise Corrupted("The old file is corrupt.", hint="Try again.")

    with pytest.raises(Corrupted):
        fail_late()
    whole = file.look()
    assert whole is not None
    whole.close()
    file.close()
