"""Finds the journals that lie in subfolders, work trees and joined clones of a project.

They were written while each of these was a project by itself. Nothing more is written to them; what
they hold is read, listed and searched with the project's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.projects import clones_of, project_of, work_trees
from commonplace.journals.private.roots import FOLDER, project_digest, project_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.core.expiring import Hidden
    from commonplace.journals.private.project_roots import ProjectRoots
    from commonplace.journals.private.roots import Root, Roots


def find_former_roots(
    roots: Roots, known: ProjectRoots, *, folder: Path, home: Path | None
) -> tuple[Root, ...]:
    """The other journals of a project, each as a root that is only read; by path.

    None where the user has named one folder for the journal: then each process had that one.

    folder: where in the project the work is done.
    """
    if roots.base is None:
        return ()
    here = project_of(folder, home)
    tops = [here.root, *work_trees(here.git), *clones_of(here.git)]
    # The user's own, under the name that it would have as the journal of a project at the home.
    own = {f"project@{project_digest(roots.user)}", *(root.scope for root in roots.each())}
    found: dict[str, Root] = {}
    for root in (*_near(folder, tops, roots.hidden), *_known(known, tops)):
        if root.scope in own or root.scope in found or root.link() or not os.path.isdir(root.path):
            continue
        if project_of(root.path.parent, home).root == here.root:
            found[root.scope] = root
    return tuple(sorted(found.values(), key=lambda root: root.path))


def _near(folder: Path, tops: Sequence[str], hidden: Hidden) -> Iterator[Root]:
    """The usual places: from the folder upward, and in each work tree and joined clone."""
    real = Path(os.path.realpath(folder))
    for place in (real, *real.parents):
        yield project_root(place / FOLDER, base=place, hidden=hidden)
        if str(place) in tops:
            break
    for top in map(Path, tops):
        yield project_root(top / FOLDER, base=top, hidden=hidden)


def _known(known: ProjectRoots, tops: Sequence[str]) -> Iterator[Root]:
    """Those that were recorded, as far as they lie in the project, a work tree or a clone."""
    below = tuple(f"{top}{os.sep}" for top in tops)
    return (root for root in known.each() if os.path.realpath(root.path).startswith(below))
