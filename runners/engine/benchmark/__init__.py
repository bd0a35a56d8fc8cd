"""How fast a model is, so that others can check it: fresh processes, every sample, one pure sum.

`record`, `typed_record`, `statistics`, `summary` and `verification` are plain Python and may be
used anywhere; what loads a model runs in children of the sandbox alone.
"""
