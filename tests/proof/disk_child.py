"""Calls tools for a test, in a process whose disk the test makes fail; reads and writes lines of JSON.

Each line names a folder and an owner, a tool and its arguments; `close` in place of a tool ends the
app of these.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.errors import CommonplaceError
from commonplace_testing import HashingEncoder, ReadySlot


def opened(folder: Path, owner: str) -> App:
    """An owner's app over a home and a project in a folder of the disk."""
    home, project = folder / "home", folder / "project"
    environ = {
        "COMMONPLACE_HOME": str(home / "data"),
        "COMMONPLACE_OWNER": owner,
        "COMMONPLACE_TOOLSETS": "all",
        "CHRONICLE_DB_PATH": str(home / "chronicle.db"),
    }
    settings = read_settings(environ=environ, flags={"timezone": "UTC"}, cwd=project, home=home)
    return App(settings, user_home=home, encoder=ReadySlot(HashingEncoder()))


def answered(app: App, name: str, arguments: dict[str, object]) -> dict[str, object]:
    """What a tool answers, or the error that a door would show."""
    tools = {tool.name: tool for toolset in app.toolsets() for tool in toolset.tools}
    try:
        answer = tools[name].call(arguments)
    except CommonplaceError as exc:
        return {"code": exc.code, "text": str(exc)}
    except Exception:  # noqa: BLE001  a door says "Internal error" here
        return {"code": "internal", "text": traceback.format_exc()}
    return {"code": "", "text": answer.text, "facts": answer.facts}


def main() -> None:
    """Answer until there is no line more."""
    apps: dict[tuple[str, str], App] = {}
    for line in sys.stdin:
        folder, owner, name, arguments = json.loads(line)
        if name == "close":
            if (folder, owner) in apps:
                apps.pop((folder, owner)).close()
            told: dict[str, object] = {}
        else:
            if (folder, owner) not in apps:
                apps[folder, owner] = opened(Path(folder), owner)
            told = answered(apps[folder, owner], name, arguments)
        sys.stdout.write(json.dumps(told, default=str) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
