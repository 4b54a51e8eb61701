"""The pages whose examples are run, and whose parts that come from the code are written.

Never reads them: it names them alone.
"""

from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "recipes").glob("*.md")),
    *sorted((ROOT / "server" / "docs").glob("*.md")),
)
