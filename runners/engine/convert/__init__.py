"""Task "convert": a model in another precision, made by the runtime's own tools and measured.

The original is run first; a variant that exists is loaded, described and compared with it. An
expected loss is a figure of the report. Only a variant below the floor of `parity` fails.
"""
