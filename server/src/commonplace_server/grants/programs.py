"""The programs that a user has let in, as a page of theirs lists them and ends what they may do.

Never lists or ends what another let in: a member of a space sees neither another member's nor
what they themselves let in as a user.
"""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING

from commonplace.core.clock import parse_time
from commonplace.core.errors import NotFound
from commonplace.core.text import opening
from commonplace.doors.web.programs import ProgramLetIn
from commonplace_server.grants.documents import is_document_address
from commonplace_server.grants.grants import group_of
from commonplace_server.grants.redirects import place_of
from commonplace_server.tokens import digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.spaces import Member
    from commonplace_server.grants.grants import Grants
    from commonplace_server.grants.records import Record


class Programs:
    """Implements the port `doors.web.programs.KeepsPrograms`. Thread-safe."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def list_of(self, owner: str, member: Member | None) -> list[ProgramLetIn]:
        """What a user has let in; see the port."""
        grants = self._grants.list_valid(_group(owner, member))
        keys = {digest_of(each.facts["client"]) for each in grants}
        clients = {x.key: x for x in self._grants.records.find("client", [*keys])}
        listed = [_program(x, clients.get(digest_of(x.facts["client"]))) for x in grants]
        return sorted(listed, key=lambda x: (x.made, x.id), reverse=True)

    def end(self, owner: str, member: Member | None, program_id: str) -> str:
        """End what a program may do; see the port."""
        found = self._grants.records.find("grant", [program_id])
        if not found or found[0].group != _group(owner, member):
            raise NotFound(
                f"You let in no program {opening(program_id, 40)!r}.", hint="Load the page again."
            )
        self._grants.revoke(program_id)
        return str(found[0].facts["name"])


def _group(owner: str, member: Member | None) -> str:
    return group_of(owner, member.name if member else "")


def _program(grant: Record, client: Record | None) -> ProgramLetIn:
    facts = grant.facts
    named: Sequence[str] = client.facts["redirect_uris"] if client else ()
    address = facts["client"] if is_document_address(facts["client"]) else ""
    return ProgramLetIn(
        id=grant.key,
        name=facts["name"],
        described_at=urllib.parse.urlsplit(address).hostname or "",
        client=facts["client"],
        goes_to=tuple(dict.fromkeys(map(place_of, named))),
        may_write="write" in facts["scopes"],
        toolsets=tuple(facts["toolsets"]),
        made=parse_time(facts["made"]),
        used=parse_time(facts["used"]),
        until=grant.until,
    )
