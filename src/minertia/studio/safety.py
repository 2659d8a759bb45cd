"""Access control of the studio, and security headers of its responses.

All checks precede the application: the host name (Host), the origin of a request (Origin), the token of the
user who started the studio, and the size limit of requests; headers are added to responses.
"""

from __future__ import annotations

import html
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "minertia_studio"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# what runs generated code has rights of its own: it may compile what the page hands it, and ask for nothing
WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"
# pages of results bring their own, stricter policy; here they lose the origin of the studio
PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; sandbox allow-scripts"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
SMALL = 1_000_000  # bytes of a body that is no upload
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
READS = ("GET", "HEAD", "OPTIONS")
NO_TOKEN = "open the address that the studio printed, with its token"


@dataclass(frozen=True)
class Door:
    """Access rules.

    hosts: allowed host names with port (none: any).  token: required of every request, also on this machine,
    which other users may share (None: only for tests of the application).  largest: size limit of uploads
    [bytes].
    """

    hosts: tuple[str, ...] = ()
    token: str | None = None
    largest: int = 500_000_000


def new_token() -> str:
    """Random secret token."""
    return secrets.token_urlsafe(24)


def loopback_hosts(port: int) -> tuple[str, ...]:
    """Host names of a server that only this machine can reach."""
    return tuple(f"{host}:{port}" for host in LOOPBACK)


class TooLarge(Exception):
    """Error: a request exceeds the size limit."""

    def __init__(self, most: int) -> None:
        self.most = most
        super().__init__(
            f"the upload is too large; at most {most / 1000000.0:g} MB can be sent at once (copy larger logs into "
            "the folder)"
        )


def too_large(err: TooLarge) -> Response:
    """Response to a request that exceeds the size limit."""
    return _refused(413, str(err))


class Doorkeeper:
    """ASGI middleware that enforces the access rules."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it on with a bounded body and strict headers."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no other protocol is spoken here
            return
        answer = self.refusal(scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(MutableHeaders(scope=message), str(scope["path"]))
            await send(message)

        if answer is not None:
            await answer(scope, receive, guarded)
            return
        await self.app(scope, _bounded(receive, self.most(scope)), guarded)

    def most(self, scope: Scope) -> int:
        """Size limit of a request [bytes]."""
        return self.door.largest if scope["path"] == "/api/uploads" else SMALL

    def refusal(self, scope: Scope) -> Response | None:
        """Error response to a request that is not permitted; None if it is permitted."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self.door.hosts and host not in self.door.hosts:
            return _refused(421, "the studio does not accept this host name; open the address that it printed")
        if not _is_own(headers, host, scope["method"]):
            return _refused(
                403, "this request comes from another page; the studio accepts requests of its own page only"
            )
        if self.door.token is not None:
            answer = self._without_token(scope, headers)
            if answer is not None:
                return answer
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.most(scope):
            return too_large(TooLarge(self.most(scope)))
        return None

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        token = self.door.token or ""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = (query.pop("token", None) or [""])[0]
        name = _cookie_name(headers)
        if _is_same(given, token) and scope["method"] == "GET":
            rest = urlencode(query, doseq=True)
            answer = _onward(headers, quote(scope["path"]) + (f"?{rest}" if rest else ""))
            answer.set_cookie(name, token, httponly=True, samesite="strict")
            return answer
        known = headers.get("authorization", "").removeprefix("Bearer "), _cookie(headers, name)
        if any(_is_same(one, token) for one in known):
            return None
        is_visit = "text/html" in headers.get("accept", "") and not scope["path"].startswith("/api/")
        return _page(html.escape(NO_TOKEN), status=401) if is_visit else _refused(401, NO_TOKEN)


def _onward(headers: Headers, path: str) -> Response:
    """Redirect to the address without the token.

    After an external link (from a file or a mail) an intermediate page of the studio is needed: a browser sends a
    strict cookie only if the previous page was on the same site.
    """
    path = "/" + path.lstrip("/")  # two slashes would lead to another server
    if headers.get("sec-fetch-site") in (None, "same-origin", "none"):
        return RedirectResponse(path, status_code=303)
    return _page("", head=f'<meta http-equiv="refresh" content="0; url={html.escape(path)}">')


def _page(text: str, *, head: str = "", status: int = 200) -> Response:
    page = f'<!doctype html><html lang="en"><title>minertia studio</title>{head}<p>{text}</p></html>'
    return HTMLResponse(page, status_code=status)


def _is_same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


def _cookie_name(headers: Headers) -> str:
    """Cookie name of this port: cookies do not distinguish ports, so each studio on this machine has its own."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isascii() and port.isdigit() else COOKIE


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _is_own(headers: Headers, host: str, method: str) -> bool:
    """Whether a request comes from the studio's own page, or from no page at all."""
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return False
    site = headers.get("sec-fetch-site")
    if site in (None, "same-origin", "none"):
        return True
    is_visit = method in READS and headers.get("sec-fetch-mode") == "navigate"  # a link in a mail or a chat
    return is_visit and headers.get("sec-fetch-dest") in ("document", "empty", None)


def _bounded(receive: Receive, most: int) -> Receive:
    """Limit the size of a request body, even without a declared length or with a wrong one."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLarge(most)
        return message

    return counted


def _add_headers(headers: MutableHeaders, path: str) -> None:
    is_worker = path.startswith("/assets/") and ".worker-" in path
    headers.setdefault("Content-Security-Policy", WORKER_POLICY if is_worker else POLICY)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    is_fixed = path.startswith("/assets/")  # named after their content
    headers.setdefault("Cache-Control", "public, max-age=31536000, immutable" if is_fixed else "no-store")


def _refused(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status_code=status)
