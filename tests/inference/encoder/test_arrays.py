"""Arrays that a graph names are read whole, and a broken file is an error that says what to do."""

from __future__ import annotations

import numpy as np
import pytest

from commonplace.core.errors import Invalid
from commonplace.inference.encoder.arrays import TABLE, read_arrays

PARTS = [np.arange(6, dtype=np.uint8).reshape(2, 3) + 10 * number for number in range(3)]


@pytest.fixture
def path(tmp_path):
    """A file of a table in three parts, and another array."""
    path = tmp_path / "weights.npz"
    parts = {f"q{number}": part for number, part in enumerate(PARTS, 1)}
    np.savez_compressed(path, bias=np.float32([1, 2]), quiet=np.float32([3]), **parts)
    return path


def test_arrays_come_in_the_order_of_their_names(path):
    """And the table is one array, whose row r lies in part r modulo the number of parts."""
    bias, table = read_arrays(path, ["bias", TABLE])
    assert bias.tolist() == [1, 2]
    assert table.dtype == np.uint8
    assert [row.tolist() for row in table] == [
        PARTS[row % 3][row // 3].tolist() for row in range(6)
    ]


def test_a_broken_file_is_refused(path, tmp_path):
    """Cut, empty, another file, without what is asked for, or with objects that would be run."""
    whole = path.read_bytes()
    inside = bytearray(whole)
    inside[60] ^= 0xFF
    for content in (b"", b"PK", b"{}", whole[:100], whole[:-30], bytes(inside)):
        path.write_bytes(content)
        with pytest.raises(Invalid, match="they are no whole arrays") as caught:
            read_arrays(path, ["bias", TABLE])
        assert caught.value.place == str(tmp_path)
    path.write_bytes(whole)
    with pytest.raises(Invalid):
        read_arrays(path, ["absent"])
    np.savez(path, bias=np.array([object()], dtype=object))
    with pytest.raises(Invalid):
        read_arrays(path, ["bias"])
    np.savez(path, q1=PARTS[0], q3=PARTS[2])
    with pytest.raises(Invalid):
        read_arrays(path, [TABLE])
    with path.open("wb") as file:
        np.save(file, PARTS[0])
    with pytest.raises(Invalid):
        read_arrays(path, ["bias"])
