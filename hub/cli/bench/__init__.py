"""`hub bench`: the hub's benchmark on one's own machine, and the checking of records.

It reaches the client and the engine alike, as the command line does, and nothing of the site.
"""

# In a wheel the rooms lie below the server's package, which puts them on the path.
import hub.server  # noqa: F401
