"""The merge of two overviews by block, as the tools use it; the journal owns it.

Decides nothing.
"""

from __future__ import annotations

from commonplace.journals.notebook_merge import END, Merged, blocks_of, merge

__all__ = ["END", "Merged", "blocks_of", "merge"]
