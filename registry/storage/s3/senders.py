"""Sending the parts of a multipart upload, some at once, while the next one is filled."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from registry.storage.s3.bucket import Bucket, Part

# Parts of one upload that are sent at once. Each takes the memory of a part.
SENDERS = 4


class PartSenders:
    """The parts that were sent, in order, and those on their way.

    The first failure is raised by every call after it: no later part may take the place of one that
    is missing.
    """

    def __init__(self, bucket: Bucket) -> None:
        self.parts: list[Part] = []
        self._bucket = bucket
        self._threads = ThreadPoolExecutor(SENDERS)
        self._sending: deque[Future[Part]] = deque()
        self._failure: Exception | None = None

    def send(self, key: str, upload: str, body: bytes | bytearray) -> None:
        """Send the next part, once there is a sender for it; ``body`` must not change any more."""
        self.wait_for_one()
        number = len(self.parts) + len(self._sending) + 1
        sending = self._threads.submit(self._bucket.put_part, key, upload, number, body)
        self._sending.append(sending)

    def wait_for_one(self) -> None:
        """Wait until a sender is free."""
        self.wait(SENDERS - 1)

    def wait(self, most: int = 0) -> None:
        """Wait until at most ``most`` parts are on their way; by default, until all are sent."""
        if self._failure is not None:
            raise self._failure
        try:
            while len(self._sending) > most:
                self.parts.append(self._sending.popleft().result())
        except Exception as error:
            self._failure = error
            raise

    def close(self) -> None:
        """Wait for what is on its way, whatever becomes of it."""
        self._threads.shutdown()
