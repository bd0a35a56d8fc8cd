"""The verbs of the hub, as methods of one configured `Hub`.

A reference is resolved to a version and its files; files are taken from the cache or fetched into
it, verified; everything else is asked of the hub each time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.client import config as settings
from hub.client.cache import Cache, RemoteFile, Resolved
from hub.client.catalogue import Catalogue
from hub.client.devices import Devices
from hub.client.mirrors import Mirrored
from hub.client.publishing import Publishing
from hub.client.rest.groups import Groups
from hub.client.transport import Transport
from hub.protocol import deprecations, problems, refs

if TYPE_CHECKING:
    import onnx
    import onnxruntime
    import onnxruntime_genai


# How many versions a description has.
VERSIONS = 100


class Hub(Catalogue, Publishing, Devices, Groups):
    """One hub and one cache. Safe to share between threads and, after a fork, between processes.

    It pickles, for workers of other processes and machines. The pickle has the addresses and what
    was passed as an argument, but no token: the process that loads it takes that from HUB_TOKEN or
    from `hub login`, as it takes the rest that was not passed, and raises `NotAuthenticated` where
    the pickled hub had a token and there is none.

    What is not given comes from the environment and from `hub login`. `url` is the hub's address,
    or it and those of its mirrors, divided by commas: reads go to the first that answers, writes to
    the first alone, and each gets only its own token. `certificate` is a PEM file
    with a TLS client certificate, `certificate_key` one with its key where it is not in the same
    file; it is shown to the hub alone. While the hub does not answer, requests are repeated for
    `retry_seconds` (HUB_RETRY_SECONDS, 60 by default; 0 forbids it), with a line on the logger
    `hub.client`, which is standard error unless logging is configured. `verify` (HUB_VERIFY) says
    when a cached file is hashed again: `changed`, when it is not the file that was verified, or
    `always`. `signed_by` (HUB_REQUIRE_SIGNATURE, divided by semicolons) demands of all that is
    loaded a signature by one of these signers, see `load`. Errors are `hub.errors`:
    `Problem` for what the server says, `Unreachable`, `NotCached`, `CacheUnusable` for the rest.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        offline: bool | None = None,
        certificate: str | os.PathLike[str] | None = None,
        certificate_key: str | os.PathLike[str] | None = None,
        retry_seconds: float | None = None,
        verify: str | None = None,
        signed_by: str | Sequence[str] | None = None,
    ) -> None:
        self._arguments: dict[str, Any] = {
            "cache": cache,
            "offline": offline,
            "certificate": certificate,
            "certificate_key": certificate_key,
            "retry_seconds": retry_seconds,
            "verify": verify,
            "signed_by": signed_by,
        }
        self.config = settings.Config.from_environment(url=url, token=token, **self._arguments)
        self.cache = Cache(
            self.config.cache, verify=self.config.verify, shared=self.config.shared_caches
        )
        self.transport = Transport(self.config)
        self.reads = Mirrored(self.transport) if self.config.mirrors else self.transport

    def __reduce__(self) -> tuple[Any, ...]:
        urls = ",".join([self.config.url, *(mirror.url for mirror in self.config.mirrors)])
        return _unpickled, (urls, self._arguments, self.config.token is not None)

    def load(
        self,
        ref: str,
        opset: int | None = None,
        variant: str | None = None,
        *,
        component: str | None = None,
        strength: str | None = None,
        signed_by: str | Sequence[str] | None = None,
        progress: bool | None = None,
        wait: bool = False,
    ) -> onnx.ModelProto:
        """Return the model as an `onnx.ModelProto`, external data included.

        `opset` asks for a variant of exactly that opset, uploaded or shown to equal the original;
        `variant` for one by name, whatever its proof, and `component` for the ONNX file of a
        component of its package, by name or role, such as "decoder". `strength` is the least proof
        that is enough: "certified", or "sampled" to take also one that was equal on the inputs that
        ran; the hub has a default. Only the files of the model itself are fetched, each verified by
        its SHA-256. `signed_by` demands that one of these signed all
        files of the version: the fingerprint of a key (`sha256:…`), a PEM file of a public key or
        of certificate authorities, a name in certificates that HUB_SIGNATURE_AUTHORITIES vouch for,
        or an identity and its issuer (`ada@zoo.example via https://accounts.example`).
        With `wait` a version that is still being checked is waited for, up to an hour. Raise
        `NotFound`, `VariantMissing`, `ComponentMissing`, `DigestMismatch`, `SignatureMissing`,
        `Unreachable`, `NotCached` when offline, `ChecksPending`, or with `wait` `ChecksFailed`.
        """
        from hub.client import loading  # noqa: PLC0415  (each verb imports what it needs)

        resolved = self.resolve(
            ref, opset=opset, variant=variant, strength=strength, signed_by=signed_by, wait=wait
        )
        resolved = self._component(ref, resolved, component, opset or variant)

        def bring(files: Iterable[RemoteFile]) -> Mapping[str, Path]:
            return self.bring(str(resolved.ref), list(files), progress=progress)

        return loading.read_model(resolved, bring)

    def session(
        self,
        /,
        ref: str,
        providers: Sequence[str | tuple[str, dict[str, Any]]] | None = None,
        *,
        opset: int | None = None,
        variant: str | None = None,
        component: str | None = None,
        strength: str | None = None,
        signed_by: str | Sequence[str] | None = None,
        progress: bool | None = None,
        wait: bool = False,
        **options: Any,
    ) -> onnxruntime.InferenceSession:
        """Return an ONNX Runtime session; `options` go to `onnxruntime.InferenceSession`.

        `providers` defaults to all that the installed runtime offers; `component` is that of
        `load`. Raise `LibraryMissing` when
        ONNX Runtime is not installed, and whatever `download` raises.
        """
        try:
            import onnxruntime as runtime  # noqa: PLC0415  (optional)
        except ImportError:
            raise problems.LibraryMissing(
                "hub.session needs ONNX Runtime: pip install onnxruntime "
                "(or onnxruntime-gpu on a machine with an NVIDIA GPU)."
            ) from None
        from hub.client import loading  # noqa: PLC0415  (each verb imports what it needs)

        resolved = self.resolve(
            ref, opset=opset, variant=variant, strength=strength, signed_by=signed_by, wait=wait
        )
        resolved = self._component(ref, resolved, component, opset or variant)
        entry = loading.entry_of(resolved)
        folder = self._snapshot(resolved, progress=progress)
        names = runtime.get_available_providers() if providers is None else list(providers)
        return runtime.InferenceSession(str(folder / entry.path), providers=names, **options)

    def genai(
        self,
        /,
        ref: str,
        *,
        folder: str | None = None,
        signed_by: str | Sequence[str] | None = None,
        progress: bool | None = None,
        wait: bool = False,
    ) -> onnxruntime_genai.Model:
        """Return the package as an `onnxruntime_genai.Model`, loaded from a folder of the cache.

        `folder` is that of the `genai_config.json` to load, where the version has several; only
        the files in it are fetched. Raise `LibraryMissing` when ONNX Runtime GenAI is not
        installed, `ComponentMissing` when there is no such package, and whatever `download` raises.
        """
        from hub.client import packages  # noqa: PLC0415  (each verb imports what it needs)

        runtime = packages.genai_runtime()
        resolved = self.resolve(ref, signed_by=signed_by, wait=wait)
        resolved, place = packages.with_folder(resolved, folder)
        return runtime.Model(str(self._snapshot(resolved, progress=progress) / place))

    def _component(
        self, ref: str, resolved: Resolved, component: str | None, other: int | str | None
    ) -> Resolved:
        """The resolved version, loaded from a component in place of its variant."""
        if component is None:
            return resolved
        if other or refs.parse(ref).variant:
            raise problems.InvalidRequest("Name a component, or a variant or opset, but not both.")
        from hub.client import packages  # noqa: PLC0415  (each verb imports what it needs)

        self.config.require_network(ref, "component")
        return packages.with_component(resolved, component, self.reads.get)

    def download(
        self,
        ref: str,
        opset: int | None = None,
        variant: str | None = None,
        to: str | os.PathLike[str] | None = None,
        *,
        strength: str | None = None,
        signed_by: str | Sequence[str] | None = None,
        progress: bool | None = None,
        wait: bool = False,
    ) -> Path:
        """Return a folder with every file of the version, each verified by its SHA-256.

        Without `to` it is a read-only folder of the cache; with `to` the files are written there,
        over files of the same name. Raises the same errors as `load`.
        """
        resolved = self.resolve(
            ref, opset=opset, variant=variant, strength=strength, signed_by=signed_by, wait=wait
        )
        return self.download_resolved(resolved, to, progress=progress)

    def download_resolved(
        self,
        resolved: Resolved,
        to: str | os.PathLike[str] | None = None,
        *,
        progress: bool | None = None,
    ) -> Path:
        """Return a folder with the files that a reference was resolved to; see `download`."""
        from hub.client import snapshots  # noqa: PLC0415  (each verb imports what it needs)

        if to is None:
            return self._snapshot(resolved, progress=progress)
        blobs = self.bring(str(resolved.ref), resolved.files, progress=progress)
        return snapshots.export(resolved.files, blobs, Path(to))

    def fetch(
        self,
        ref: str,
        *,
        opset: int | None = None,
        variant: str | None = None,
        strength: str | None = None,
        progress: bool | None = None,
    ) -> tuple[Resolved, dict[str, Path]]:
        """Return what a reference means and where the cache holds each file, by its path.

        All are fetched and verified as by `download`; no folder is made of them.
        """
        resolved = self.resolve(ref, opset=opset, variant=variant, strength=strength)
        blobs = self.bring(str(resolved.ref), resolved.files, progress=progress)
        return resolved, {file.path: blobs[file.sha256] for file in resolved.files}

    def info(self, ref: str) -> dict[str, Any]:
        """Return the hub's description of a model, with `version`: the one the reference selects.

        `version` is `None` for a model without a published version. `versions` are the newest 100
        of the model, newest first, each with number, state and label. A `deprecation` is also a
        warning. Raise `NotFound`.
        """
        from hub.client import references  # noqa: PLC0415  (each verb imports what it needs)

        parsed = refs.parse(ref)
        self.config.require_network(ref, "hub.info")
        address = f"/api/v1/models/{parsed.name}"
        model = self.reads.get(address)
        number = parsed.number
        if parsed.label is not None or parsed.digest is not None:
            number = self._lookup(refs.format(replace(parsed, variant=None))).number
        elif number is None and model.get("latest"):
            number = int(model["latest"]["number"])
        version = None
        if number is not None:
            version = self.reads.get(f"{address}/versions/{number}")
        rows = self.reads.get(f"{address}/versions", query={"limit": VERSIONS})["items"]
        versions = [{name: row.get(name) for name in ("number", "state", "label")} for row in rows]
        for subject, row in ((parsed.name, model), (f"{parsed.name}@{number}", version or {})):
            if words := deprecations.read(subject, row.get("deprecation")):
                references.warn(self.config.url, words, stacklevel=4)
        return {**model, "version": version, "versions": versions}

    def make_variant(
        self,
        ref: str,
        kind: str,
        *,
        opset: int | None = None,
        variant: str | None = None,
        sample: str | os.PathLike[str] | None = None,
        keep_float32: Sequence[str] = (),
        wait: bool = True,
        progress: bool | None = None,
    ) -> dict[str, Any]:
        """Have the hub make a variant of a version; return it, or its job without `wait`.

        `kind` is `upgrade` or a precision of `hub variant --help`, such as `int8`. An upgrade goes
        to `opset`, up or down. Without one it goes to the highest that runs and to the highest that
        every runtime loads, and the second is returned. A variant that is calibrated uses the
        version's own test data or `sample`, an .npz file with an array for each input, samples
        first. `keep_float32` are names of nodes that a half-precision variant computes in float32,
        beside those that would overflow.
        `variant` names the one to start from. What it costs is in `derivation`: parity and sizes
        against the original. Raise `NotAllowed` for those who do not maintain the model, and
        `JobFailed`.
        """
        from hub.client import variants  # noqa: PLC0415  (each verb imports what it needs)

        self.config.require_network(ref, "hub.make_variant")
        resolved = self._lookup(ref, variant=variant)
        content: dict[str, Any] = {"kind": kind, "variant": resolved.variant or ""}
        if opset is not None:
            content["opset"] = opset
        if sample is not None:
            content["calibration"] = variants.send_sample(
                self.transport, self.cache, sample, progress=progress
            )
        if keep_float32:
            content["keep_float32"] = list(keep_float32)
        address = f"/api/v1/models/{resolved.ref.name}/versions/{resolved.number}/variants"
        # The hub returns the live job where the same variant is being made.
        document = self.transport.request("POST", address, content=content, repeatable=True).json()
        if not wait:
            return dict(document)
        job = variants.follow(self.transport, document, progress=progress)
        return variants.made_by(self.transport, resolved, job)

    def login(self, token: str) -> dict[str, Any]:
        """Try a token; return who it belongs to. Raise `NotAuthenticated` when it is not valid."""
        transport = Transport(replace(self.config, token=token.strip()))
        return transport.get("/api/v1/whoami")

    def resolve(
        self,
        ref: str,
        *,
        opset: int | None = None,
        variant: str | None = None,
        strength: str | None = None,
        signed_by: str | Sequence[str] | None = None,
        wait: bool = False,
    ) -> Resolved:
        """Return the version, variant and files that a reference means; see `load`.

        An earlier answer is requested again by its ETag only; a reference pinned by number
        or digest, once known, and everything when offline, is answered from the cache. While the
        hub does not answer, an earlier answer is used, with a warning. `wait` follows the checks
        of a version to their end.
        """
        resolved = self._lookup(ref, opset=opset, variant=variant, strength=strength, wait=wait)
        if self.config.signed_by or signed_by is not None:
            from hub.client import signatures  # noqa: PLC0415  (each verb imports what it needs)

            signatures.demand(self.reads, self.cache, resolved, signed_by)
        return resolved

    def _lookup(
        self,
        ref: str,
        *,
        opset: int | None = None,
        variant: str | None = None,
        strength: str | None = None,
        wait: bool = False,
    ) -> Resolved:
        """The same as of `resolve` without a demand for signatures."""
        from hub.client import references  # noqa: PLC0415  (each verb imports what it needs)

        def resolved() -> Resolved:
            return references.resolve(
                self.reads, self.cache, ref, opset=opset, variant=variant, strength=strength
            )

        try:
            return resolved()
        except problems.ChecksPending as pending:
            number = pending.extensions.get("number")
            if not (wait and isinstance(number, int)):
                raise
        from hub.client import checks  # noqa: PLC0415

        address = f"/api/v1/models/{refs.parse(ref).name}/versions/{number}"
        checks.follow(
            self.reads.get(address),
            lambda: self.reads.get(address),
            self.transport.sleep,
            publish=True,
            progress=None,
        )
        return resolved()

    def _snapshot(self, resolved: Resolved, *, progress: bool | None) -> Path:
        from hub.client import snapshots  # noqa: PLC0415  (each verb imports what it needs)

        if folder := snapshots.find(self.cache, resolved):
            return folder
        blobs = self.bring(str(resolved.ref), resolved.files, progress=progress)
        return snapshots.make(self.cache, resolved, blobs)

    def bring(
        self, name: str, files: Sequence[RemoteFile], *, progress: bool | None = None
    ) -> Mapping[str, Path]:
        """Return the blobs of some files by SHA-256, fetched where the cache does not hold them.

        They are files of `name`, a reference or a data set.
        """
        paths = {file.sha256: self.cache.find(file.sha256, file.size) for file in files}
        present = {sha256: path for sha256, path in paths.items() if path is not None}
        missing = {file.sha256: file for file in files if file.sha256 not in present}
        if not missing:
            return present
        if self.config.offline:
            self.cache.refuse_damaged(name, missing.values())
            lacking = ", ".join(sorted(file.path for file in missing.values())[:5])
            raise problems.NotCached(
                f"Files of {name} are missing from the cache ({lacking}), and HUB_OFFLINE "
                f"prevents downloading them. Run `HUB_OFFLINE=0 hub get {name}` while you "
                "are online."
            )
        from hub.client import download  # noqa: PLC0415  (each verb imports what it needs)
        from hub.client.progress import Bar  # noqa: PLC0415

        total = sum(file.size for file in missing.values())
        with Bar(name, total, is_shown=progress) as bar:
            fetched = download.fetch_all(
                self.reads, self.cache, missing.values(), on_bytes=bar.advance
            )
        return present | fetched


def _unpickled(urls: str, arguments: dict[str, Any], had_token: bool) -> Hub:  # noqa: FBT001
    """The hub of a pickle, with the token of this process."""
    hub = Hub(urls, **arguments)
    if had_token and hub.config.token is None:
        raise problems.NotAuthenticated(
            f"A pickled hub has no token, and this process has none for {hub.config.url}. "
            "Set HUB_URL and HUB_TOKEN, or run `hub login` on this machine."
        )
    return hub
