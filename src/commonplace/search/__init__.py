"""Judgement: filing keeps the index behind the journals, the finder asks it, rank decides."""
