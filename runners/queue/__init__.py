"""Jobs and workers: queueing, claiming, leases, pools, heartbeats."""
