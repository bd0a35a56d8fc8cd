"""Signatures of publishers over the files of versions, and the signers whose signatures count."""
