"""Checks of packages in the queue, and what came of them over HTTP."""
