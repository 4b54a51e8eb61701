"""Builds the branches of a repository again with other contents and messages, beside what is there.

Moves no branch and touches no work tree: the caller puts the new ones in place, in one step.
"""

from __future__ import annotations

import tempfile
from itertools import takewhile
from typing import IO, TYPE_CHECKING

from commonplace.core.errors import Corrupted, Unavailable
from commonplace.journals.git.refs import list_refs
from commonplace.journals.git.run import LONG_TIMEOUT_S, explain_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.journals.git.repo import GitRepository

REBUILT = "refs/commonplace/rewritten"
"""Below it the new branches stand until they are put in place."""

_BRANCHES = "refs/heads/"
_OLD = ("COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE")
_NOW = ("-c", "gc.reflogExpire=now", "-c", "gc.reflogExpireUnreachable=now")
_FILE_WORDS = 4  # M, mode, mark or name, path


def rewrite_branches(
    repo: GitRepository,
    change_content: Callable[[bytes], bytes],
    change_message: Callable[[str, bytes], bytes],
) -> tuple[dict[str, str], list[str]]:
    """Build every branch again.

    A commit before the first that changes stays what it is, signature and all; those behind it
    lose their signatures.

    Args:
        repo: As its one writer has it.
        change_content: Gives the new content of a file for the old one.
        change_message: Gives the new message of a commit for its hash and the old one.

    Returns:
        By its ref, the commit that each branch would be at; and the commits that change though none
        before them does: what leads to the former history of any that changes leads to one of them.
    """
    asked = ["fast-export", "--branches", "--show-original-ids", "--reencode=no"]
    with tempfile.TemporaryFile() as changed:
        with repo.git.stream(asked) as stream:
            rewriting = _Rewriting(stream, change_content, change_message)
            changed.writelines(rewriting.changed())
        if rewriting.first_changed:
            changed.seek(0)
            repo.git.run(
                ["fast-import", "--quiet", "--force"], stdin=changed, timeout_s=LONG_TIMEOUT_S
            )
    rebuilt = list_refs(repo, REBUILT) if rewriting.first_changed else {}
    branches = {ref.replace(REBUILT + "/", _BRANCHES, 1): name for ref, name in rebuilt.items()}
    return branches | rewriting.unchanged, rewriting.first_changed


def drop_unreachable(repo: GitRepository) -> None:
    """Remove every object that no ref leads to, and what remembers where refs were.

    The stack of stashes, which git keeps in the same way, stays.

    repo: As its one writer has it. Raises: Unavailable, Denied.
    """
    for name in _OLD:
        (repo.git_dir / name).unlink(missing_ok=True)
    ran = repo.git.run(
        [*_NOW, "gc", "--quiet", "--prune=now"], timeout_s=LONG_TIMEOUT_S, statuses=range(-64, 256)
    )
    if ran.status and "already running" in ran.err:
        raise Unavailable(
            "Another `git gc` works in the notebook, and what was forgotten is not yet removed.",
            hint="Wait until it has ended; if no git works there, remove the file {place}.",
            place=repo.common_dir / "gc.pid",
        )
    if ran.status:
        raise explain_failure(repo.folder, "gc", ran)


class _Rewriting:
    """Reads a stream of `git fast-export`, and writes for `git fast-import` what of it changes.

    What stays is named by the hash that it has. Afterwards `first_changed` is as `rewrite_branches`
    returns it, and `unchanged` has the branches that stay where they are.
    """

    def __init__(
        self,
        stream: IO[bytes],
        change_content: Callable[[bytes], bytes],
        change_message: Callable[[str, bytes], bytes],
    ) -> None:
        self._stream = stream
        self._change_content = change_content
        self._change_message = change_message
        # The names of what stays, by the marks that the stream gives to it.
        self._names: dict[bytes, bytes] = {}
        self.unchanged: dict[str, str] = {}
        self.first_changed: list[str] = []

    def changed(self) -> Iterator[bytes]:
        """The stream for `git fast-import`; to be read once."""
        branch = b""
        for line in self._stream:
            verb, _, rest = line.rstrip(b"\n").partition(b" ")
            if verb == b"blob":
                yield from self._blob()
            elif verb == b"commit":
                yield from self._commit(rest)
            elif verb == b"reset":
                branch = rest
            elif verb == b"from":  # a branch without a commit of its own
                if name := self._names.get(rest):
                    self.unchanged[_text(branch)] = _text(name)
                else:
                    self.unchanged.pop(_text(branch), None)
                    yield b"reset %s\nfrom %s\n\n" % (_aside(branch), rest)

    def _blob(self) -> Iterator[bytes]:
        _, mark, name, content = self._read_head()
        new = self._change_content(content)
        if new == content:
            self._names[mark] = name
        else:
            yield b"blob\nmark %s\n" % mark
            yield from _content(new)

    def _commit(self, ref: bytes) -> Iterator[bytes]:
        head, mark, name, message = self._read_head()
        lines = takewhile(lambda line: line != b"\n", self._stream)
        rest = [self._with_name(line) for line in lines]
        new = self._change_message(_text(name), message)
        parents = [line for line in rest if line.startswith((b"from ", b"merge "))]
        # What changes has a mark, and no name yet.
        follows = any(line.partition(b" ")[2].startswith(b":") for line in parents)
        files = (line.split(b" ", _FILE_WORDS - 1) for line in rest if line.startswith(b"M "))
        if not (follows or new != message or any(words[2].startswith(b":") for words in files)):
            self._names[mark] = name
            self.unchanged[_text(ref)] = _text(name)
            return
        if not follows:
            self.first_changed.append(_text(name))
        self.unchanged.pop(_text(ref), None)
        if not parents:  # else it would go on from what stands there
            yield b"reset %s\n\n" % _aside(ref)
        yield b"commit %s\nmark %s\n" % (_aside(ref), mark)
        yield from head
        yield from _content(new)
        yield from rest
        yield b"\n"

    def _read_head(self) -> tuple[list[bytes], bytes, bytes, bytes]:
        """The other lines before a content or message, its mark, its name, and itself."""
        head: list[bytes] = []
        mark = name = b""
        for line in self._stream:
            verb, _, rest = line.rstrip(b"\n").partition(b" ")
            if verb == b"data":
                content = self._stream.read(int(rest))
                if len(content) == int(rest):
                    return head, mark, name, content
                break
            if verb == b"mark":
                mark = rest
            elif verb == b"original-oid":
                name = rest
            else:
                head.append(line)
        raise Corrupted("git's export of the history broke off.", hint="Try again.")

    def _with_name(self, line: bytes) -> bytes:
        """A line about a parent or a file, with the name of what stays in place of its mark."""
        verb, _, rest = line.partition(b" ")
        if verb in {b"from", b"merge"}:
            mark = rest.rstrip(b"\n")
            return b"%s %s\n" % (verb, self._names.get(mark, mark))
        words = line.split(b" ", _FILE_WORDS - 1)
        if verb == b"M" and len(words) == _FILE_WORDS:
            words[2] = self._names.get(words[2], words[2])
        return b" ".join(words)


def _content(content: bytes) -> Iterator[bytes]:
    yield b"data %d\n" % len(content)
    yield content
    yield b"\n"


def _aside(ref: bytes) -> bytes:
    return ref.replace(_BRANCHES.encode(), REBUILT.encode() + b"/", 1)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
