"""SCIM 2.0 (RFC 7643, RFC 7644): an identity provider creates, changes and closes accounts.

`clients`, `users` and `groups` write rows. What speaks the protocol imports scim2-server, which
`views` loads at the first request: a hub without an identity provider does without its memory.
"""
