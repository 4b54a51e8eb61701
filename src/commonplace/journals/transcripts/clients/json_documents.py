"""Values of clients' JSON documents, which may be huge or hostile: one of a list at a time.

Never ends an import for what stands in one: it is counted as broken.
"""

from __future__ import annotations

import re
from typing import cast

from commonplace.core.archive import files_in
from commonplace.core.errors import Invalid
from commonplace.core.json_reader import BadJson, JsonReader
from commonplace.journals.transcripts.clients.parsing import BROKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.journals.transcripts.clients.parsing import Skipped

_MEMBERS = re.compile(r"(?:.*/)?conversations(?:-\d{1,4})?\.json")


def exported_values(path: str) -> Iterator[object | Skipped]:
    """The values of an export's lists, one after another: of a zip archive, or of a JSON file.

    Raises:
        Invalid: The archive is encrypted, damaged, or holds no conversations.
        NotFound, Denied, Unavailable.
    """
    is_empty = True
    for _name, read in files_in(path, lambda name: bool(_MEMBERS.fullmatch(name))):
        is_empty = False
        yield from list_values(read)
    if is_empty:
        raise Invalid(
            "The archive {place} holds no conversations.json.",
            hint="Name the archive that the export's mail led to.",
            place=path,
        )


def list_values(read: Callable[[int], bytes]) -> Iterator[object | Skipped]:
    """The values of a list of JSON, or the one value that a file holds.

    A value that is too long or broken is counted as such, and ends the file: where the next one
    begins cannot be known. read: gives the next bytes of the file.
    """
    document = JsonReader(read, "", errors="replace")
    try:
        if document.begins() == "[":
            for _line in document.elements():
                yield cast("object", document.value())
        elif document.begins():
            yield cast("object", document.value())
    except BadJson:
        yield BROKEN
