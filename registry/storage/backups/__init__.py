"""Backups: a dump of the database, every blob it names, and a manifest that makes them one."""
