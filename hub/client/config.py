"""Where the hub is, who is asking, where the cache lies and whether the network may be used.

Read from the variables of `hub.protocol.client_variables`, and from what `hub login` stored in the
user's configuration folder. A token belongs to one hub and is never given to another, and so does a
certificate.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from hub.protocol import problems

DEFAULT_URL = "http://127.0.0.1:8000"
RETRY_SECONDS = 60.0
# For a hub that has not answered yet, so that a wrong address shows at once.
FIRST_RETRY_SECONDS = 4.0
CHANGED, ALWAYS = "changed", "always"
_TRUE = frozenset({"1", "true", "yes", "on"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Mirror:
    """Another hub that reads may come from: its address, and the token that belongs to it."""

    url: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one `Hub`: its address, a token or none, the cache folder, offline or not.

    ``cache`` is where downloads go; ``shared_caches`` are folders that are only read, looked at
    after it in their order. ``mirrors`` are asked, in their order, for what the hub does not
    answer; only reads go there.
    ``certificate`` and ``certificate_key`` are the files of a TLS client certificate, or None;
    ``authorities`` is the file or folder of trusted certificate authorities, None the system's.
    ``retry_seconds`` is how long requests are repeated while the hub does not answer, and
    ``first_retry_seconds`` how long a connection is tried before any has succeeded. ``verify``
    says when the SHA-256 of a cached file is computed again: `changed` or `always`.
    ``signed_by`` are signers of whom one must have signed what is loaded, none for no demand;
    ``signature_authorities`` is a PEM file of those who vouch for names in certificates,
    ``sigstore_root`` the trusted_root.json that verifies signatures without a key.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    cache: Path = field(default_factory=lambda: cache_folders(os.environ)[-1])
    shared_caches: tuple[Path, ...] = ()
    offline: bool = False
    mirrors: tuple[Mirror, ...] = ()
    certificate: Path | None = None
    certificate_key: Path | None = None
    authorities: Path | None = None
    retry_seconds: float = RETRY_SECONDS
    first_retry_seconds: float = FIRST_RETRY_SECONDS
    verify: str = CHANGED
    signed_by: tuple[str, ...] = ()
    signature_authorities: Path | None = None
    sigstore_root: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", check_url(self.url))
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise problems.InvalidRequest("The token contains invalid characters.")
        if self.certificate_key is not None and self.certificate is None:
            raise problems.InvalidRequest(
                "A client key was given without its certificate. Set certificate= or "
                "HUB_CLIENT_CERTIFICATE too."
            )
        if not 0 <= self.retry_seconds < float("inf"):
            raise problems.InvalidRequest(
                f"{self.retry_seconds} is not a valid retry time. Set HUB_RETRY_SECONDS or "
                "retry_seconds to 0 or more seconds."
            )
        if self.verify not in {CHANGED, ALWAYS}:
            raise problems.InvalidRequest(
                f"{self.verify!r} is not a valid verification mode. Set HUB_VERIFY or verify to "
                f"{CHANGED!r} "
                f"or {ALWAYS!r}."
            )

    def require_network(self, subject: str, verb: str) -> None:
        """Raise `NotCached` where settings forbid the requests that a verb needs."""
        if self.offline:
            raise problems.NotCached(
                f"{verb}({subject!r}) needs the hub, and HUB_OFFLINE prevents requests to it. "
                "Run it with HUB_OFFLINE=0."
            )

    @classmethod
    def from_environment(
        cls,
        *,
        url: str | None = None,
        token: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        offline: bool | None = None,
        certificate: str | os.PathLike[str] | None = None,
        certificate_key: str | os.PathLike[str] | None = None,
        retry_seconds: float | None = None,
        verify: str | None = None,
        signed_by: str | Sequence[str] | None = None,
    ) -> Self:
        """Fill what is not given from the environment and the stored sign-in."""
        environ = os.environ
        stored = read_stored()
        configured, *rest = check_urls(environ.get("HUB_URL") or stored.url or DEFAULT_URL)
        hub_url, *rest = check_urls(url) if url else (configured, *rest)
        is_offline = environ.get("HUB_OFFLINE", "").strip().lower() in _TRUE
        if origin(hub_url) == origin(configured):
            token = environ.get("HUB_TOKEN") or None if token is None else token
            if certificate is None:
                certificate = environ.get("HUB_CLIENT_CERTIFICATE") or None
                certificate_key = certificate_key or environ.get("HUB_CLIENT_KEY") or None
        *shared, own = cache_folders(environ)
        if retry_seconds is None:
            retry_seconds = _retry_seconds(environ)
        vouching = environ.get("HUB_SIGNATURE_AUTHORITIES")
        root = environ.get("HUB_SIGSTORE_ROOT")
        if signed_by is None:
            signed_by = environ.get("HUB_REQUIRE_SIGNATURE", "").strip() or None
        authorities = environ.get("HUB_CA_BUNDLE")
        # OpenSSL reads the first two itself.
        if not (authorities or environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR")):
            authorities = environ.get("REQUESTS_CA_BUNDLE")
        return cls(
            url=hub_url,
            token=(token or stored.tokens.get(_key(hub_url)) or "").strip() or None,
            cache=Path(cache) if cache else own,
            shared_caches=() if cache else tuple(shared),
            offline=is_offline if offline is None else offline,
            mirrors=tuple(Mirror(mirror, stored.tokens.get(_key(mirror))) for mirror in rest),
            certificate=expanded(certificate, "HUB_CLIENT_CERTIFICATE") if certificate else None,
            certificate_key=expanded(certificate_key, "HUB_CLIENT_KEY")
            if certificate_key
            else None,
            authorities=expanded(authorities, "HUB_CA_BUNDLE") if authorities else None,
            retry_seconds=RETRY_SECONDS if retry_seconds is None else retry_seconds,
            first_retry_seconds=FIRST_RETRY_SECONDS if retry_seconds is None else retry_seconds,
            verify=verify or environ.get("HUB_VERIFY", "").strip().lower() or CHANGED,
            signed_by=() if signed_by is None else signers_in(signed_by),
            signature_authorities=expanded(vouching, "HUB_SIGNATURE_AUTHORITIES")
            if vouching
            else None,
            sigstore_root=expanded(root, "HUB_SIGSTORE_ROOT") if root else None,
        )


def signers_in(signed_by: str | Sequence[str]) -> tuple[str, ...]:
    """The signers that a text names, divided by semicolons, or several texts.

    Raises `InvalidRequest` where that is nobody: it would demand nothing.
    """
    texts = signed_by.split(";") if isinstance(signed_by, str) else signed_by
    names = tuple(text.strip() for text in texts if text.strip())
    if not names:
        raise problems.InvalidRequest(
            "No signer is named. Set HUB_REQUIRE_SIGNATURE or signed_by to the fingerprint of a "
            "key, a PEM file or a name in certificates, or leave it out."
        )
    return names


def check_urls(urls: str) -> list[str]:
    """Return the addresses of a hub and its mirrors, which commas divide; as `check_url` does."""
    return list(dict.fromkeys(map(check_url, urls.split(","))))


def check_url(url: str) -> str:
    """Return the address without a trailing slash; raise `InvalidRequest` when it is not one."""
    cleaned = url.strip().rstrip("/")
    try:
        parts = urlsplit(cleaned)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in _DEFAULT_PORTS or not host or parts.username or parts.query:
        raise problems.InvalidRequest(
            f"{url!r} is not a valid hub address. Set HUB_URL to an address such as "
            f"{DEFAULT_URL} or https://hub.example.org."
        )
    return cleaned


def origin(url: str) -> tuple[str, str, int]:
    """Return (scheme, host, port): what decides whether a token may be sent."""
    parts = urlsplit(url)
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    return parts.scheme, (parts.hostname or "").lower(), port


def cache_folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the folders of the cache, the one to write to last.

    They are those of HUB_CACHE, divided as in PATH, or `onnx-hub` in the user's cache folder.
    """
    folders = [text for text in environ.get("HUB_CACHE", "").split(os.pathsep) if text]
    if not folders:
        return [_user_cache_folder(environ)]
    return [expanded(text, "HUB_CACHE") for text in folders]


