"""Words and vectors derived from journals; everything here may be deleted and rebuilt."""
