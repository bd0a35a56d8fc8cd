"""Packages of versions, as the engine found them: their table, and what reads and writes it."""
