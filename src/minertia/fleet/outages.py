"""Messages for unavailable remote storage: one sentence for each kind of outage, and what to do.

Libraries behind fsspec raise various exceptions; the kind is recognised by the names of exception classes and
by error codes, so that none of these libraries has to be imported here.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from minertia.io.errors import MinertiaError

TRIES, PAUSE = 2, 1.0  # s between them; what is behind fsspec tries several times by itself
Result = TypeVar("Result")


class StoreError(MinertiaError):
    """Error: a store cannot be used in its present state."""


class Outage(StoreError):
    """Remote storage does not answer; earlier writes are safe, and the operation can be repeated.

    url: URL of the storage; passes: whether the outage may be transient.
    """

    url: str = ""
    passes: bool = False


NO_BUCKET = ("NoSuchBucket", "bucket does not exist")
NO_KEYS = ("NoCredentials", "PartialCredentials", "CredentialRetrieval", "NoAuthToken", "TokenRetrieval")
REFUSED = (
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "Forbidden",
    "PermissionError",
)
BUSY = ("SlowDown", "Throttl", "ServiceUnavailable", "TooManyRequests", "RequestLimitExceeded", "reduce your request")
LATE = ("Timeout", "timed out", "IncompleteRead")
AWAY = ("EndpointConnection", "ConnectionError", "ClientConnector", "ConnectionRefused", "ConnectionReset",
        "ServerDisconnected", "ConnectionClosed", "gaierror", "ProxyConnection", "InternalError")  # fmt: skip
ERRNOS = {
    errno.EBUSY: BUSY,
    errno.ETIMEDOUT: LATE,
    errno.ECONNREFUSED: AWAY,
    errno.ECONNRESET: AWAY,
    errno.EHOSTUNREACH: AWAY,
    errno.ENETUNREACH: AWAY,
    errno.EREMOTEIO if hasattr(errno, "EREMOTEIO") else errno.EIO: AWAY,
}
SENTENCES = {
    NO_BUCKET: "the bucket does not exist; create it, or correct the name",
    NO_KEYS: "there are no access keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile to use",
    REFUSED: "access is denied; check the keys, whether they have expired, and their permissions",
    BUSY: "the storage limits the request rate; run the same command again later to continue",
    LATE: "the storage does not answer in time; check the network, and run the same command again to continue",
    AWAY: "the storage cannot be reached; check the network and AWS_ENDPOINT_URL, and run the same command again "
    "to continue",
}
PASSING = (BUSY, LATE, AWAY)  # that another try may find gone


def kind_of(err: BaseException) -> tuple[str, ...] | None:
    """Kind of outage that an exception or its cause indicates; None if it is not an outage."""
    seen: BaseException | None = err
    while seen is not None:
        said = " ".join([*(kind.__name__ for kind in type(seen).__mro__), _code(seen), str(seen)[:300]])
        for kind in SENTENCES:
            if any(word in said for word in kind):
                return kind
        if isinstance(seen, OSError) and seen.errno in ERRNOS:
            return ERRNOS[seen.errno]
        seen = seen.__cause__
    return None


def _code(err: BaseException) -> str:
    """Error code of a server's response, as stored by botocore."""
    answer = getattr(err, "response", None)
    return str(answer.get("Error", {}).get("Code", "")) if isinstance(answer, dict) else ""


@contextmanager
def told(url: str) -> Iterator[None]:
    """Context that converts errors of a server or its library to one-sentence errors, except FileNotFoundError."""
    try:
        yield
    except MinertiaError:
        raise
    except Exception as err:
        kind = kind_of(err)
        if kind is None and isinstance(err, FileNotFoundError):
            raise
        if kind is not None:
            outage = Outage(f"{url}: {SENTENCES[kind]} ({_short(err)})")
            outage.url, outage.passes = url, kind in PASSING
            raise outage from None
        if isinstance(err, OSError) or _is_of_libraries(err):
            raise StoreError(f"{url}: the storage cannot be used ({_short(err)})") from None
        raise


def _is_of_libraries(err: BaseException) -> bool:
    return type(err).__module__.split(".")[0] in (
        "botocore",
        "aiobotocore",
        "aiohttp",
        "s3fs",
        "gcsfs",
        "adlfs",
        "fsspec",
    )


def _short(err: BaseException) -> str:
    text = (getattr(err, "strerror", None) or str(err) or type(err).__name__).splitlines()[0]
    return text if len(text) <= 160 else f"{text[:157]}..."


def asked(url: str, ask: Callable[[], Result]) -> Result:
    """Return the result of a repeatable request, retried on transient outages."""
    for left in range(TRIES - 1, -1, -1):
        try:
            with told(url):
                return ask()
        except Outage as err:
            if not left or not err.passes:
                raise
            time.sleep(PAUSE)
    raise AssertionError("unreachable: the last attempt returns or raises")


class ToldFile:
    """Open remote file whose outages raise one-sentence errors."""

    def __init__(self, url: str, file: Any) -> None:
        self._url, self._file = url, file

    def __enter__(self) -> ToldFile:
        return self

    def __exit__(self, *what: object) -> None:
        self.close()

    def read(self, count: int = -1) -> bytes:
        """Read `count` bytes; -1: all remaining ones."""
        with told(self._url):
            return bytes(self._file.read(count))

    def seek(self, place: int, whence: int = 0) -> int:
        """Set the file position."""
        with told(self._url):
            return int(self._file.seek(place, whence))

    def tell(self) -> int:
        """Return the file position."""
        return int(self._file.tell())

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return False."""
        return False

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return bool(self._file.closed)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
