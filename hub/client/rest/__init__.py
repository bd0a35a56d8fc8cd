"""The REST API as typed Python: a group for each kind of thing, such as `hub.jobs`.

Everything but `calls` and `answers` is written by scripts/rest.py from docs/openapi.yaml.
"""
