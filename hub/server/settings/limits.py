"""Limits of files, namespaces, users, jobs, requests and texts."""

from hub.server.environment import env

# Largest single file, in bytes.
HUB_LIMITS_FILE_BYTES = env.integer("HUB_LIMITS_FILE_BYTES", default=20 * 10**9)
# Largest total size of the files of one namespace, in bytes.
HUB_LIMITS_NAMESPACE_BYTES = env.integer("HUB_LIMITS_NAMESPACE_BYTES", default=200 * 10**9)
# Most bytes that one user may have in open uploads and in uploaded files that are not in a version.
HUB_LIMITS_USER_BYTES = env.integer("HUB_LIMITS_USER_BYTES", default=200 * 10**9)
# Most uploads that one user may have open.
HUB_LIMITS_OPEN_UPLOADS = env.integer("HUB_LIMITS_OPEN_UPLOADS", default=2_000)
# Largest object that Git LFS clients send in one request, in bytes; clients that support it send
# larger ones in parts of this size. A proxy in front must accept this size.
HUB_LIMITS_PUT_BYTES = env.integer("HUB_LIMITS_PUT_BYTES", default=2**28)
# Disk space that uploads leave free, in bytes, so that the database can always be written.
HUB_LIMITS_FREE_BYTES = env.integer("HUB_LIMITS_FREE_BYTES", default=2**28)
# Most files in one version: one request, one page and one graph hold them all.
HUB_LIMITS_FILES = env.integer("HUB_LIMITS_FILES", default=5_000)
# Memory that a sandboxed child may map, in bytes; large models get more in proportion.
HUB_LIMITS_CHILD_BYTES = env.integer("HUB_LIMITS_CHILD_BYTES", default=4 * 2**30)
# Processor seconds that one stage of a check may take; large models get more in proportion.
HUB_LIMITS_STAGE_SECONDS = env.integer("HUB_LIMITS_STAGE_SECONDS", default=20)
# Time limit of a job after publishing (upgrade, conformance, conversion), in seconds.
HUB_LIMITS_JOB_SECONDS = env.integer("HUB_LIMITS_JOB_SECONDS", default=600)
# Total size of the files that such a job may write, in bytes.
HUB_LIMITS_WRITTEN_BYTES = env.integer("HUB_LIMITS_WRITTEN_BYTES", default=20 * 2**30)
# Time after which the job of a silent worker is given to another, in seconds.
HUB_LIMITS_LEASE_SECONDS = env.number("HUB_LIMITS_LEASE_SECONDS", default=30.0, least=1)
# Requested runs (benchmarks, comparisons, evaluations, variants) that one user who is not an
# administrator may have in the queue.
HUB_LIMITS_RUNS_QUEUED = env.integer("HUB_LIMITS_RUNS_QUEUED", default=20)
# Requested runs of one such user that may be at work at once; the others wait.
HUB_LIMITS_RUNS_AT_WORK = env.integer("HUB_LIMITS_RUNS_AT_WORK", default=2)
# Concurrent progress streams (server-sent events) of one web process; each occupies a thread.
HUB_LIMITS_STREAMS = env.integer("HUB_LIMITS_STREAMS", default=4)
# Requests from one signed-in user.
HUB_LIMITS_USER_RATE = env.rate("HUB_LIMITS_USER_RATE", default="6000/min")
# Failed sign-ins to one account from one address.
HUB_LIMITS_SIGN_IN_RATE = env.rate("HUB_LIMITS_SIGN_IN_RATE", default="10/min")
# Failed sign-ins from one address (IPv6: one /64), whatever the accounts.
HUB_LIMITS_SIGN_IN_ADDRESS_RATE = env.rate("HUB_LIMITS_SIGN_IN_ADDRESS_RATE", default="50/hour")
# Failed sign-ins to one account from all browsers that have never signed in to it.
HUB_LIMITS_SIGN_IN_ACCOUNT_RATE = env.rate("HUB_LIMITS_SIGN_IN_ACCOUNT_RATE", default="100/hour")
# Passwords that one web process hashes at once; 0 means half of its cores.
HUB_LIMITS_HASHES = env.integer("HUB_LIMITS_HASHES", default=0)
# Requests from one address without an account.
HUB_LIMITS_ANON_RATE = env.rate("HUB_LIMITS_ANON_RATE", default="1200/min")
# Runs of models on the server from one address without an account, such as 5/hour; each has 2 s of
# processor time and 8 MB of input. 0 events switch them off.
HUB_LIMITS_GUEST_RUNS_RATE = env.rate("HUB_LIMITS_GUEST_RUNS_RATE", default="0/hour")
# Models that the tokens of one user without the scope admin may delete or move in an hour.
HUB_LIMITS_TOKEN_DELETIONS = env.integer("HUB_LIMITS_TOKEN_DELETIONS", default=20)
# How long an owner can restore a model that such a token deleted, in days; its files stay so long.
HUB_DELETED_MODEL_DAYS = env.integer("HUB_DELETED_MODEL_DAYS", default=7)
# Discussions that one user may open.
HUB_LIMITS_DISCUSSIONS_RATE = env.rate("HUB_LIMITS_DISCUSSIONS_RATE", default="20/hour")
# Comments that one user may write, and titles, comments and statuses that they may change.
HUB_LIMITS_COMMENTS_RATE = env.rate("HUB_LIMITS_COMMENTS_RATE", default="120/hour")
# Slowest rate at which a client may send a body or take a response, in bytes per second over
# 30 seconds.
HUB_LIMITS_CLIENT_RATE = env.integer("HUB_LIMITS_CLIENT_RATE", default=1_000)
# How long a web process continues serving after SIGTERM, with /readyz answering 503,
# in seconds: longer than your load balancer's checks take to notice.
HUB_DRAIN_SECONDS = env.number("HUB_DRAIN_SECONDS", default=0.0)
# Request bodies that one web process receives before the application reads them, in bytes; beyond
# this, clients wait. They are stored in HUB_TEMP.
HUB_LIMITS_BODIES_BYTES = env.integer("HUB_LIMITS_BODIES_BYTES", default=2**30)
# Processes of one web process that parse long texts: cards, tables and source code.
HUB_TEXT_PROCESSES = env.integer("HUB_TEXT_PROCESSES", default=2)
# CPU time limit for parsing one text, in seconds.
HUB_TEXT_SECONDS = env.integer("HUB_TEXT_SECONDS", default=5)
# Memory limit for parsing one text, in bytes.
HUB_TEXT_BYTES = env.integer("HUB_TEXT_BYTES", default=2**29)
