"""Reads from the first of several hubs that answers: the configured hub, then its mirrors.

A hub that fails is asked last for half a minute. A mirror's token is its own; that it does not have
a model says nothing about the model, so the hub before it has the last word.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from hub.client.answers import Body
from hub.client.retries import is_transient
from hub.client.transport import Transport
from hub.protocol import problems

if TYPE_CHECKING:
    import urllib3


DOWN_SECONDS = 30.0
# How long a hub may send nothing while there is another one.
SILENCE_SECONDS = 3.0
_ABSENT = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

log = logging.getLogger("hub.client")


class Mirrored(Transport):
    """The reads of a hub with mirrors. Writes belong to the transport of the hub itself."""

    def __init__(self, hub: Transport) -> None:
        super().__init__(hub.config, sleep=hub.sleep)
        own = replace(hub.config, certificate=None, certificate_key=None, mirrors=())
        mirrors = [
            replace(own, url=mirror.url, token=mirror.token) for mirror in hub.config.mirrors
        ]
        self._hubs = (hub, *map(Transport, mirrors))
        self._down: dict[Transport, float] = {}

    @contextmanager
    def open(
        self,
        method: str,
        address: str,
        headers: dict[str, str],
        body: bytes | Body | None,
        silence_seconds: float | None = None,
    ) -> Iterator[tuple[urllib3.BaseHTTPResponse, str]]:
        """Give the answer of the first hub that has one, and its address."""
        failures: dict[Transport, problems.HubError] = {}
        hubs = sorted(self._hubs, key=self._is_down)
        for hub in hubs:
            most = silence_seconds
            if hub is not hubs[-1]:
                most = min(SILENCE_SECONDS, silence_seconds or SILENCE_SECONDS)
            with ExitStack() as stack:
                try:
                    answer = stack.enter_context(hub.open(method, address, headers, body, most))
                except problems.HubError as error:
                    if not self._is_failure(hub, error):
                        raise
                    failures[hub] = error
                    continue
                try:
                    yield answer
                except problems.Unreachable as error:  # the answer was cut
                    self._is_failure(hub, error)
                    raise
                return
        raise self._failure(failures)

    def _connect_seconds(self) -> float:
        return max(hub._connect_seconds() for hub in self._hubs)  # noqa: SLF001  (also transports)

    def _is_down(self, hub: Transport) -> bool:
        return time.monotonic() < self._down.get(hub, 0.0)

    def _is_failure(self, hub: Transport, error: problems.HubError) -> bool:
        """Whether another hub may have the answer; a hub that did not answer is asked last then."""
        if isinstance(error, problems.Problem) and error.status in _ABSENT:
            return hub is not self._hubs[0]
        is_broken = isinstance(error, problems.Problem) and error.status >= 500
        if not (is_broken or is_transient(error) or isinstance(error, problems.Unreachable)):
            return False
        if not self._is_down(hub):
            log.warning(
                "%s does not answer: its mirrors are asked first (%s)", hub.config.url, error
            )
        self._down[hub] = time.monotonic() + DOWN_SECONDS
        return True

    def _failure(self, failures: dict[Transport, problems.HubError]) -> problems.HubError:
        """The error of the hub itself, with what its mirrors answered."""
        error = failures.pop(self._hubs[0])
        for mirror, other in failures.items():
            error.add_note(f"The mirror {mirror.config.url} has no answer either: {other}")
        return error
