"""Two API servers: Trainer's manager on one, `jobledger run` and its webhooks on the other."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from jobledger.adapters.postgres.schema.version import upgrade
from tests.apiserver.build import assets
from tests.operators.processes import trainer
from tests.operators.train_lives.recorder import Recorder
from tests.operators.train_lives.world import WATCHED
from tests.support.api import Api
from tests.support.apiserver import ApiServer, shared_server
from tests.support.apiserver_content import ROOT
from tests.support.kills import Presence, killed
from tests.support.ports import reserved_ports
from tests.support.postgres import fresh_database, running_server
from tests.support.processes import Controller, Terminal, jobledger_command, plain_environment
from tests.support.waiting import wait_until
from tests.support.webhooks import ADMISSION, put, webhooks

WITHOUT_WEBHOOKS = "lives-without-webhooks"


@dataclass(frozen=True)
class Side:
    """One of the two."""

    name: str
    server: ApiServer
    admin: Api
    recorder: Recorder
    controller: Presence = field(default_factory=Presence)


def _programs() -> Path:
    found = assets(os.environ)
    assert found is not None, "there is no API server: run `make apiserver`"
    return found


def opened(
    name: str, directory: Path, conditions: str = "upstream", kills: int | None = None
) -> AbstractContextManager[Side]:
    """Run one of the two: `trainer`, or `ours` with a setting of which conditions are shown.

    Ours is killed again and again, if a seed for its moments is named.
    """
    return _trainers(directory) if name == "trainer" else _ours(directory, conditions, kills)


@contextmanager
def _trainers(directory: Path) -> Iterator[Side]:
    directory.mkdir(parents=True)
    with shared_server(directory / "apiserver", _programs()) as server:
        admin = server.api()
        admin.pool.connection_pool_kw["maxsize"] = 100
        with trainer(server.directory, directory, admin):
            for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
                _spare(admin, kind, "trainer-")
            yield from _side("trainer", server, admin, Presence())


@contextmanager
def _ours(directory: Path, conditions: str, kills: int | None) -> Iterator[Side]:
    directory.mkdir(parents=True)
    with (
        running_server() as postgres,
        fresh_database(postgres) as url,
        shared_server(directory / "apiserver", _programs()) as server,
    ):
        upgrade(url)
        admin = server.api()
        admin.pool.connection_pool_kw["maxsize"] = 100
        home = directory / "home"
        home.mkdir()
        terminal = Terminal(home, plain_environment(home, directory / "bytecode")).with_environment(
            KUBECONFIG=str(server.kubeconfig("controller")),
            DATABASE_URL=url,
            JOBLEDGER_DATA_DIR=str(home / "data"),
            JOBLEDGER_TRAINJOB_CONDITIONS=conditions,
            JOBLEDGER_LOG_FORMAT="json",
            JOBLEDGER_JOB_KINDS='["TrainJob"]',
        )
        presence = Presence()
        with (
            _webhooks(server, home, admin),
            Controller(terminal, "ours", ("--host", "127.0.0.1")) as controller,
            contextlib.nullcontext() if kills is None else killed(controller, presence, kills),
        ):
            yield from _side("ours", server, admin, presence)


def _side(name: str, server: ApiServer, admin: Api, controller: Presence) -> Iterator[Side]:
    recorder = Recorder(admin, WATCHED)
    recorder.start()
    try:
        yield Side(name, server, admin, recorder, controller)
    finally:
        recorder.stop()


@contextmanager
def _webhooks(server: ApiServer, home: Path, admin: Api) -> Iterator[None]:
    certificates = home / "certificates"
    certificates.mkdir()
    for source, copy in (("apiserver.crt", "tls.crt"), ("apiserver.key", "tls.key")):
        shutil.copy(server.directory / "certificates" / source, certificates / copy)
    ready = home / "webhooks-ready"
    (port,) = reserved_ports(1)
    words = [*jobledger_command(), "webhooks", "--host", "127.0.0.1", "--port", str(port)]
    words += ["--kubeconfig", str(server.kubeconfig("admin")), "--cert-dir", str(certificates)]
    words += ["--ready-file", str(ready), "--dns-name", "127.0.0.1"]
    with (home / "webhooks.log").open("ab") as log:
        process = subprocess.Popen(
            words, cwd=home, env=plain_environment(home, home / "bytecode"), stdout=log, stderr=log
        )
    try:
        wait_until(lambda: ready.exists() and ready.read_text() != "", "webhooks")
        trusted = (server.directory / "certificates" / "apiserver.crt").read_bytes()
        text = (ROOT / "ops" / "webhooks.yaml").read_text(encoding="utf-8")
        wanted = [one for one in yaml.safe_load_all(text) if "Configuration" in one["kind"]]
        file = home / "hooks.yaml"
        file.write_text(yaml.safe_dump_all(wanted))
        for document in webhooks(file, "our", f"https://127.0.0.1:{port}", trusted):
            for hook in document["webhooks"]:
                hook["namespaceSelector"] = _hooked()
            put(admin, document)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        process.wait(60)


def _hooked() -> dict[str, object]:
    return {"matchExpressions": [{"key": WITHOUT_WEBHOOKS, "operator": "DoesNotExist"}]}


def _spare(admin: Api, kind: str, prefix: str) -> None:
    for document in admin.request("GET", f"{ADMISSION}/{kind}").body["items"]:
        if document["metadata"]["name"].startswith(prefix):
            for hook in document["webhooks"]:
                hook["namespaceSelector"] = _hooked()
            path = f"{ADMISSION}/{kind}/{document['metadata']['name']}"
            reply = admin.request("PUT", path, document)
            assert reply.code == 200, reply.message
