"""What several toolsets offer together, by names and words alone: the one rule, for two readers.

A server merges toolsets by it, and a session that begins from the built lists does without loading
any. Imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def merge_tools(
    toolsets: Mapping[str, Mapping[str, bool]], twins: Mapping[str, str], default: str
) -> dict[str, bool]:
    """The names of all tools, each once, and whether a client is shown it.

    A tool is listed if any toolset lists it. Beside the default toolset it is not, where a listed
    one does the same: two near-twins only make a model choose. It can be called all the same.

    Args:
        toolsets: The tools of each toolset by name, and whether it lists them.
        twins: By the names of tools, the one that does the same beside the default tools.
        default: The name of the default toolset.
    """
    merged: dict[str, bool] = {}
    for tools in toolsets.values():
        for name, is_listed in tools.items():
            merged[name] = is_listed or merged.get(name, False)
    if default in toolsets:
        listed = {name for name, is_listed in merged.items() if is_listed}
        merged |= {name: False for name in merged if twins.get(name) in listed}
    return merged


def merge_guides(
    guides: Mapping[str, tuple[str, str]], default: str, parts: Collection[str]
) -> tuple[str, str]:
    """What several toolsets say on searching, and what on writing, a paragraph each.

    The default toolset, where it is offered too, says what its parts are for.

    Args:
        guides: What each says on both, by its name.
        default: The name of the default toolset.
        parts: The toolsets that it is made of.
    """
    own = [said for name, said in guides.items() if default not in guides or name not in parts]
    searching, writing = ("\n\n".join(filter(None, words)) for words in zip(*own, strict=True))
    return searching, writing
