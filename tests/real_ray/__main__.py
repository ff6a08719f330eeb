"""Run everything that wants a real Ray: `make test-ray`, or `python -m tests.real_ray RAY_BIN`.

First the contract of the job API, on one head that is started here; then whole RayJobs, each on
heads of its own.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.real_ray.real_command import HEAD_OPTIONS

START_SECONDS = 180.0
PORT = 28265


@contextmanager
def head(ray_bin: Path) -> Iterator[str]:
    """Give `host:port` of a head that lives as long as this.

    Raises:
        TimeoutError: it does not answer in time.
    """
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as directory:
        words = [str(ray_bin / "ray"), "start", "--head", "--block", "--dashboard-host=127.0.0.1"]
        words += [f"--dashboard-port={PORT}", f"--temp-dir={directory}", *HEAD_OPTIONS]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            _wait_until_ready(process)
            yield f"127.0.0.1:{PORT}"
        finally:
            end(process.pid)  # asked to end by SIGTERM, it would drain for half a minute
            process.wait()


def end(pid: int) -> None:
    """Kill a process and all that it has started."""
    head_process = psutil.Process(pid)
    for process in [*head_process.children(recursive=True), head_process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _wait_until_ready(process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/api/version", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    message = f"the head does not answer after {START_SECONDS:.0f} s, or has ended"
    raise TimeoutError(message)


def main() -> int:
    """Run both parts; return the exit code of the first that fails."""
    ray_bin, *arguments = sys.argv[1:] or [os.environ.get("RAY_BIN", "")]
    pytest = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-m", "ray", *arguments]
    environment = {**os.environ, "RAY_BIN": ray_bin}
    with head(Path(ray_bin)) as address:
        contract = [*pytest, "tests/contracts/test_ray_jobs.py"]
        code = subprocess.call(contract, env={**environment, "RAY_REAL": address})
    return code or subprocess.call([*pytest, "tests/real_ray"], env=environment)


if __name__ == "__main__":
    sys.exit(main())
