"""SHACL: what a graph must say before publication, and what a profile would have it say.

`metadata.shapes.validator` asks a process of its own, which alone loads rdflib and pySHACL.
"""
