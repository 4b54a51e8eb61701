"""What other distributions add to this one, by Python's entry points, each kind in a group.

Never looks at what is installed before one of them is asked for: that takes tens of milliseconds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from commonplace.core.errors import Unavailable

BACKENDS = "commonplace.backends"
"""The group of what keeps or finds something: its names are those of the tables of backends."""

COMMANDS = "commonplace.commands"
"""The group of commands: `serve`, or `memory.worker` for one of a journal's."""

IMPORTERS = "commonplace.importers"
"""The group of what reads other programs' entries: its names are those that `import` takes."""


class Plugin(NamedTuple):
    """A class, a module, a function or a command that another distribution adds.

    Args:
        group: The group of its entry point.
        name: The name of its entry point.
        extra: The extra of ours that brings the distribution, `commonplace-` and this; empty for
            one that is nothing of ours.
    """

    group: str
    name: str
    extra: str = ""

    def load(self) -> Any:
        """It, imported now.

        Raises:
            Unavailable: Its distribution, or a library of it, is not installed.
        """
        from importlib.metadata import entry_points

        for found in entry_points(group=self.group, name=self.name):
            try:
                return found.load()
            except ImportError as exc:
                raise self._missing(exc.name or "A library") from exc
            except (AttributeError, SyntaxError) as exc:
                said = f"{self.name}, which another package adds, cannot be loaded: {exc}."
                raise Unavailable(said, hint="Update that package, or remove it.") from exc
        raise self._missing(f"commonplace-{self.extra}" if self.extra else self.name)

    def _missing(self, what: str) -> Unavailable:
        hint = f'Run `pip install "commonplace-memory[{self.extra}]"`.'
        return Unavailable(
            f"{what} is not installed.",
            hint=hint if self.extra else f"Install it again with what brings `{self.name}`.",
        )


def list_plugins(group: str) -> list[str]:
    """The names of all that is installed of a group."""
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group).names)
