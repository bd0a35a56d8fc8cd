"""How fast a model is, so that others can check it: fresh processes, every sample, one pure sum.

`record`, `statistics`, `summary` and `verification` are plain Python over plain data and may be
used anywhere; what loads a model runs in children of the sandbox alone.
"""
