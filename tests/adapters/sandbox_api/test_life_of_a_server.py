"""The server starts, stops, and starts again as a real one does that has lost its storage."""

import socket
import tempfile
import threading
from pathlib import Path

import pytest

from jobledger.adapters.http.server import CannotServe
from jobledger.sandbox.admission.builtin_kinds import BUILTIN_KINDS
from jobledger.sandbox.api_server import SandboxApi
from jobledger.sandbox.commands.sandbox import sandbox
from jobledger.sandbox.model.storage import Storage
from tests.support.api import RAYJOBS, Api, api_at, own_namespace, rayjob


def test_a_restarted_server_tells_old_watches_410() -> None:
    with SandboxApi() as first:
        api = api_at(first.url)
        with own_namespace(api) as mine:
            revision = mine.create(RAYJOBS, rayjob("a")).revision
    port = int(first.url.rpartition(":")[2])
    with SandboxApi(port=port) as second:
        assert second.url == first.url
        api = Api(second.url, api.pool, "default")
        assert api.list(RAYJOBS).body["items"] == []
        with api.watch(RAYJOBS, resourceVersion=revision) as events:
            assert next(events)["object"]["code"] == 410
        assert int(api.create(RAYJOBS, rayjob("a")).revision) > int(revision)
    api.pool.clear()


def test_a_stopped_server_leaves_no_thread() -> None:
    before = set(threading.enumerate())  # other tests of this process have servers of their own
    server = SandboxApi()
    server.start()
    own = set(threading.enumerate()) - before
    assert "sandbox-api" in {thread.name for thread in own}
    server.stop()
    server.stop()
    assert not own & set(threading.enumerate())


def test_a_port_that_is_taken_is_an_error() -> None:
    with SandboxApi() as first:
        second = SandboxApi(port=int(first.url.rpartition(":")[2]))
        with pytest.raises(OSError, match="in use"):
            second.start()


def test_history_is_bounded_and_says_what_it_forgot() -> None:
    kind = next(kind for kind in BUILTIN_KINDS if kind.plural == "configmaps")
    storage = Storage(history_limit=5)
    document = {"metadata": {"name": "a", "namespace": "default", "uid": "u"}}
    revisions = [storage.put(kind.storage, document).revision for _ in range(12)]
    shelf = storage.shelf(kind.storage)
    kept = [change.version.revision for change in shelf.changes]
    assert kept == revisions[-len(kept) :]
    assert len(kept) <= 10
    assert shelf.floor == revisions[-len(kept) - 1]
    assert shelf.since(0) is None
    assert shelf.since(shelf.position_after(shelf.floor)) == shelf.changes


def test_health_is_answered(api: Api) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert api.request("GET", path).body == "ok"


def test_a_sandbox_that_cannot_serve_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for of_the_process in ("configure_logging", "StopSignals"):
        monkeypatch.setattr(f"{sandbox.__module__}.{of_the_process}", lambda *_: None)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(CannotServe):
        sandbox(port=taken.getsockname()[1])
    assert list(tmp_path.iterdir()) == []
