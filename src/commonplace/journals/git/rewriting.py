"""Makes the branches of a repository anew with other contents and messages, beside what is there.

Moves no branch and touches no work tree: whoever asked puts the new ones in place, in one step.
"""

from __future__ import annotations

import re
import tempfile
from typing import IO, TYPE_CHECKING

from commonplace.core.errors import Corrupted
from commonplace.journals.git.refs import list_refs
from commonplace.journals.git.run import LONG_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.journals.git.repo import GitRepository

MADE = "refs/commonplace/rewritten"
"""Below it the new branches stand until they are put in place."""

_BRANCH = re.compile(rb"(commit|reset) refs/heads/")
_ASIDE = rb"\1 " + MADE.encode() + b"/"
_BEGINNINGS = (b"blob", b"commit", b"reset", b"tag")
_OLD = ("COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "REBASE_HEAD", "AUTO_MERGE")


def rewrite_branches(
    repo: GitRepository,
    change_content: Callable[[bytes], bytes],
    change_message: Callable[[str, bytes], bytes],
) -> dict[str, str]:
    """Make every branch anew; by its name the commit that it would be at.

    A commit before the first that changes keeps its hash. Signatures are lost.

    Args:
        repo: As its one writer has it.
        change_content: Gives the new content of a file for the old one.
        change_message: Gives the new message of a commit for its hash and the old one.

    Raises:
        Unavailable, Denied, Corrupted.
    """
    asked = ["fast-export", "--branches", "--show-original-ids", "--reencode=no"]
    with tempfile.TemporaryFile() as made:
        with repo.git.stream(asked) as stream:
            made.writelines(_changed(stream, change_content, change_message))
        made.seek(0)
        repo.git.run(["fast-import", "--quiet", "--force"], stdin=made, timeout_s=LONG_TIMEOUT_S)
    return {ref.replace(MADE, "refs/heads", 1): name for ref, name in list_refs(repo, MADE).items()}


def drop_unreachable(repo: GitRepository) -> None:
    """Remove every object that no ref leads to, and what remembers where refs were.

    repo: As its one writer has it. Raises: Unavailable, Denied.
    """
    for name in _OLD:
        (repo.git_dir / name).unlink(missing_ok=True)
    repo.git.run(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"])
    repo.git.run(["gc", "--quiet", "--prune=now"], timeout_s=LONG_TIMEOUT_S)


def _changed(
    stream: IO[bytes],
    change_content: Callable[[bytes], bytes],
    change_message: Callable[[str, bytes], bytes],
) -> Iterator[bytes]:
    kind, name = b"", ""
    for line in stream:
        verb, _, rest = line.rstrip(b"\n").partition(b" ")
        if verb == b"data":
            content = stream.read(int(rest))
            if len(content) != int(rest):
                raise Corrupted("git's stream of the history broke off.", hint="Try again.")
            if kind == b"blob":
                content = change_content(content)
            elif kind == b"commit":
                content = change_message(name, content)
            yield b"data %d\n" % len(content)
            yield content
            continue
        if verb in _BEGINNINGS:
            kind = verb
        elif verb == b"original-oid":
            name = rest.decode("ascii", "replace")
        yield _BRANCH.sub(_ASIDE, line, count=1) if verb in _BEGINNINGS else line
