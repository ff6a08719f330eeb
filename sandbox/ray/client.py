"""The job API as the `ray job` commands use it."""

from __future__ import annotations

import json
import os
import sys

from jobledger.sandbox.ray.http_text import open_request


class JobClient:
    """Speaks to one head; a call raises OSError or RuntimeError if it gets no good answer."""

    def __init__(self, address: str) -> None:
        named = os.environ.get("RAY_API_SERVER_ADDRESS") or os.environ.get("RAY_ADDRESS") or ""
        address = address or (named if named.startswith("http") else "")
        if not address:
            address = f"http://{os.environ.get('POD_IP') or '127.0.0.1'}:8265"
        self.address = address.rstrip("/")
        if "://" not in self.address:
            self.address = "http://" + self.address

    def is_healthy(self) -> bool:
        """Tell whether the head answers."""
        return b"success" in open_request("GET", f"{self.address}/api/gcs_healthz").read_all()

    def submit(self, fields: dict[str, object]) -> str:
        """Hand in an entrypoint and return its submission id."""
        return str(self._call("POST", "", fields).get("submission_id"))

    def info(self, name: str) -> dict[str, object]:
        """Return what the head says of a submission."""
        return self._call("GET", name)

    def logs(self, name: str) -> str:
        """Return the whole log."""
        return str(self._call("GET", f"{name}/logs").get("logs", ""))

    def stop(self, name: str) -> None:
        """Ask for a stop."""
        self._call("POST", f"{name}/stop")

    def delete(self, name: str) -> None:
        """Make the head forget a finished submission."""
        self._call("DELETE", name)

    def list(self) -> list[object]:
        """Return what the head says of all submissions."""
        found = self._ask("GET", "")
        return found if isinstance(found, list) else []

    def follow(self, name: str) -> None:
        """Copy the log to the standard output until the job ends."""
        url = f"{self.address}/api/jobs/{name}/logs/tail"
        stream = open_request("GET", url, timeout_seconds=None)
        if stream.status != 200:  # noqa: PLR2004  # OK
            said = stream.read_all().decode(errors="replace")
            raise RuntimeError(f"Request failed with status code {stream.status}: {said}.")
        while piece := stream.read():
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()

    def _call(
        self, method: str, rest: str, fields: dict[str, object] | None = None
    ) -> dict[str, object]:
        found = self._ask(method, rest, fields)
        return found if isinstance(found, dict) else {}

    def _ask(self, method: str, rest: str, fields: dict[str, object] | None = None) -> object:
        body = json.dumps(fields).encode() if fields is not None else b""
        stream = open_request(method, f"{self.address}/api/jobs/{rest}", body)
        text = stream.read_all().decode(errors="replace")
        if stream.status != 200:  # noqa: PLR2004  # OK
            raise RuntimeError(f"Request failed with status code {stream.status}: {text}.")
        found: object = json.loads(text)
        return found
