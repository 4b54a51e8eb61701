"""The words of a project: where it is, what else is read, and which clones may be joined."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Invalid
from commonplace.core.values import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.verbs.projects import ProjectService, ProjectState


def project_answer(service: ProjectService | None) -> Answer:
    """The project that work is done in. Raises: Invalid where there is none."""
    state = _present(service).state()
    return Answer(text="\n".join(project_lines(state)), facts=project_facts(state))


def join_answer(service: ProjectService | None, other: Path) -> Answer:
    """Join a clone to another project. Raises: Invalid, Conflict, Denied, Unavailable."""
    root = _present(service).join(other)
    return Answer(
        text=f"Joined: this clone is a part of the project {root} now. What was written here is "
        "still found; what is written from now on lies there.\n"
        "Undo it with: commonplace project --leave",
        facts={"root": str(root)},
    )


def leave_answer(service: ProjectService | None) -> Answer:
    """Take a clone out of a project again. Raises: Invalid, NotFound, Denied, Unavailable."""
    root = _present(service).leave()
    return Answer(
        text=f"This clone is a project by itself again. What was written meanwhile lies in {root}.",
        facts={"left": str(root)},
    )


def project_facts(state: ProjectState) -> dict[str, Any]:
    """A project as plain data."""
    return {
        "root": str(state.root),
        "folder": str(state.folder),
        "isolated": state.is_isolated,
        "also_read": [str(path) for path in state.journals],
        "joined": [str(path) for path in state.joined],
        "clones": [str(path) for path in state.clones],
    }


def project_lines(state: ProjectState) -> Iterator[str]:
    """A project for people: a line for each thing that they may not expect."""
    yield f"Project  {state.root}{', a project by itself' if state.is_isolated else ''}"
    yield from (f"         also read: {path}" for path in state.journals)
    yield from (f"         joined: {path}" for path in state.joined)
    for path in state.clones:
        yield (
            f"         {path} begins with the same commit. If it is the same project: "
            f"commonplace project --join {shlex.quote(str(path))}"
        )


def _present(service: ProjectService | None) -> ProjectService:
    if service is None:
        raise Invalid("No project is known here.", hint="Go to its folder, or name it: --project.")
    return service
