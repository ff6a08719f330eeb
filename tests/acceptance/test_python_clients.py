"""The official Python client works in the environment that `jobledger sandbox` prints.

That has a proxy in it, through which names of Services resolve, and says that the API server is
reached without; release 35 of the client, which the Kubeflow SDK takes, does not heed that.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from jobledger.sandbox.kubeconfig import write_environment
from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.site import Site
from tests.support.sdk import sdk_python

pytestmark = pytest.mark.postgres

SESSION = Path(__file__).with_name("client_session.py")
REFUSAL = "the sandbox does no exec, attach or port-forward"


@pytest.fixture(params=["own", "older"])
def said(request: pytest.FixtureRequest, site: Site, sandbox: Sandbox) -> Any:  # noqa: ANN401  # JSON
    """What a session with the client said, in a shell that has sourced the environment."""
    python = Path(sys.executable) if request.param == "own" else sdk_python()
    sourced = write_environment(sandbox.kubeconfig, sandbox.data_plane.proxy_url)
    gate = site.directory / "gate"
    typed = f'{sourced}; exec {python} {SESSION} {site.api.namespace} "{gate}"'
    user = site.terminal.with_environment(
        KUBECONFIG="", HTTP_PROXY="", NO_PROXY="", PYTHONPATH="", PYTHONPYCACHEPREFIX=""
    )
    with site.controller():
        return json.loads(user.run(["/bin/sh", "-c", typed]).out)


def test_it_watches_follows_logs_and_asks_heads_by_name(said: Any) -> None:  # noqa: ANN401  # JSON
    assert [line for line in said["followed"] if line in {"begun", "ended"}] == ["begun", "ended"]
    assert said["watched"] == said["followed"]
    assert said["ended"] == "SUCCEEDED"
    assert said["head"]


def test_a_connection_into_a_pod_is_refused_with_a_sentence(said: Any) -> None:  # noqa: ANN401  # JSON
    assert set(said["refused"]) == {"exec", "port-forward"}
    assert all(REFUSAL in one for one in said["refused"].values()), said["refused"]
