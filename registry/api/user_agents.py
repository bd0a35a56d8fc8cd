"""What a browser calls itself, in words for people."""

from __future__ import annotations

# Beginnings of names in a User-Agent, and what they are called. Order counts: browsers name those
# that they descend from as well (https://developer.mozilla.org/docs/Web/HTTP/Headers/User-Agent).
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def describe(agent: str) -> str:
    """A browser and its system, such as Firefox on Linux; it is what a client says of itself."""
    browser = next((name for begin, name in _BROWSERS if begin in agent), "")
    system = next((name for begin, name in _SYSTEMS if begin in agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or agent.partition(" ")[0][:40] or "unknown device"
