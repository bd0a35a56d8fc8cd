"""The page on which administrators import models to begin with."""
