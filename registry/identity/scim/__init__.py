"""What identity providers change over SCIM 2.0 (RFC 7643, RFC 7644): accounts, groups, roles."""
