"""Identity: the log of sign-ins, rights and protected downloads."""
