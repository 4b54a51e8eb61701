"""Words for a model: one file a toolset, typed functions; knows no SDK and no terminal."""
