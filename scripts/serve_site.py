"""Serve the built site on this machine: `python scripts/serve_site.py --port 8000`."""

from __future__ import annotations

import argparse
import functools
import http.server
import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent.parent / "site"
TRIED_PORTS = 20


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""


def bind(port: int) -> http.server.ThreadingHTTPServer:
    """A server on the first free port from `port` on."""
    handler = functools.partial(QuietHandler, directory=str(SITE))
    for candidate in range(port, port + TRIED_PORTS):
        try:
            return http.server.ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError:
            continue
    raise SystemExit(f"no free port from {port} to {port + TRIED_PORTS - 1}; choose another with PORT=")


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    if not (SITE / "index.html").is_file():
        raise SystemExit("no built site: run `make site SERVE=0` first")
    with bind(port) as server:
        print(f"The site is at http://127.0.0.1:{server.server_port}/ (Ctrl-C stops it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.exit(0)


if __name__ == "__main__":
    main()
