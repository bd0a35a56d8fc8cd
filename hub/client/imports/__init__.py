"""Importing models from Hugging Face and from Model Zoos."""
