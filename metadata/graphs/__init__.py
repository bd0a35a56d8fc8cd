"""Rows as RDF: pure functions from facts to one named graph each."""
