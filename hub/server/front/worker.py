"""A gunicorn worker that runs requests in threads, and lets no slow client hold one.

The event loop owns every connection whose client is to act: it receives heads and bodies, and
finds out who has taken more of a response. A request gets a thread when all of its body is here.
Copying between disk and connections has a few threads of its own, which never wait for clients.

Large bodies that come fast are streamed to the application, by at most half of its threads; while
those are taken, the others are received by the loop. Each body and each response must keep a
minimum rate (HUB_LIMITS_CLIENT_RATE).
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import select
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from django.conf import settings
from gunicorn.http.errors import NoMoreData
from gunicorn.workers.gthread import ThreadWorker

from hub.server.front import draining
from hub.server.front.connection import AHEAD_BYTES, Connection, Phase
from hub.server.front.direct import Application
from registry.core import waiting

HEAD_SECONDS = 20.0
CLOSING_SECONDS = 2.0
# In which each body and each response must keep the minimum rate.
WINDOW_SECONDS = 30.0
LOOK_SECONDS = 1.0
TRANSFER_THREADS = 4
# Probes have threads of their own: they are answered while all others wait for a backend.
PROBES = ("/healthz", "/readyz")
PROBE_THREADS = 2
# One call receives no more than this of a body, so that other connections have their turn.
TURN_BYTES = 2**23
ACCEPTS = 64
NEXT_MILLISECONDS = 1
_TOO_MANY = "Too many slow uploads are going on."


class FrontWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """gunicorn's threaded worker with connections that belong to the loop until they are ready."""

    def init_process(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        # A connection may have a file open beside it.
        self.worker_connections: int = min(self.cfg.worker_connections, most // 2)
        self.max_keepalived = self.worker_connections
        self.connections: dict[Connection, None] = {}
        # In the order in which they began to wait; a dict is an ordered set.
        self.heads: dict[Connection, None] = {}
        self.bodies: set[Connection] = set()
        self.queued: deque[Connection] = deque()
        self.streams = 0
        self.next_look = 0.0
        self.stream_limit = max(1, self.cfg.threads // 2)
        self.transfers = ThreadPoolExecutor(TRANSFER_THREADS)
        self.probes = ThreadPoolExecutor(PROBE_THREADS)
        self.direct: Application | None = None
        super().init_process()

    @classmethod
    def check_config(cls, cfg: Any, _log: Any) -> None:
        """Called by gunicorn; raises RuntimeError for TLS, which is a proxy's."""
        if cfg.is_ssl:
            raise RuntimeError("This worker speaks plain HTTP; put a proxy in front for TLS.")

    # --- the event loop ---

    def run(self) -> None:
        """Called by gunicorn: serve until the worker is stopped."""
        self.poller.register(
            self.method_queue.fileno(), selectors.EVENT_READ, self.method_queue.run_callbacks
        )
        # gunicorn counts, logs and maps only what it parses itself.
        if not (self.cfg.accesslog or self.cfg.max_requests or "SCRIPT_NAME" in os.environ):
            self.direct = getattr(self.wsgi, "direct", None)
        self.set_accept_enabled(True)
        while self.alive and self.is_parent_alive():
            self._turn(1.0)
        self._drain()
        self.set_accept_enabled(False)
        until = time.monotonic() + self.cfg.graceful_timeout
        while time.monotonic() < until:
            for connection in list(self.connections):
                if connection.phase in (Phase.HEAD, Phase.BODY, Phase.QUEUED):
                    self._drop(connection)
            if not self.connections:
                break
            self._turn(0.2)
        self.tpool.shutdown(wait=False)
        self.transfers.shutdown(wait=False)
        self.probes.shutdown(wait=False)
        self.poller.close()
        self.method_queue.close()
        for listener in self.sockets:
            listener.close()

    def _turn(self, seconds: float) -> None:
        self.notify()
        self.wait_for_and_dispatch_events(timeout=seconds)
        self._end_overdue()

    def _drain(self) -> None:
        """Serve on while ``/readyz`` says that this process ends, so that proxies choose others."""
        draining.begin()
        until = time.monotonic() + settings.HUB_DRAIN_SECONDS
        while time.monotonic() < until and self.is_parent_alive():
            self._turn(0.2)

    def accept(self, listener: socket.socket) -> None:
        """Take the clients that wait, and make room for them."""
        for _ in range(ACCEPTS):
            try:
                client, address = listener.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._make_room()
                elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                    raise
                return
            if len(self.connections) >= self.worker_connections:
                self._make_room()
            folder = str(settings.FILE_UPLOAD_TEMP_DIR)
            connection = Connection(client, address, listener.getsockname(), folder)
            self.connections[connection] = None
            self.heads[connection] = None
            # Most clients have sent their request already.
            self._guard(connection, self._on_head)

    def _on_head(self, connection: Connection) -> None:
        try:
            is_complete = connection.receive_head()
        except BlockingIOError:
            is_complete = False
        if is_complete:
            self._run_application(connection)
        else:
            self._await(connection, selectors.EVENT_READ, self._on_head)

    def _on_body(self, connection: Connection) -> None:
        body = connection.body
        if body is not None and body.is_on_disk:
            receive = partial(connection.receive_body, TURN_BYTES)
            self._transfer(connection, receive, self._after_receiving)
            return
        connection.receive_body(TURN_BYTES)
        self._after_receiving(connection)

    def _after_receiving(self, connection: Connection, _result: object = None) -> None:
        if connection.body is not None and connection.body.is_lost:
            self._refuse(connection, "507 Insufficient Storage", "The hub's disk is full.")
        elif connection.has_ended or connection.body is None or connection.body.is_complete:
            self._run_application(connection)
        elif connection.is_fast() and self.streams < self.stream_limit:
            self._stream(connection)
        elif connection.body.size >= AHEAD_BYTES:
            self._pause(connection)
            connection.phase = Phase.QUEUED
            self.queued.append(connection)
            self._stream_queued()
        else:
            connection.phase = Phase.BODY
            self._await(connection, selectors.EVENT_READ, self._on_body)
            if connection.body.is_on_disk:
                self._bound_bodies()

    def _bound_bodies(self) -> None:
        """Refuse the slowest while all bodies together have more than they may."""
        over = sum(body.transferred() for body in self.bodies) - settings.HUB_LIMITS_BODIES_BYTES
        if over <= 0:
            return
        waiting = (body for body in self.bodies if body.phase is Phase.BODY)
        for slowest in sorted(waiting, key=Connection.body_rate):
            if over > 0:
                over -= slowest.transferred()
                self._guard(slowest, self._refuse, "503 Service Unavailable", _TOO_MANY)

    def _stream_queued(self) -> None:
        while self.queued and self.streams < self.stream_limit:
            connection = self.queued.popleft()
            if connection in self.connections:
                self._stream(connection)

    def _stream(self, connection: Connection) -> None:
        """Run the application now, which reads the rest of the body from the connection."""
        self.streams += 1
        connection.is_streaming = True
        self._run_application(connection)

    def _run_application(self, connection: Connection) -> None:
        self._pause(connection)
        connection.phase = Phase.RUNNING
        connection.is_probe = connection.asks(PROBES)
        threads = self.probes if connection.is_probe else self.tpool
        work = threads.submit(self.handle, connection, time.monotonic())
        go_on = partial(self._guard, connection, self._after_running)
        work.add_done_callback(partial(self.method_queue.defer, go_on))

    def _after_running(self, connection: Connection, work: Future[bool | None]) -> None:
        if connection.is_streaming:
            connection.is_streaming = False
            self.streams -= 1
            self._stream_queued()
        is_sent = work.result()
        if is_sent is None:
            self.bodies.add(connection)
            self._after_receiving(connection)
        else:
            self.bodies.discard(connection)
            self._after_sending(connection, is_sent)

    def _after_sending(self, connection: Connection, is_done: object) -> None:
        if not is_done:
            connection.await_client()
            self._await(connection, selectors.EVENT_WRITE, self._on_room)
        elif connection.keep_alive and self.alive:
            self._next_request(connection)
        else:
            self._begin_closing(connection)

    def _on_room(self, connection: Connection) -> None:
        self._transfer(connection, connection.writer.send_waiting, self._after_sending)

    def _next_request(self, connection: Connection) -> None:
        connection.phase = Phase.HEAD
        if connection.next_request():
            self._run_application(connection)
            return
        self.heads[connection] = None
        self._await(connection, selectors.EVENT_READ, self._on_head)

    def _begin_closing(self, connection: Connection) -> None:
        connection.begin_closing()
        self._await(connection, selectors.EVENT_READ, self._on_closing)

    def _on_closing(self, connection: Connection) -> None:
        with contextlib.suppress(BlockingIOError):
            if connection.drain():
                self._drop(connection)

    def _transfer(
        self,
        connection: Connection,
        work: Callable[[], object],
        after: Callable[[Connection, Any], None],
    ) -> None:
        """Copy between disk and connection in a thread; then go on with ``after`` in the loop."""
        self._pause(connection)
        connection.phase = Phase.TRANSFER

        def result(connection: Connection, future: Future[object]) -> None:
            after(connection, future.result())

        go_on = partial(self._guard, connection, result)
        self.transfers.submit(work).add_done_callback(partial(self.method_queue.defer, go_on))

    def _guard(
        self, connection: Connection, callback: Callable[..., None], *arguments: object
    ) -> None:
        """What fails for one connection ends that connection, not the loop."""
        try:
            callback(connection, *arguments)
        except OSError:
            self._drop(connection)
        except Exception:
            self.log.exception("A connection was dropped")
            self._drop(connection)

    # --- in a thread ---

    def handle(self, connection: Connection, queued_at: float) -> bool | None:
        """Serve a request, and those that follow at once; None where more of a body must come.

        Otherwise whether the client has taken all of the last response.
        """
        waiting.begin_request(time.monotonic() - queued_at)
        is_sent = self._serve(connection)
        waiting.begin_request(0.0)
        while is_sent and connection.keep_alive and self._awaits_next(connection):
            is_sent = self._serve(connection)
        return is_sent

    def _awaits_next(self, connection: Connection) -> bool:
        """Whether the next request comes at once: many small files are read one by one.

        To wait here for a millisecond spares three changes of thread, which cost as much as a small
        file. There is no wait while other requests wait for a thread.
        """
        busy = not self.tpool._work_queue.empty()  # noqa: SLF001 - it has no public property for this
        if busy or connection.is_streaming or connection.is_probe or not self.alive:
            return False
        if connection.next_request():
            return True
        poll = select.poll()
        poll.register(connection.socket, select.POLLIN)
        with contextlib.suppress(OSError):  # the loop finds it, too
            return bool(poll.poll(NEXT_MILLISECONDS)) and connection.receive_head()
        return False

    def _serve(self, connection: Connection) -> bool | None:
        keep_alive = False
        try:
            direct = self.direct if connection.request is None else None
            if direct and connection.answer_directly(direct):
                keep_alive = self.alive and self.cfg.keepalive > 0
            else:
                if connection.request is None:
                    connection.parse(self.cfg)
                    if connection.expects_body():
                        connection.invite_body()
                        return None
                connection.prepare(lambda: bool(self.queued))
                keep_alive = bool(self.handle_request(connection.request, connection))
        except (NoMoreData, StopIteration) as error:
            self.log.debug("The connection ended: %s", error)
        except OSError as error:
            self.log.debug("The connection broke: %s", error)
            connection.writer.close()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the client gets an answer
            self.handle_error(connection.request, connection.writer, connection.client, error)
        connection.finish_request(keep_alive=keep_alive)
        return connection.writer.finish()

    # --- time and room ---

    def _end_overdue(self) -> None:
        now = time.monotonic()
        if now >= self.next_look:
            self.next_look = now + LOOK_SECONDS
            for connection in list(self.connections):
                self._guard(connection, self._end_if_overdue)

    def _end_if_overdue(self, connection: Connection) -> None:
        age = time.monotonic() - connection.since
        phase = connection.phase
        if phase is Phase.HEAD:
            if age > (self.cfg.keepalive if connection.is_idle else HEAD_SECONDS):
                self._drop(connection)
        elif phase is Phase.CLOSING:
            if age > CLOSING_SECONDS:
                self._drop(connection)
        elif phase in (Phase.BODY, Phase.RESPONSE):
            rate = settings.HUB_LIMITS_CLIENT_RATE
            if not connection.pace.is_slow(connection.transferred(), rate, WINDOW_SECONDS):
                return
            if phase is Phase.BODY:
                detail = f"The body came at less than {rate} bytes per second."
                self._refuse(connection, "408 Request Timeout", detail)
            else:
                self._drop(connection)

    def _refuse(self, connection: Connection, status: str, detail: str) -> None:
        self._pause(connection)
        self.bodies.discard(connection)
        connection.refuse(status, f"{detail} Send the request again.")
        self._after_sending(connection, connection.writer.finish())

    def _make_room(self) -> None:
        """Drop who has waited longest without a request, else who got least done."""
        oldest = next(iter(self.heads), None)
        if oldest is None:
            slow = [
                connection
                for connection in self.connections
                if connection.phase in (Phase.BODY, Phase.RESPONSE)
            ]
            oldest = min(slow, key=Connection.transferred, default=None)
        if oldest is not None:
            self._drop(oldest)

    def _await(
        self, connection: Connection, events: int, callback: Callable[[Connection], None]
    ) -> None:
        """Call ``callback`` in the loop when the connection is ready for ``events``."""
        is_registered = connection.on_ready is not None
        connection.on_ready = callback
        if is_registered:
            self.poller.modify(connection.socket, events, partial(self._on_event, connection))
        else:
            self.poller.register(connection.socket, events, partial(self._on_event, connection))

    def _on_event(self, connection: Connection, _socket: object) -> None:
        if connection.on_ready is not None:  # else an event before in the same turn ended the wait
            self._guard(connection, connection.on_ready)

    def _pause(self, connection: Connection) -> None:
        if connection.on_ready is not None:
            self.poller.unregister(connection.socket)
            connection.on_ready = None
        self.heads.pop(connection, None)

    def _drop(self, connection: Connection) -> None:
        """Close a connection and forget it."""
        self._pause(connection)
        self.bodies.discard(connection)
        self.connections.pop(connection, None)
        with contextlib.suppress(OSError):
            connection.close()
