"""The files of a version as one package: its layout, its components, and their contradictions."""
