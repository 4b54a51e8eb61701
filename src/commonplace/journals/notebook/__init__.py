"""The notebook: sections in git, each an overview with its entries as commits."""
