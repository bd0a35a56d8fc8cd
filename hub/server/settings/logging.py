"""Structured logs on standard error, and metrics."""

from typing import Any

import structlog

from hub.server.environment import env

# Log format: `json` for JSON lines, `console` for readable lines.
HUB_LOG_FORMAT = env.choice("HUB_LOG_FORMAT", default="console", choices=("console", "json"))
# Requests that take at least this long are logged, in seconds; 0 logs every request, -1 none.
HUB_LOG_REQUEST_SECONDS = env.number("HUB_LOG_REQUEST_SECONDS", default=2.0, least=-1)
# Access log: one line for each request, with the address of its client.
HUB_LOG_ACCESS = env.flag("HUB_LOG_ACCESS", default=False)
# SQL statements that take at least this long are logged without their values, in seconds; -1 logs
# none.
HUB_LOG_QUERY_SECONDS = env.number("HUB_LOG_QUERY_SECONDS", default=1.0, least=-1)
# Bearer token with which a monitoring system reads /metrics; without it, administrators alone do.
HUB_METRICS_TOKEN = env.text("HUB_METRICS_TOKEN", default="")
_processors: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]
_as_json = structlog.processors.JSONRenderer()
_as_set = _as_json if HUB_LOG_FORMAT == "json" else structlog.dev.ConsoleRenderer(colors=False)


def _render(logger: Any, name: str, line: Any) -> Any:
    """Entries of the security log are JSON in either format: programs read them."""
    is_entry = line.get("logger") == "registry.core.security_log"
    return (_as_json if is_entry else _as_set)(logger, name, line)


structlog.configure(
    processors=[
        *_processors,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structured": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": _render,
            "foreign_pre_chain": _processors,
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # Refusals are the caller's news: they are in the answers, not in the operator's log.
        "django.request": {"level": "ERROR"},
    }
    | {name: {"level": "INFO"} for name in ("hub", "registry", "runners", "metadata", "frontend")},
}
