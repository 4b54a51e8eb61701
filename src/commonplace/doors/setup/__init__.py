"""How Commonplace is put into the configuration of MCP clients."""
