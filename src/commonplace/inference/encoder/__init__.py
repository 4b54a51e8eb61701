"""The embedding models: profiles, weights, tokens and the ONNX session."""
