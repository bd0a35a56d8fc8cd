"""Reading ONNX files from their bytes, and what they say."""
