"""Whether a file is a valid model."""
