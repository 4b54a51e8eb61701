"""Chroma as the vector store of Commonplace, where the settings choose it."""
