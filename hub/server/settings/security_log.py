"""The security log: how long it is kept, and where it is sent."""

from urllib.parse import urlsplit

from hub.server.environment import env

# Days that entries of the security log are kept; older ones are deleted once an hour.
HUB_SECURITY_LOG_DAYS = env.integer("HUB_SECURITY_LOG_DAYS", default=365, least=1)
# Where the security log is sent as syslog of RFC 5424: udp://HOST:PORT, tcp://HOST:PORT or
# unix:///PATH; empty: nowhere.
HUB_SECURITY_LOG_SYSLOG = env.text("HUB_SECURITY_LOG_SYSLOG", default="")
_address = urlsplit(HUB_SECURITY_LOG_SYSLOG)
_is_address = _address.path if _address.scheme == "unix" else _address.hostname
if HUB_SECURITY_LOG_SYSLOG and not (_address.scheme in ("udp", "tcp", "unix") and _is_address):
    env.refuse(
        "HUB_SECURITY_LOG_SYSLOG",
        "is no address of a syslog server.",
        "Write it as udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH.",
    )
