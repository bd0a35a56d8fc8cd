"""The IRIs of the hub's own things, all below its public address."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from hub.protocol.vocabularies import metric_name, task_name
from metadata.rdf.quads import foreign, part
from metadata.rdf.terms import LICENCE, PREFIXES, spdx_id

WORKER = "worker"
# How onnx.ai spells the domains whose operators it documents.
_DOCUMENTED = {
    "": "onnx__",
    "ai.onnx": "onnx__",
    "ai.onnx.ml": "onnx_aionnxml_",
    "ai.onnx.preview.training": "onnx_aionnxpreviewtraining_",
}


@dataclass(frozen=True, slots=True)
class Places:
    """IRIs of things of the hub at ``home``, which is an address without a slash at its end."""

    home: str

    @property
    def catalogue(self) -> str:
        return f"{self.home}/catalog"

    @property
    def worker(self) -> str:
        """The hub's own software, which measures and derives."""
        return f"{self.home}/agents/{WORKER}"

    def term(self, name: str) -> str:
        """One of the hub's own terms."""
        return f"{self.home}/ns#{name}"

    def elsewhere(self, text: str) -> str:
        """A web address from a card as an IRI; empty for one of this hub, which may not answer."""
        iri = foreign(text)
        is_ours = urlsplit(iri).netloc.lower() == urlsplit(self.home).netloc.lower()
        return "" if is_ours else iri

    def expand(self, name: str) -> str:
        """The IRI of a CURIE, or an IRI itself; raises KeyError for an unknown prefix."""
        return _expanded(self.home, name)

    def model(self, namespace: str, name: str) -> str:
        return f"{self.home}/models/{part(namespace)}/{part(name)}"

    def version(self, namespace: str, name: str, number: int) -> str:
        return f"{self.model(namespace, name)}/v/{number}"

    def agent(self, name: str) -> str:
        """The user or namespace of this name; one named `worker` is not the hub's own software."""
        place = "users/" if name.lower() == WORKER else ""
        return f"{self.home}/agents/{place}{part(name)}"

    def task(self, name: str) -> str:
        """One IRI for all the spellings of a task; empty without a name."""
        return f"{self.home}/tasks/{part(task_name(name).lower())}" if name.strip() else ""

    def licence(self, name: str) -> str:
        """SPDX's IRI of a licence that it knows, the hub's own of any other that is named."""
        slug = name.strip().lower()
        if not slug:
            return self.term("NoLicenceGiven")
        spdx = spdx_id(name)
        return f"{LICENCE}{spdx}" if spdx else f"{self.home}/licences/{part(slug)}"

    def dataset(self, name: str) -> str:
        return f"{self.home}/datasets/{part(name.strip().lower())}" if name.strip() else ""

    def collection(self, namespace: str, slug: str) -> str:
        return f"{self.home}/collections/{part(namespace)}/{part(slug)}"

    def metric(self, name: str) -> str:
        """One IRI for all the names of a metric."""
        return f"{self.home}/metrics/{part(metric_name(name))}"

    def modality(self, name: str) -> str:
        return f"{self.home}/modalities/{part(name)}"

    def format(self, name: str) -> str:
        """The format of files with this ending."""
        return f"{self.home}/formats/{part(name)}"

    def test(self, *names: str) -> str:
        return "/".join([f"{self.home}/tests", *map(part, names)])

    def job(self, uuid: str) -> str:
        return f"{self.home}/jobs/{part(uuid)}"

    def environment(self, digest: str) -> str:
        return f"{self.home}/environments/{part(digest)}"

    def device(self, name: str) -> str:
        return f"{self.home}/devices/{part(name)}"

    def operator(self, domain: str, name: str) -> str:
        spelled = _DOCUMENTED.get(domain)
        if spelled is not None:
            return f"https://onnx.ai/onnx/operators/{spelled}{part(name)}.html"
        return f"{self.home}/ops/{part(domain)}/{part(name)}"


@lru_cache(maxsize=4096)
def _expanded(home: str, name: str) -> str:
    prefix, _, local = name.partition(":")
    if local.startswith("//"):
        return name
    return f"{home}/ns#{local}" if prefix == "hub" else PREFIXES[prefix] + local


def graph_of(thing: str) -> str:
    """The named graph that describes a model or a version."""
    return f"{thing}/metadata"


def file_of(version: str, path: str) -> str:
    """The IRI of a version's file."""
    return f"{version}/files/{part(path, '/')}"


def variant_of(version: str, name: str) -> str:
    """The IRI of a version's variant."""
    return f"{version}#variant-{part(name)}"
