"""`minertia studio`: the studio on a folder, in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from minertia.cli.terminal import diagnose, say


def studio(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Project folder: robot, logs, campaign, runs; created if "
"missing.")
    ] = Path(),
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; access needs the printed "
"token.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Port; default: 8765, or a free port if it is "
"in use.",
                                 show_default=False)
    ] = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
) -> None:  # fmt: skip
    """Open the studio on a folder: robot, motion, logs, fit, validation and code, in the browser.

    All its data are plain files that the other commands also read and write.
    """
    from minertia.io.extras import load
    from minertia.io.files import inputs_protected

    for package in ("uvicorn", "fastapi", "tomlkit"):
        load(package, "studio")
    from minertia.studio.entrance import kept_token
    from minertia.studio.serve import is_loopback, place, require_page, serve

    require_page()
    at = place(host, port, token=kept_token(folder))
    if not is_loopback(host):
        diagnose("minertia: other machines can reach this address; anyone with its token can use the studio")
    with inputs_protected():  # a server writes the same files again and again
        serve(folder, at, show=show, say=_say_address)


def _say_address(address: str) -> None:
    say(f"minertia studio on {address}\nCtrl-C ends it", wrap=False)
    sys.stdout.flush()  # whoever reads a pipe waits for it while the server runs
