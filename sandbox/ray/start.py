"""`ray start`: a head that serves the job API, or a worker that waits."""

from __future__ import annotations

import os
import signal
import sys
import threading

from jobledger.sandbox.ray.arguments import tolerant

DASHBOARD_PORT = 8265
"""Where the job API is served unless `--dashboard-port` says otherwise (Ray's default)."""


def start(words: list[str]) -> int:
    """Run `ray start`; unknown options are tolerated."""
    options = tolerant(words)
    blocks = options.get("--block", "false").lower() == "true"
    is_head = "--head" in options
    if not blocks:
        if not is_head:
            return 0
        if os.fork():
            return 0  # the head goes on in the background
        os.setsid()
    if not is_head:
        sys.stdout.write(f"Ray runtime started, waiting at {options.get('--address', '')}\n")
        sys.stdout.flush()
        while True:
            signal.pause()
    return _serve(int(options.get("--dashboard-port") or DASHBOARD_PORT))


def _serve(port: int) -> int:
    from jobledger.sandbox.ray.head import Head  # noqa: PLC0415  # a worker need not pay for it

    host = os.environ.get("POD_IP") or "127.0.0.1"
    root = f"{os.environ.get('JOBLEDGER_SANDBOX_ROOT') or os.getcwd()}/ray-{os.getpid()}"  # noqa: PTH109  # pathlib costs 8 ms per start
    os.makedirs(root, exist_ok=True)  # noqa: PTH103  # pathlib costs 8 ms per start
    # waited for, not handled: a handler would wait itself while `accept` has just begun to block
    ends = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    head = Head(host, port, root)
    threading.Thread(target=head.serve, daemon=True).start()
    sys.stdout.write(f"Ray runtime started. View the dashboard at {host}:{port}\n")
    sys.stdout.flush()
    number = signal.sigwait(ends)
    head.submissions.kill()
    os._exit(128 + number)
