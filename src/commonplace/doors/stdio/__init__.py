"""`commonplace mcp`: a session over stdin and stdout, begun from lists that were built before."""
