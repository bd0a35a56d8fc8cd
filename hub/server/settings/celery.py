"""Workers, their sandbox and benchmarks, and Celery where there is Redis."""

from hub.server.environment import env
from hub.server.settings.environment import REDIS_URL
from hub.server.settings.limits import HUB_LIMITS_JOB_SECONDS

# Isolation that uploads need: none, limits (memory, time, files), partial, or full (namespaces,
# mounts, landlock and seccomp as well). Use `full` if untrusted users may publish.
HUB_SANDBOX_REQUIRED = env.choice(
    "HUB_SANDBOX_REQUIRED", default="limits", choices=("none", "limits", "partial", "full")
)
# The machine that a worker runs on, if containers have their own host names: jobs that need a host
# for themselves exclude all workers with the same value.
HUB_WORKER_HOST = env.text("HUB_WORKER_HOST", default="")
# The runtime of a Celery worker, if it has its own environment; see `hub worker`.
HUB_WORKER_RUNTIME = env.text("HUB_WORKER_RUNTIME", default="")
# Benchmarks of published versions: off, light (a few short processes, lowest priority) or full (the
# complete procedure). Benchmarks requested by a maintainer always run.
HUB_BENCH = env.choice("HUB_BENCH", default="light", choices=("off", "light", "full"))
# Total time of the measured processes of one full benchmark, in seconds.
HUB_BENCH_SECONDS = env.number("HUB_BENCH_SECONDS", default=300.0)
# Power of one busy core of this machine in watts, if known. Energy is estimated from it if no meter
# can be read; 0 means no estimate.
HUB_BENCH_WATTS = env.number("HUB_BENCH_WATTS", default=0.0)
# The electricity grid of the workers, as a three-letter ISO 3166 code (FRA) or `world`; without it
# there are no carbon figures.
HUB_GRID_REGION = env.text("HUB_GRID_REGION", default="")
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = False
# A worker reserves no more tasks than it has processes. No count of the channel limits it beside
# that: with one, an acknowledgement that Redis never received would be waited for without end.
CELERY_WORKER_PREFETCH_MULTIPLIER = 0
CELERY_WORKER_DISABLE_PREFETCH = True
# Workers answer questions alone: hub.server.celery removes the other commands.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# How a Celery pool starts its processes: fork, or spawn for GPUs; see `hub worker`.
CELERY_WORKER_POOL_START_METHOD = env.choice(
    "HUB_WORKER_START", default="fork", choices=("fork", "spawn")
)
# A second fence: a worker ends its jobs by itself well before. Whoever stops a worker waits
# as long (docker/compose.yaml, the chart, docs/operate.md).
CELERY_TASK_TIME_LIMIT = max(3600, 4 * HUB_LIMITS_JOB_SECONDS) + 60
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 2 * CELERY_TASK_TIME_LIMIT,
    "socket_connect_timeout": 2,
    "socket_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 10,
    "priority_steps": [0, 3, 6, 9],
    "queue_order_strategy": "priority",
    "global_keyprefix": "hub:celery:",
}
CELERY_TASK_DEFAULT_QUEUE = "cpu"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
