"""The models: encoder, profiles, where weights come from; never touches a journal or an index."""
