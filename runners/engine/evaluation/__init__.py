"""Task "evaluation": how good a model's answers are on a split of a data set, with intervals.

Three children: one reads the rows, one runs the model over them, one computes the figures.
"""
