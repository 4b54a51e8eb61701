"""`commonplace completion`: the script that teaches a shell our commands.

Never runs a shell and never touches its files: it prints.
"""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from commonplace.core.values import Answer
from commonplace.doors.cli.frame import show
from commonplace.doors.cli.options import json_option


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion(shell: str, as_json: bool) -> None:
    """Print a shell's completion script.

    For bash, put this into ~/.bashrc: eval "$(commonplace completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(click.Command("commonplace"), {}, "commonplace", "_COMMONPLACE_COMPLETE")
    # The class's own source() of bash would start a bash to ask for its version.
    text = ShellComplete.source(script)
    show(Answer(text=text, facts={"shell": shell, "script": text}), as_json)
