"""The S3 operations that the hub needs, with errors that name cause and cure.

Source: Amazon S3 API Reference, version 2006-03-01.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from hashlib import sha256 as new_sha256
from http import HTTPStatus
from typing import IO, Any, cast

import structlog
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    ReadTimeoutError,
)
from botocore.httpsession import URLLib3Session

from hub.protocol import problems
from registry.core import waiting
from registry.core.breakers import Breaker
from registry.core.concurrency import Places
from registry.storage.byte_store import Stat
from registry.storage.s3 import credentials

log = structlog.get_logger(__name__)

# The largest object that one request copies, and the smallest part but the last (Amazon's limits).
COPY_BYTES = 5 * 2**30
LEAST_PART_BYTES = 5 * 2**20
# The size of the parts in which a larger object is copied, some at once.
COPY_PART_BYTES = 2**30
COPY_THREADS = 4
MOST_KEYS = 1000
CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 5, 30, 3
# Where a thread may wait no longer than `waiting.READ_SECONDS`, and no longer than
# `waiting.BRIEF_SECONDS`: to connect and to the next bytes, both together no longer than that.
QUICK_CONNECT_SECONDS, QUICK_READ_SECONDS = 1, 4
BRIEF_CONNECT_SECONDS, BRIEF_READ_SECONDS = 0.3, 0.7
# Requests that read and wait for the bucket at once in one process, and how long others wait to be
# among them: half of the usual threads are left for what needs no bucket.
QUICK_AT_ONCE, QUICK_PLACE_SECONDS = 8, 0.25
CONNECTIONS = 64
RETRY_SECONDS = 5
# How long the addresses of `checks_content` are valid.
_TRIAL_SECONDS = 60
_MISSING = frozenset({"404", "NoSuchKey", "NoSuchUpload", "NotFound"})
_FULL = frozenset({"QuotaExceeded", "InsufficientCapacity", "XMinioStorageFull", "507"})


@dataclass(frozen=True, slots=True)
class Object:
    """One object of a listing: its key, size in bytes, entity tag, and when it was written."""

    key: str
    size: int
    etag: str = ""
    written_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart upload: its number from 1, entity tag, and size in bytes."""

    number: int
    etag: str
    size: int


class ChangedError(Exception):
    """An object is not what a condition says: it exists already, or has other bytes."""


