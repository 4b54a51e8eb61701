"""Lets searches wait as long as the machine needs, as the fixture `patient_searches` does."""

from __future__ import annotations

from tests.patience import PATIENCE_S

from commonplace.search import policy

for wait in ("ENCODER_WAIT_S", "VECTORS_WAIT_S", "FILING_WAIT_S"):
    setattr(policy, wait, PATIENCE_S)
