"""The graph store, SPARQL queries and shapes."""

from pathlib import Path

from hub.server.environment import env
from hub.server.settings.environment import HUB_HOME

# Path of the official SHACL file of MLDCAT-AP; by default the hub's own transcription is used.
HUB_MLDCAT_SHAPES = env.text("HUB_MLDCAT_SHAPES", default="")
# Query URL of your own SPARQL 1.1 server; by default the hub's own store answers. Its parameters,
# such as ?union-default-graph for Oxigraph, are sent with requests that name no data set.
HUB_SPARQL_URL = env.text("HUB_SPARQL_URL", default="")
# Graph Store HTTP Protocol URL of that server; by default `store` beside HUB_SPARQL_URL.
HUB_SPARQL_STORE_URL = env.text("HUB_SPARQL_STORE_URL", default="")
# Folder of the graph store, shared by the graphs process and the web processes.
HUB_GRAPHS = Path(env.text("HUB_GRAPHS", default=str(HUB_HOME / "graphs"))).resolve()
# Query processes of one web process; 0 means one per core, and at least four.
HUB_SPARQL_PROCESSES = env.integer("HUB_SPARQL_PROCESSES", default=0)
# Time limit of a guest's query, in seconds.
HUB_SPARQL_SECONDS = env.number("HUB_SPARQL_SECONDS", default=10.0)
# Time limit of a signed-in user's query, in seconds.
HUB_SPARQL_USER_SECONDS = env.number("HUB_SPARQL_USER_SECONDS", default=30.0)
# Computing time that one client's queries may use per minute, in seconds.
HUB_SPARQL_MINUTE_SECONDS = env.number("HUB_SPARQL_MINUTE_SECONDS", default=60.0)
# Memory limit of one query, in bytes.
HUB_SPARQL_BYTES = env.integer("HUB_SPARQL_BYTES", default=3 * 2**29)
# Largest result of a query, in bytes.
HUB_SPARQL_RESULT_BYTES = env.integer("HUB_SPARQL_RESULT_BYTES", default=50 * 10**6)
