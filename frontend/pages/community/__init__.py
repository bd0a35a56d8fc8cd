"""The pages of discussions, collections, likes and watched models."""
