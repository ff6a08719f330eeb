"""One real API server per test session, shared by all test processes.

Whoever needs it first starts a keeper, a process of its own that starts the server. Everybody who
uses it holds a shared lock on a file; the keeper waits for that lock to be free, which it is when
the last of them has ended, however it ended, and then stops everything. `tests/conftest.py`
imports the fixtures. Without the programs that `make apiserver` builds the tests are skipped, in
CI they fail.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.apiserver.build import assets, jobset_controller
from tests.support.api import Api, api_of_kubeconfig
from tests.support.apiserver_content import USERS, install_everything
from tests.support.apiserver_processes import START_SECONDS, TRIES, ApiServerProcesses
from tests.support.audit import audited
from tests.support.jobset_process import JobSetProcess
from tests.support.kubelet_port import KubeletPort
from tests.support.waiting import wait_until

KEEPER_SECONDS = TRIES * START_SECONDS + 60.0
"""Limit until the keeper has a server that is ready and has its content."""

LAST_USER_SECONDS = 170.0
"""So long the one who started the keeper waits for the others to end, before it kills it."""

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A running API server with a controller manager, RBAC and all definitions.

    With the JobSet controller too, where that is at hand.
    """

    directory: Path

    def kubeconfig(self, user: str = "admin") -> Path:
        """Return the kubeconfig of one of `USERS`."""
        assert user in USERS, user
        return self.directory / f"{user}.kubeconfig"

    def api(self, user: str = "admin") -> Api:
        """Return a plain client."""
        return api_of_kubeconfig(self.kubeconfig(user))


def programs() -> Path:
    """Return the folder of the programs; skip the test if they are not built."""
    found = assets(os.environ)
    if found is not None:
        return found
    missing = "no kube-apiserver: run `make apiserver` (once, some ten minutes)"
    if os.environ.get("CI") and os.environ.get("JOBLEDGER_NEEDS_APISERVER") == "1":
        pytest.fail(missing)
    pytest.skip(missing)


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A real API server; objects of other tests are on it, each in its own namespace."""
    found = programs()
    session = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        session = session.parent
    with shared_server(session / "apiserver", found) as server:
        yield server


@pytest.fixture(scope="session")
def jobset_server(api_server: ApiServer) -> ApiServer:
    """The same server; that JobSets are run by the real JobSet controller there is sure."""
    if has_jobsets():
        return api_server
    missing = "no JobSet controller: run `make apiserver` (it takes two minutes more)"
    if os.environ.get("CI") and os.environ.get("JOBLEDGER_NEEDS_APISERVER") == "1":
        pytest.fail(missing)
    pytest.skip(missing)


def has_jobsets() -> bool:
    """Tell whether there is the JobSet controller."""
    return jobset_controller(os.environ) is not None


@contextlib.contextmanager
def shared_server(directory: Path, programs_folder: Path) -> Iterator[ApiServer]:
    """Give the server of this directory, started by whoever is first."""
    directory.mkdir(exist_ok=True)
    users = (directory / "users.lock").open("ab")
    keeper = None
    try:
        with (directory / "door.lock").open("ab") as mapper:
            fcntl.flock(mapper, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a keeper that is just ending
            if not (directory / "ready").exists():
                keeper = _start_keeper(directory, programs_folder)
        yield ApiServer(directory / "server")
    finally:
        users.close()  # which frees the lock
        if keeper is not None:
            _wait_for_end(keeper)


def _start_keeper(directory: Path, programs_folder: Path) -> subprocess.Popen[bytes]:
    with (directory / "keeper.log").open("ab") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.support.apiserver", str(directory), str(programs_folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # an interrupt is for the tests
        )

    def is_ready() -> bool:
        said = (directory / "keeper.log").read_text
        assert keeper.poll() is None, f"there is no API server:\n{said(errors='replace')}"
        return (directory / "ready").exists()

    try:
        wait_until(is_ready, "the API server is ready", KEEPER_SECONDS)
    except BaseException:
        _kill(keeper)
        raise
    return keeper


def _wait_for_end(keeper: subprocess.Popen[bytes]) -> None:
    try:
        keeper.wait(LAST_USER_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(keeper)


def _kill(keeper: subprocess.Popen[bytes]) -> None:
    """End the keeper; what it started dies with it."""
    keeper.send_signal(signal.SIGKILL)
    keeper.wait()


def keep(directory: Path, programs_folder: Path) -> None:
    """Run a server until nobody holds the lock of its users any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = ApiServerProcesses(
        programs_folder,
        directory / "server",
        USERS,
        install_everything,
        options=audited(directory),
    )
    jobsets, kubelets = _jobset_process(server.directory), None
    try:
        server.start()
        admin = api_of_kubeconfig(server.kubeconfig("admin"))
        if jobsets is not None:
            jobsets.start(admin)
        kubelets = KubeletPort(admin, server.directory)
        kubelets.start()
        with (directory / "users.lock").open("ab") as users:
            (directory / "ready").touch()
            _wait_for_the_last(users)
            (directory / "ready").unlink()
            kubelets.stop()
            if jobsets is not None:
                jobsets.stop()
            server.stop()
            shutil.rmtree(server.directory)
    finally:
        if kubelets is not None:
            kubelets.stop()
        if jobsets is not None:
            jobsets.stop()
        server.stop()


def _jobset_process(directory: Path) -> JobSetProcess | None:
    program = jobset_controller(os.environ)
    return JobSetProcess(program, directory) if program is not None and has_jobsets() else None


def _wait_for_the_last(users: IO[bytes]) -> None:
    """Return once the lock is ours alone; it is held until the file is closed."""
    fcntl.flock(users, fcntl.LOCK_EX)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
