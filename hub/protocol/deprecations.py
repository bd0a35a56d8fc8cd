"""The wording of deprecations, the same on pages, in the API and in every client."""


def sentence(ref: str, message: str, successor: str = "") -> str:
    """The deprecation of ``ref`` in one line; ``successor`` is the reference of what to use."""
    end = "" if message.endswith((".", "!", "?")) else "."
    use = f" Use {successor} instead." if successor else ""
    return f"{ref} is deprecated: {message}{end}{use}"


def read(ref: str, row: object) -> str:
    """The same of what the API says of it; empty for null, and for what is none."""
    if not isinstance(row, dict):
        return ""
    return sentence(ref, str(row.get("message", "")), str(row.get("successor", "")))
