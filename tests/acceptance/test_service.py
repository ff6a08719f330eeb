"""The running service: its pages, its clean stop, its successor."""

import json

import pytest

from tests.acceptance.jobs import rayjob, waiting_for
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness

pytestmark = pytest.mark.postgres

METRICS = (
    "jobledger_events_appended_total",
    "jobledger_observations_total",
    "jobledger_append_seconds_bucket",
    "jobledger_effects_total",
    "jobledger_ray_polls_total",
    "jobledger_status_writes_total",
    "jobledger_decision_lateness_seconds_bucket",
    "jobledger_ledger_up",
    "process_resident_memory_bytes",
)


def test_sigterm_stops_it_cleanly_and_gives_the_leases_up(site: Site, witness: Witness) -> None:
    gate = site.directory / "gate"
    with site.controller("first") as first:
        site.submit(rayjob("long", waiting_for(gate), activeDeadlineSeconds=600))
        witness.wait_for_status("long", jobDeploymentStatus="Running", jobStatus="RUNNING")
        assert site.value("SELECT count(*) FROM shard_lease WHERE owner LIKE 'first/%%'") == 16
        assert first.terminate() == 0
        assert site.value("SELECT count(*) FROM shard_lease WHERE owner <> ''") == 0
        assert '"stopped"' in first.log.splitlines()[-1]
        assert "Traceback" not in first.log
    gate.touch()
    with site.controller("second") as second:
        witness.wait_for_phase("long", "Complete")
        assert second.terminate() == 0
    assert len(witness.clusters_of("long")) == 1


def test_the_pages_tell_how_it_is(site: Site, witness: Witness) -> None:
    with site.controller() as controller:
        site.submit(rayjob("short", "true", shutdownAfterJobFinishes=True))
        witness.wait_for_phase("short", "Complete")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
        assert controller.get("/healthz") == (200, '{"alive":true}')
        status, text = controller.get("/readyz")
        told = {"ready": True, "waits_for": []}
        assert (status, json.loads(text)) == (200, told)
        status, text = controller.get("/metrics")
        assert status == 200
        assert [name for name in METRICS if f"\n{name}" not in text] == []
        events = site.value("SELECT position FROM log_head")
        assert controller.metric("jobledger_events_appended_total") == events
        assert controller.metric("jobledger_events_appended_total", type="JobCompleted") == 1
        assert controller.metric("jobledger_poisoned_observations_total") == 0
        assert controller.metric("jobledger_ledger_up") == 1
        assert controller.get("/nothing")[0] == 404
        assert ">short</a>" in controller.get("/page/jobs")[1]
        status, text = controller.get("/page/health")
        assert (status, "jobledger_jobs_held" in text) == (200, True)
    for line in controller.log.splitlines():
        assert {"event", "level", "timestamp"} <= json.loads(line).keys()


def test_an_api_server_that_is_away_is_waited_for_and_named(site: Site) -> None:
    """`run` does not end: API servers come back. The page says what is missing meanwhile."""
    kubeconfig = site.directory / "nowhere"
    kubeconfig.write_text(
        (site.directory / site.terminal.environment["KUBECONFIG"])
        .read_text()
        .replace(site.api.url, "http://127.0.0.1:9")
    )
    controller = site.controller(KUBECONFIG=str(kubeconfig))
    try:
        controller.start(until_ready=False)
        status, text = controller.get("/readyz")
        assert status == 503
        assert "no list of RayJob objects yet" in json.loads(text)["waits_for"]
        assert controller.get("/healthz")[0] == 200
        assert controller.terminate() == 0
    finally:
        controller.kill()
    assert "Traceback" not in controller.log
