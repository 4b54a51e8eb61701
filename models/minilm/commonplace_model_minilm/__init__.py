"""The weights of all-MiniLM-L6-v2, in the folder `model`, which Commonplace finds by itself."""