def home_folder(variable: str) -> Path:
    """Return the user's home folder; raise `CacheUnusable` where there is none.

    `variable` is the one that makes it needless. A container may run as a user that the system does
    not know, with no HOME.
    """
    return expanded("~", variable)


def expanded(path: str | os.PathLike[str], variable: str) -> Path:
    """Return a path with the home folder for its `~`; the same error as of `home_folder`."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise problems.CacheUnusable(
            f"There is no home folder for this user. Set {variable} to an absolute path."
        ) from None


def _user_cache_folder(environ: Mapping[str, str]) -> Path:
    if environ.get("XDG_CACHE_HOME"):
        return Path(environ["XDG_CACHE_HOME"]) / "onnx-hub"
    if sys.platform == "win32":
        local = environ.get("LOCALAPPDATA") or home_folder("HUB_CACHE")
        return Path(local) / "onnx-hub" / "cache"
    if sys.platform == "darwin":
        return home_folder("HUB_CACHE") / "Library" / "Caches" / "onnx-hub"
    return home_folder("HUB_CACHE") / ".cache" / "onnx-hub"


def stored_path() -> Path:
    """Return the file in which `hub login` keeps addresses and tokens."""
    if os.environ.get("XDG_CONFIG_HOME"):
        folder = Path(os.environ["XDG_CONFIG_HOME"])
    elif sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or home_folder("APPDATA"))
    else:
        folder = home_folder("XDG_CONFIG_HOME") / ".config"
    return folder / "onnx-hub" / "login.json"


@dataclass(frozen=True, slots=True)
class Stored:
    """What `hub login` kept: the hub signed in to last, and one token for each hub."""

    url: str | None = None
    tokens: dict[str, str] = field(default_factory=dict, repr=False)


def read_stored() -> Stored:
    """Read the stored sign-in; a damaged file raises `HubError`.

    A missing file is an empty one, and so is one in a home folder of another user, or of none: a
    container may run as any.
    """
    try:
        path = stored_path()
    except problems.CacheUnusable:
        return Stored()
    try:
        content: Any = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return Stored()
    except (OSError, ValueError) as error:
        raise problems.HubError(
            f"{path} cannot be read ({error}). Remove it and run `hub login` again."
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("tokens"), dict):
        raise problems.HubError(f"{path} is damaged. Remove it and run `hub login` again.")
    tokens = {str(key): str(value) for key, value in content["tokens"].items()}
    return Stored(url=content.get("url") or None, tokens=tokens)


def store(url: str, token: str) -> Path:
    """Keep a token for one hub, readable by its owner alone (mode 0600); return the file."""
    tokens = {**read_stored().tokens, _key(url): token}
    path = stored_path()
    try:
        write_secret(path, {"url": check_url(url), "tokens": tokens})
    except OSError as error:
        raise problems.HubError(
            f"The token cannot be stored in {path} ({error.strerror}). Set XDG_CONFIG_HOME to a "
            "folder that you can write to, or set HUB_TOKEN instead of signing in."
        ) from None
    return path


def write_secret(path: Path, content: dict[str, Any]) -> None:
    """Replace a JSON file that its owner alone may read (mode 0600), synced to disk."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # mkstemp makes the file with mode 0600, so a secret is at no moment readable by others.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:32]}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as writer:
            json.dump(content, writer, indent=1)
            writer.flush()
            os.fsync(writer.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _key(url: str) -> str:
    scheme, host, port = origin(url)
    return f"{scheme}://{host}:{port}"


def _retry_seconds(environ: Mapping[str, str]) -> float | None:
    text = environ.get("HUB_RETRY_SECONDS", "").strip()
    try:
        return float(text) if text else None
    except ValueError:
        raise problems.InvalidRequest(
            f"HUB_RETRY_SECONDS={text!r} is not a number. Set it to 0 or more seconds."
        ) from None
