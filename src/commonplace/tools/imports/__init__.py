"""An import from another program, in words."""
