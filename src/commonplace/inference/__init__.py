"""The models: encoder, profiles and where weights come from; never touches a journal or an index."""
