"""How many members a zip lists, before the zip module makes an object of each."""

from __future__ import annotations

import struct
import zipfile
from io import BytesIO

import pytest

from commonplace.core.archive import count_members

END = struct.Struct("<4s4H2LH")


@pytest.mark.parametrize("says", [0, 1, 0xFFFFFFFF])
def test_the_record_of_zip64_counts_whatever_the_last_one_says(says):
    """As the zip module reads it: where its locator stands, its size is the directory's."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}", b"x")
    content, end = made.getvalue()[: -END.size], END.unpack(made.getvalue()[-END.size :])
    size, start = end[5:7]
    assert start + size == len(content)
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 3, 3, size, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(content), 1)
    file = BytesIO(content + record + locator + END.pack(*end[:3], 0, 0, says, says, 0))
    assert len(zipfile.ZipFile(file).namelist()) == 3
    assert count_members(file, len(file.getvalue())) == 3