class Bucket:
    """The objects of a bucket whose keys begin with ``prefix``.

    Credentials, region and endpoint come from the standard AWS environment and files. A missing
    object raises FileNotFoundError, a full bucket StorageFull, and a gateway that fails or refuses
    raises Unavailable after its retries.
    """

    def __init__(
        self,
        name: str,
        prefix: str,
        *,
        copy_bytes: int = COPY_BYTES,
        copy_part_bytes: int = COPY_PART_BYTES,
    ) -> None:
        self.name = name
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._copy_bytes = copy_bytes
        self._copy_part_bytes = copy_part_bytes
        self._session = session = credentials.session()
        region = session.get_config_variable("region") or "us-east-1"
        settings: dict[str, Any] = {
            "max_pool_connections": CONNECTIONS,
            "signature_version": "s3v4",
            # The hub hashes everything itself; other gateways do not know the newer checksums.
            "request_checksum_calculation": "when_required",
            "response_checksum_validation": "when_required",
        }
        client = session.create_client("s3", region_name=region, config=Config(**settings))
        endpoint = client.meta.endpoint_url
        # TLS protects what is sent; without it, a hash of each body is signed, which the gateway
        # computes too.
        options: dict[str, Any] = {"payload_signing_enabled": not endpoint.startswith("https://")}
        if ".amazonaws.com" not in endpoint:
            # Other gateways seldom have a host name for each bucket.
            options["addressing_style"] = "path"

        def limited(connect: float, read: float, attempts: int) -> Any:
            config = Config(
                **settings,
                s3=options,
                connect_timeout=connect,
                read_timeout=read,
                retries={"mode": "standard", "total_max_attempts": attempts},
            )
            return session.create_client("s3", region_name=region, config=config)

        self._patient = limited(CONNECT_SECONDS, READ_SECONDS, ATTEMPTS)
        self._quick = limited(QUICK_CONNECT_SECONDS, QUICK_READ_SECONDS, 1)
        self._brief = limited(BRIEF_CONNECT_SECONDS, BRIEF_READ_SECONDS, 1)
        self._breaker = Breaker("bucket")
        self._places = Places(
            QUICK_AT_ONCE,
            waiting=CONNECTIONS,
            wait_seconds=QUICK_PLACE_SECONDS,
            refusal=unavailable,
        )

    @property
    def _client(self) -> Any:
        """The client whose limits fit what this thread may wait."""
        if waiting.left() > waiting.READ_SECONDS:
            return self._patient
        return self._quick if waiting.left() > waiting.BRIEF_SECONDS else self._brief

    @contextmanager
    def _request(self, key: str) -> Iterator[None]:
        """A request to the gateway; raises Unavailable at once while that does not answer."""
        if waiting.left() <= 0.0 or not self._breaker.allows():
            raise unavailable()
        is_reading = waiting.left() <= waiting.READ_SECONDS
        place = self._places.hold() if is_reading else nullcontext()
        with place, _translated(key):
            try:
                with waiting.spent_if(ConnectTimeoutError, ReadTimeoutError):
                    yield
            except (ConnectTimeoutError, ReadTimeoutError):
                self._breaker.fail()
                raise
            except ClientError:
                self._breaker.succeed()
                raise
            self._breaker.succeed()

    def check(self) -> None:
        """Raise Unavailable unless the bucket is there and accepts the credentials."""
        try:
            with self._request(self.name):
                self._client.head_bucket(Bucket=self.name)
        except FileNotFoundError as error:
            log.error("bucket_missing", bucket=self.name)  # noqa: TRY400 - its place says nothing
            raise unavailable() from error

    def head(self, key: str) -> Stat:
        """What an object is."""
        answer = self._ask("head_object", key)
        written_at = answer["LastModified"].timestamp()
        return Stat(answer["ContentLength"], written_at, answer["ETag"])

    def get(self, key: str, start: int = 0, *, etag: str = "") -> IO[bytes]:
        """An object's bytes from ``start`` on; raises ChangedError where it has another tag."""
        options = {"Range": f"bytes={start}-"} if start else {}
        if etag:
            options["IfMatch"] = etag
        return cast("IO[bytes]", self._ask("get_object", key, **options)["Body"])

    def read(self, key: str, limit: int | None = None) -> bytes:
        """An object's bytes, or at most the first ``limit`` of them."""
        options = {"Range": f"bytes=0-{limit - 1}"} if limit else {}
        with self._request(key):
            try:
                answer = self._client.get_object(**self._named(key), **options)
                return bytes(answer["Body"].read())
            except ClientError as error:
                if _code(error) == "InvalidRange":  # it is empty
                    return b""
                raise

    def put(self, key: str, body: bytes | bytearray | IO[bytes], *, is_new: bool = False) -> str:
        """Write an object; returns its tag. Raises ChangedError if it is to be new and is not."""
        options = {"IfNoneMatch": "*"} if is_new else {}
        return str(self._ask("put_object", key, Body=body, **options)["ETag"])

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects, those that are there."""
        rest = [{"Key": self.prefix + key} for key in keys]
        while rest:
            batch, rest = rest[:MOST_KEYS], rest[MOST_KEYS:]
            with self._request(batch[0]["Key"]):
                answer = self._client.delete_objects(
                    Bucket=self.name, Delete={"Objects": batch, "Quiet": True}
                )
            for error in answer.get("Errors", []):
                if error["Code"] not in _MISSING:
                    log.error("object_not_deleted", key=error["Key"], code=error["Code"])
                    raise unavailable()

    def objects(self, prefix: str) -> Iterator[Object]:
        """Every object whose key begins with ``prefix``, in the order of the keys."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self.name, Prefix=self.prefix + prefix
        )
        with self._request(prefix):
            for page in pages:
                for row in page.get("Contents", []):
                    key = row["Key"].removeprefix(self.prefix)
                    written_at = row["LastModified"].timestamp()
                    yield Object(key, row["Size"], row["ETag"], written_at)

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the bucket; raises ChangedError where it was replaced meanwhile."""
        head = self.head(source)
        condition = {
            "CopySource": {"Bucket": self.name, "Key": self.prefix + source},
            "CopySourceIfMatch": head.tag,
        }
        if head.size <= self._copy_bytes:
            self._ask("copy_object", target, **condition)
            return
        upload = self.begin_parts(target)

        def copy_part(number: int) -> Part:
            start = (number - 1) * self._copy_part_bytes
            end = min(start + self._copy_part_bytes, head.size)
            answer = self._ask(
                "upload_part_copy",
                target,
                **condition,
                UploadId=upload,
                PartNumber=number,
                CopySourceRange=f"bytes={start}-{end - 1}",
            )
            tag = answer["CopyPartResult"]["ETag"]
            return Part(number, tag, end - start)

        try:
            with ThreadPoolExecutor(COPY_THREADS) as threads:
                numbers = range(1, -(-head.size // self._copy_part_bytes) + 1)
                self.complete(target, upload, list(threads.map(copy_part, numbers)))
        except BaseException:
            self.abort(target, upload)
            raise

    def begin_parts(self, key: str) -> str:
        """Begin an object that comes in parts; returns the id of its multipart upload."""
        return str(self._ask("create_multipart_upload", key)["UploadId"])

    def put_part(
        self, key: str, upload: str, number: int, body: bytes | bytearray | IO[bytes]
    ) -> Part:
        """Write one part of an object."""
        if isinstance(body, bytes | bytearray):
            size = len(body)
        else:
            size = body.seek(0, io.SEEK_END)
            body.seek(0)
        answer = self._ask("upload_part", key, UploadId=upload, PartNumber=number, Body=body)
        return Part(number, answer["ETag"], size)

    def parts(self, key: str, upload: str) -> list[Part]:
        """The parts of an object that were written, in order; raises FileNotFoundError."""
        pages = self._client.get_paginator("list_parts").paginate(
            **self._named(key), UploadId=upload
        )
        with self._request(key):
            return [
                Part(row["PartNumber"], row["ETag"], row["Size"])
                for page in pages
                for row in page.get("Parts", [])
            ]

    def complete(self, key: str, upload: str, parts: list[Part]) -> None:
        """Make the object of exactly these parts.

        Raises ChangedError where a part was replaced, FileNotFoundError where all are gone.
        """
        named = {"Parts": [{"PartNumber": part.number, "ETag": part.etag} for part in parts]}
        self._ask("complete_multipart_upload", key, UploadId=upload, MultipartUpload=named)

    def abort(self, key: str, upload: str) -> None:
        """Discard the parts of an object, if they are there."""
        with suppress(FileNotFoundError):
            self._ask("abort_multipart_upload", key, UploadId=upload)

    def unfinished(self, prefix: str) -> Iterator[tuple[str, str, float]]:
        """Key, id and beginning of each multipart upload that was neither completed nor aborted."""
        pages = self._client.get_paginator("list_multipart_uploads").paginate(
            Bucket=self.name, Prefix=self.prefix + prefix
        )
        with self._request(prefix):
            for page in pages:
                for row in page.get("Uploads", []):
                    key = row["Key"].removeprefix(self.prefix)
                    yield key, row["UploadId"], row["Initiated"].timestamp()

    def sign(self, key: str, headers: dict[str, str], seconds: int) -> str:
        """An address that anyone may read an object from, with these headers in the response."""
        names = {
            "Content-Type": "ResponseContentType",
            "Content-Disposition": "ResponseContentDisposition",
            "Cache-Control": "ResponseCacheControl",
        }
        options = {names[name]: value for name, value in headers.items() if name in names}
        with self._request(key):
            url = self._client.generate_presigned_url(
                "get_object", Params=self._named(key) | options, ExpiresIn=seconds
            )
        return str(url)

    def sign_upload(self, key: str, sha256: str, size: int, seconds: int) -> str:
        """An address that takes one content alone, by a PUT with the header X-Amz-Content-SHA256.

        The digest and the size in bytes are signed. Whether the gateway compares them with the
        content, `checks_content` says.
        """
        with self._request(key):
            named = self._named(key)
            url = self._client.generate_presigned_url("put_object", Params=named).partition("?")[0]
            headers = {"Content-Length": str(size), "X-Amz-Content-SHA256": sha256}
            request = AWSRequest("PUT", url, headers=headers)
            region = self._client.meta.region_name
            keys = self._session.get_credentials()
            S3SigV4QueryAuth(keys, "s3", region, expires=seconds).add_auth(request)
        return str(request.url)

    def checks_content(self, key: str) -> bool:
        """Whether the gateway takes at a signed address what was signed, and refuses all else.

        It is tried with content of another digest, of another digest in the header as well, of
        another length, and without the header.
        """
        content, other, longer = b"content", b"another", b"content of another length"
        digest, wrong = (new_sha256(body).hexdigest() for body in (content, other))
        url = self.sign_upload(key, digest, len(content), _TRIAL_SECONDS)
        tries = [(other, digest), (other, wrong), (longer, digest), (content, None)]
        tries += [(other, "UNSIGNED-PAYLOAD"), (content, digest)]
        verify = self._session.get_config_variable("ca_bundle") or True
        http = URLLib3Session(verify=verify, timeout=QUICK_READ_SECONDS)
        with self._request(key):
            statuses = []
            for body, header in tries:
                headers = {"X-Amz-Content-SHA256": header} if header else {}
                request = AWSRequest("PUT", url, headers=headers, data=body).prepare()
                statuses.append(http.send(request).status_code)
        *refused, accepted = statuses
        checks = accepted == HTTPStatus.OK and all(400 <= status < 500 for status in refused)
        checks = checks and self.read(key) == content
        self.delete([key])
        log.info("direct_uploads", checks=checks, statuses=statuses)
        return checks

    def _ask(self, operation: str, key: str, **options: Any) -> dict[str, Any]:
        with self._request(key):
            answer: dict[str, Any] = getattr(self._client, operation)(**self._named(key), **options)
        return answer

    def _named(self, key: str) -> dict[str, str]:
        return {"Bucket": self.name, "Key": self.prefix + key}


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def unavailable() -> problems.Unavailable:
    """The problem of a gateway that fails or refuses."""
    return problems.Unavailable(
        "The hub's object storage does not respond or refuses the request. Nothing was lost. Try "
        "again later.",
        retry_after=RETRY_SECONDS,
    )


@contextmanager
def _translated(key: str) -> Iterator[None]:
    """Errors of the gateway, in the words of the hub; its own go to the log alone."""
    try:
        yield
    except ClientError as error:
        code = _code(error)
        if code in _MISSING:
            raise FileNotFoundError(key) from error
        if code in {"PreconditionFailed", "412", "InvalidPart"}:
            raise ChangedError(key) from error
        if code in _FULL:
            raise problems.StorageFull(
                "The hub's object storage is full. Nothing was lost. Continue when the operator "
                "has freed space."
            ) from error
        log.error(  # noqa: TRY400 - the gateway says why
            "object_storage_refused", key=key, code=code, error=str(error)
        )
        raise unavailable() from error
    except (BotoCoreError, OSError) as error:
        log.warning("object_storage_failed", key=key, error=str(error))
        raise unavailable() from error
