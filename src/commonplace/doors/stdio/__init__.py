"""`commonplace mcp`: a session over stdin and stdout, its first answers from a snapshot."""
