"""The weights of all-MiniLM-L6-v2, in the folder `model`; Commonplace finds them without any setting."""
