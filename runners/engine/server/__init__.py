"""The fork server and the tasks it knows."""
