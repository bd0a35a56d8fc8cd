"""Another server's store: any that speaks SPARQL 1.1 Protocol and Graph Store HTTP Protocol.

Queries reach it only through the hub, behind the same guard and limits; it should be reachable by
no one else. Source: SPARQL 1.1 Protocol, SPARQL 1.1 Graph Store HTTP Protocol.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import pyoxigraph
import urllib3
from django.conf import settings

from hub.protocol import problems
from metadata.rdf.parsing import Quads, RefusedGraphError
from metadata.sparql import tasks
from metadata.sparql.tasks import IsGone, Task

_STORE_SECONDS = 30.0
_CHUNK = 1 << 16
# Statuses that concern the content of one request: malformed, too large, not processable.
_FAULTS_CONTENT = (400, 413, 422)
_http = urllib3.PoolManager(maxsize=16, retries=False)


class _AnswerError(OSError):
    """The server answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RemoteStore:
    """Pushes each graph to the server."""

    def __init__(self, query_url: str, store_url: str) -> None:
        self.name = plain(query_url)
        self._query = query_url
        self._url = store_url

    def open(self) -> bool:
        """Whether the server answers; raises OSError where it does not."""
        self.graphs()
        return True

    def graphs(self) -> set[str]:
        """The IRIs of this hub's graphs that are there."""
        body = b"SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } }"
        headers = {
            "Content-Type": "application/sparql-query",
            "Accept": "application/sparql-results+json",
        }
        answer = self._send("POST", _address(self._query, []), headers, body)
        rows = json.loads(answer.data)["results"]["bindings"]
        names = {str(row["g"]["value"]) for row in rows}
        return {name for name in names if name.startswith(f"{settings.HUB_PUBLIC_URL}/")}

    def load(self, graphs: Iterator[tuple[str, Quads]]) -> set[str]:
        """Put every graph, then remove this hub's others."""
        others = self.graphs()
        refused = set()
        for iri, quads in graphs:
            try:
                self.put(iri, quads)
            except RefusedGraphError:
                refused.add(iri)
            else:
                others.discard(iri)
        for iri in others:
            self.put(iri, [])
        return refused

    def put(self, iri: str, quads: Quads) -> None:
        """PUT a graph, or DELETE it.

        Raises RefusedGraphError where the server faults this graph, else OSError.
        """
        address = _address(self._url, [("graph", iri)])
        if not quads:
            self._send("DELETE", address, {}, None, missing_is_fine=True)
            return
        triples = (quad.triple for quad in quads)
        body = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.N_TRIPLES)
        try:
            self._send("PUT", address, {"Content-Type": "application/n-triples"}, body)
        except _AnswerError as error:
            if error.status in _FAULTS_CONTENT:
                raise RefusedGraphError(iri, error) from None
            raise

    def publish(self, revision: int) -> str:
        """Nothing to do: readers see what was put."""
        return ""

    def has(self, snapshot: str) -> bool:
        """There are no copies to lose."""
        return True

    def tidy(self, snapshot: str) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def _send(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes | None,
        *,
        missing_is_fine: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        try:
            answer = _http.request(
                method,
                plain(url),
                body=body,
                headers=headers | _credentials(url),
                timeout=_STORE_SECONDS,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise OSError(f"{plain(url)} does not answer: {error}") from error
        if answer.status >= 300 and not (missing_is_fine and answer.status == 404):
            body_text = answer.data[:200].decode("utf-8", "replace")
            raise _AnswerError(
                answer.status, f"{method} {plain(url)} was answered {answer.status}: {body_text}"
            )
        return answer


class RemoteEngine:
    """Has the server compute queries."""

    def __init__(self, query_url: str) -> None:
        self._url = query_url

    def run(self, task: Task, is_gone: IsGone) -> IO[bytes]:
        """Ask the server, and stop listening when it takes too long or says too much.

        Raises QueryInvalid, NotAcceptable, QueryTooCostly, QueryTimeout, Unavailable.
        """
        until = time.monotonic() + task.seconds
        answer = self._ask(task)
        result = tasks.new_result()
        try:
            _check(answer, task)
            for chunk in answer.stream(_CHUNK):
                result.write(chunk)
                _check_costs(task, result.tell(), until, is_gone)
        except urllib3.exceptions.ReadTimeoutError:
            result.close()
            raise tasks.too_slow(task.seconds) from None
        except urllib3.exceptions.HTTPError as error:
            result.close()
            raise _away(error) from None
        except BaseException:
            result.close()
            raise
        finally:
            # What was not read to its end must not meet the next question.
            answer.close()
        result.seek(0)
        return result

    def _ask(self, task: Task) -> urllib3.BaseHTTPResponse:
        dataset = [("default-graph-uri", iri) for iri in task.default_graphs]
        dataset += [("named-graph-uri", iri) for iri in task.named_graphs]
        try:
            return _http.request(
                "POST",
                plain(_address(self._url, dataset, keep=task.union)),
                body=task.query.encode(),
                headers={
                    "Content-Type": "application/sparql-query",
                    "Accept": task.media_type,
                    **_credentials(self._url),
                },
                timeout=urllib3.Timeout(connect=5, read=task.seconds),
                redirect=False,
                preload_content=False,
            )
        except urllib3.exceptions.ReadTimeoutError:
            raise tasks.too_slow(task.seconds) from None
        except urllib3.exceptions.HTTPError as error:
            raise _away(error) from None


def _check_costs(task: Task, size: int, until: float, is_gone: IsGone) -> None:
    if size > task.result_bytes:
        raise tasks.too_large(task.result_bytes)
    if time.monotonic() > until:
        raise tasks.too_slow(task.seconds)
    if is_gone():
        raise tasks.gone()


def _refusal(answer: urllib3.BaseHTTPResponse, task: Task) -> problems.Problem:
    message = answer.read(2000).decode("utf-8", "replace").strip()[:300]
    if answer.status == 400:
        return problems.QueryInvalid(f"The query is not valid: {message}")
    if answer.status == 406:
        return problems.NotAcceptable(
            f"The SPARQL server of this hub does not support {task.media_type}."
        )
    if answer.status in (408, 504):
        return tasks.too_slow(task.seconds)
    return problems.Unavailable(
        f"The SPARQL server of this hub answered {answer.status}. Try again.", retry_after=5
    )


def _check(answer: urllib3.BaseHTTPResponse, task: Task) -> None:
    if answer.status != 200:
        raise _refusal(answer, task)
    media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != task.media_type:
        raise problems.Unavailable(
            "The SPARQL server of this hub answered with "
            f"{media_type or 'an unnamed type'} instead of {task.media_type}.",
            retry_after=60,
        )


def _away(error: Exception) -> problems.Unavailable:
    return problems.Unavailable(
        f"The SPARQL server of this hub does not answer ({type(error).__name__}). Try again.",
        retry_after=5,
    )


def _address(url: str, parameters: list[tuple[str, str]], *, keep: bool = True) -> str:
    """An address with parameters more; without ``keep``, with these alone."""
    parts = urlsplit(url)
    own = parse_qsl(parts.query, keep_blank_values=True) if keep else []
    return parts._replace(query=urlencode([*own, *parameters])).geturl()


def plain(url: str) -> str:
    """An address without its name and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _credentials(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if not parts.username:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return dict(urllib3.make_headers(basic_auth=pair))
