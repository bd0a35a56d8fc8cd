"""Models to begin with, out of packages: a manifest, what fetches the packages, and the import."""
