"""Models out of the archives of packages: files are read and converted, no code of them runs."""
