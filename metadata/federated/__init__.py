"""Trainings as linked data: the rounds of versions, and the contributions of a round."""
