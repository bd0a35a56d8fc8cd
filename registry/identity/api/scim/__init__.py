"""SCIM 2.0 over HTTP, by scim2-server.

`views` loads the library at the first request: a hub without an identity provider does without its
memory.
"""
