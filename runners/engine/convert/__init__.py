"""Task "convert": a model in another precision, made by the runtime's own tools and measured.

The original is run first; then the variant is loaded, described and compared with it. The loss of
accuracy is a figure of the report. Only a variant below the floor of `parity` fails.
"""
