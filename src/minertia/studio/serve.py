"""`serve`: the studio on a port of this machine."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from minertia.io.errors import InputError, MinertiaError
from minertia.io.extras import load
from minertia.studio.entrance import announced
from minertia.studio.safety import Door, loopback_hosts, new_token

STATIC = Path(__file__).parent / "static"
PORT = 8765
NOT_BUILT = (
    "the page of the studio is not built in this checkout; install Node.js 20 or newer and run `make studio`, or "
    "install a wheel, which contains it"
)


@dataclass(frozen=True)
class Listening:
    """Listening socket of the studio.  address: address of the server, without the token."""

    listener: socket.socket
    door: Door
    address: str

    @property
    def entrance(self) -> str:
        """Address, with the token, that opens the studio in a browser."""
        return self.address if self.door.token is None else f"{self.address}?token={self.door.token}"


def require_page() -> None:
    """Raise an error with advice where the page is not built."""
    if not (STATIC / "index.html").is_file():
        raise MinertiaError(NOT_BUILT)


def place(
    host: str = "127.0.0.1", port: int | None = None, largest: int | None = None, token: str | None = None
) -> Listening:
    """Open a port to listen on: the requested one, else the default port, or any free port if that is taken.

    token: an earlier token of the user, only on this machine (`entrance.kept_token`); by default a new one.
    """
    listener = _listener(host, port)
    own = listener.getsockname()[1]
    is_here = is_loopback(host)
    more = {} if largest is None else {"largest": largest}
    door = Door(loopback_hosts(own) if is_here else (), (token if is_here else None) or new_token(), **more)
    shown = f"[{host}]" if ":" in host else "127.0.0.1" if host == "localhost" else host
    return Listening(listener, door, f"http://{shown}:{own}/")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach this host."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    folder: str | Path, at: Listening, *, show: bool = False, say: Callable[[str], None] = lambda text: None
) -> None:
    """Serve until interrupted.  show: open a browser.  say: callback with the address and token once it listens."""
    uvicorn = load("uvicorn", "studio")
    load("fastapi", "studio")
    from minertia.studio.recent import remember
    from minertia.studio.server import studio

    remember(folder)
    config = uvicorn.Config(
        studio(folder, door=at.door), log_level="warning", access_log=False, timeout_graceful_shutdown=2,
        server_header=False, ws="none",
    )  # fmt: skip
    server = uvicorn.Server(config)
    with announced(folder, at.address, at.door.token) as page:
        say(at.entrance)
        if show:  # a page for this user alone: whoever lists processes sees the arguments of browsers
            threading.Timer(0.8, webbrowser.open, [at.entrance if page is None else page.as_uri()]).start()
        server.run(sockets=[at.listener])


def _listener(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (port,) if port is not None else (PORT, 0):
        # asyncio sends answers at once only where the protocol is named; else each waits 40 ms for an acknowledgement
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, wanted))
            return listener
        except OSError as err:
            listener.close()
            why = err.strerror or str(err)
    raise InputError(f"the studio cannot listen on {host}:{port or PORT} ({why}); choose another --host or --port")
