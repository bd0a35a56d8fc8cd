"""The client under the interfaces of other tools, each behind an optional extra."""
