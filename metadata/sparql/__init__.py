"""Questions in SPARQL 1.1: what is refused, who computes the answer, and what it may cost.

A stranger's query is read first by our own guard, then computed in a process that has no network,
can be killed, and sees only a copy of what is public.
"""
