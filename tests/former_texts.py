"""Former texts for the tests of one journal's service."""

from commonplace.core.former_files import FormerFiles
from commonplace.core.former_texts import FormerTexts


def former_in(folder, clock):
    """Those of an owner whose folder this is."""
    return FormerTexts(
        FormerFiles(folder / "former", prepare=lambda: None),
        servers={},
        keep_days=30,
        clock=clock,
        is_borne_out=lambda: True,
        shown=str,
    )
