"""The light client: what `import hub` offers, over HTTP and a cache on disk.

Importing it loads the standard library alone; urllib3 and onnx are imported at first use.
"""
