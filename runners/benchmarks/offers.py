"""Offers of live workers to time models: pools, runtimes and execution providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from hub.protocol import problems
from registry.models import User, Variant
from runners.benchmarks import unmeasured
from runners.models import Job
from runners.queue import selectors, services

_CPU = "CPUExecutionProvider"
# Providers besides the CPU's that are never used, since they run elsewhere.
_REMOTE = frozenset({"AzureExecutionProvider"})


@dataclass(frozen=True, slots=True)
class Offer:
    """A runtime and provider that live workers offer, and how such a job is queued."""

    pool: str
    runtime: str
    runtime_version: str
    provider: str

    @property
    def requires(self) -> dict[str, Any]:
        needs = {"runtime": self.runtime, "provider": self.provider}
        return {name: value for name, value in needs.items() if value}

    @property
    def exclusive(self) -> str:
        gpu = self.pool.startswith("gpu-")
        return (Job.Exclusive.GPU if gpu else Job.Exclusive.HOST).value

    @property
    def is_usual(self) -> bool:
        """Whether this is ONNX Runtime on the CPU, which lists of models use."""
        return (self.pool, self.provider) == (Job.Pool.BENCH_CPU, _CPU)

    @property
    def options(self) -> dict[str, Any]:
        return {
            "runtime": self.runtime,
            "runtime_version": self.runtime_version,
            "provider": self.provider,
        }

    def enqueue(
        self,
        kind: str,
        variant: Variant,
        options: dict[str, Any],
        *,
        priority: int,
        again: bool = False,
        requester: User | None = None,
    ) -> Job:
        """Queue a job that times a variant, with the effort that the hub is configured for."""
        return services.enqueue(
            kind=kind,
            version=variant.version,
            entry=variant.entry.path,
            job_input=self.options
            | {"effort": settings.HUB_BENCH}
            | variant.input_options
            | options,
            requires=self.requires,
            pool=self.pool,
            exclusive=self.exclusive,
            priority=priority,
            again=again,
            requester=requester,
        )


def live() -> list[Offer]:
    """The offers of live workers of bench and GPU pools, each once, in a fixed order."""
    unique = set()
    for worker in selectors.live_workers():
        features = worker.typed_features
        for queue in worker.queues:
            pool, _, build = queue.partition(".")
            if pool != Job.Pool.BENCH_CPU and not pool.startswith("gpu-"):
                continue
            runtime = build or "onnxruntime"
            if runtime not in features.runtimes:
                continue
            version = features.versions.get(runtime, "")
            for provider in _providers(features.providers, pool, build):
                unique.add(Offer(pool, runtime, version, provider))
    return sorted(
        unique,
        key=lambda timing: (timing.pool, timing.runtime, timing.provider, timing.runtime_version),
    )


def matching(runtime: str, provider: str, pool: str = "") -> list[Offer]:
    """The live offers with these names, of which an empty one fits all.

    Raises InvalidRequest where there is none.
    """
    offers = [
        offer
        for offer in live()
        if runtime in ("", offer.runtime)
        and provider in ("", offer.provider)
        and pool in ("", offer.pool)
    ]
    if not offers:
        raise problems.InvalidRequest.at(
            "/runtime",
            "No worker of this hub can run this benchmark; see /api/v1/workers. Start one with "
            "`hub worker --pool bench-cpu`.",
        )
    return offers


def loading(variant: Variant, offers: Iterable[Offer]) -> list[Offer]:
    """The offers that load a variant, as far as its check knows: that of ONNX Runtime on a CPU."""
    loads = not unmeasured.obstacle(variant)
    return [offer for offer in offers if loads or not offer.is_usual]


def _providers(providers: Iterable[str], pool: str, build: str) -> Iterator[str]:
    """The providers that one worker times with in a pool; of another build's runtime none is named.

    On a GPU the CPU is left out: the bench pool is for that.
    """
    if build:
        yield ""
        return
    for provider in providers:
        if provider not in _REMOTE and (pool == Job.Pool.BENCH_CPU or provider != _CPU):
            yield provider
