"""The pages of discussions."""
