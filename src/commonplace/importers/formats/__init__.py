"""What the programs of several importers have in common: text, dates, notes and vaults."""
