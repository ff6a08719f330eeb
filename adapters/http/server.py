"""Serves an application from a thread of its own."""

import socket
import threading

import uvicorn
from starlette.types import ASGIApp

START_SECONDS_MAX = 10.0


class HttpServer:
    """uvicorn in a thread; signals stay with the main thread."""

    def __init__(self, app: ASGIApp, host: str, port: int) -> None:
        self._socket = socket.create_server((host, port))
        self.url = f"http://{host}:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="http", daemon=True
        )

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """End; requests under way are finished."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(START_SECONDS_MAX)
        self._socket.close()
