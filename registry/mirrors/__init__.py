"""Models taken from other servers: sources, synchronisation, and what is fetched on request."""
