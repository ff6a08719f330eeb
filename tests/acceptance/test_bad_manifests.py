"""What is wrong with a manifest is said, in upstream's words where it has any; the rest goes on."""

import json
from pathlib import Path

import pytest
import yaml

from tests.acceptance.jobs import Document, rayjob, with_metadata
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, Witness

pytestmark = pytest.mark.postgres

LONG_NAME = "n" * 48


def headless() -> Document:
    manifest = rayjob("headless", "true")
    manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"] = []
    return manifest


WRONG = {
    "negative": rayjob("negative", "true", backoffLimit=-1),
    "list": rayjob("list", "true", runtimeEnvYAML="- a\n- list\n"),
    "unreadable": rayjob("unreadable", "true", runtimeEnvYAML="env_vars: {A: 'open"),
    LONG_NAME: rayjob(LONG_NAME, "true"),
    "1st": rayjob("1st", "true"),
    "slash": rayjob("slash", "true", jobId="team/job"),
    "headless": headless(),
    "ttl": rayjob("ttl", "true", ttlSecondsAfterFinished=5),
    "suspend": rayjob("suspend", "true", suspend=True),
    "deadline": rayjob("deadline", "true", activeDeadlineSeconds=0),
}
SPEC, METADATA = "The RayJob spec is invalid: ", "The RayJob metadata is invalid: "
MESSAGES = {
    "negative": f"{SPEC}backoffLimit must be a positive integer",
    LONG_NAME: f"{METADATA}RayJob name should be no more than 47 characters",
    "1st": f"{METADATA}RayJob name should be a valid DNS1035 label: [a DNS-1035 label must consist "
    "of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')]",
    "slash": f"{SPEC}spec.jobId is 'team/job'; it becomes part of a URL of the Ray job API: leave "
    "out '/', '?', '#', '%', spaces and control characters",
    "headless": f"{SPEC}headGroupSpec should have at least one container",
    "ttl": f"{SPEC}a RayJob with shutdownAfterJobFinishes set to false cannot have "
    "TTLSecondsAfterFinished",
    "suspend": f"{SPEC}a RayJob with shutdownAfterJobFinishes set to false is not allowed to be "
    "suspended",
    "deadline": f"{SPEC}activeDeadlineSeconds must be a positive integer",
}
"""Upstream's, byte for byte, but for the slash, which upstream does not see."""

BEGINNINGS = {
    "list": "failed to unmarshal RuntimeEnvYAML: ",
    "unreadable": "failed to unmarshal RuntimeEnvYAML: ",
}
"""Upstream repeats the YAML here, which may hold secrets; ours names the trouble only."""


def test_invalid_manifests_are_told_and_others_run(site: Site, witness: Witness) -> None:
    with site.controller() as controller:
        for manifest in WRONG.values():
            site.submit(manifest)
        site.submit(rayjob("plain", "true"))
        witness.wait_for_phase("plain", "Complete")
        statuses = {name: witness.wait_for_phase(name, "ValidationFailed") for name in WRONG}
        assert controller.metric("jobledger_poisoned_observations_total") == 0
    messages = {name: status["message"] for name, status in statuses.items()}
    assert {status["reason"] for status in statuses.values()} == {"ValidationFailed"}
    assert {name: messages[name] for name in MESSAGES} == MESSAGES
    for name, beginning in BEGINNINGS.items():
        assert messages[name].startswith(beginning)
    assert len(witness.lives(RAYCLUSTERS)) == 1, "that of the valid one"


def test_a_repaired_manifest_goes_on(site: Site, witness: Witness) -> None:
    with site.controller():
        site.submit(rayjob("mended", "true", backoffLimit=-1))
        witness.wait_for_phase("mended", "ValidationFailed")
        site.change("mended", backoffLimit=0)
        status = witness.wait_for_phase("mended", "Complete")
        assert not status.get("message", "").startswith(SPEC)
        assert not status.get("reason")
        site.submit(rayjob("running", "sleep 600", shutdownAfterJobFinishes=True))
        witness.wait_for_status("running", jobDeploymentStatus="Running", jobStatus="RUNNING")
        site.change("running", backoffLimit=-5)
        witness.wait_for_phase("running", "ValidationFailed")
        site.change("running", backoffLimit=1)
        witness.wait_for_phase("running", "Running")
    assert len(witness.clusters_of("running")) == 1, "the attempt was not begun anew"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec.backoffLimit", "three"),
        ("spec.backoffLimit", 1.5),
        ("spec.suspend", "yes"),
        ("spec.entrypoint", ["python", "train.py"]),
        ("spec.rayClusterSpec", "small"),
    ],
)
def test_a_wrong_type_is_refused_by_the_api_by_its_field(
    site: Site, field: str, value: object
) -> None:
    file = write(site.directory, typed(field, value))
    refused = site.terminal.jobledger("apply", "-n", site.api.namespace, "-f", file, code=6)
    assert refused.err.startswith("rayjob/typed refused: ")
    assert field in refused.err
    assert refused.err.count("\n") == 1
    assert site.api.get("ray.io/v1/rayjobs", "typed").code == 404


def test_a_mistyped_field_is_refused(site: Site) -> None:
    """Left out, a job with `backofLimit: 2` would never be retried."""
    file = write(site.directory, rayjob("slip", "true", backofLimit=2))
    refused = site.terminal.jobledger("apply", "-n", site.api.namespace, "-f", file, code=6)
    assert ".spec.backofLimit: field not declared in schema" in refused.err
    assert site.api.get("ray.io/v1/rayjobs", "slip").code == 404


def test_apply_names_every_object_it_was_refused_and_goes_on(site: Site) -> None:
    bad = rayjob("bad", "true", backoffLimit="three")
    files = [write(site.directory, bad, "bad"), write(site.directory, rayjob("ok", "true"), "ok")]
    told = site.terminal.jobledger(
        *("apply", "-n", site.api.namespace, "-f", files[0], "-f", files[1], "-o", "json"), code=6
    )
    results = {row["name"]: row["result"].split(":")[0] for row in json.loads(told.out)}
    assert results == {"bad": "refused", "ok": "applied"}


def test_a_jobs_secrets_do_not_come_back_in_what_is_said_about_it(
    site: Site, witness: Witness
) -> None:
    """A manifest that cannot even be read is no way past the redaction."""
    secret = "hunter2-hunter2-hunter2"
    broken = rayjob("leaky", "true", runtimeEnvYAML=f"env_vars: {{PASSWORD: '{secret}")
    with site.controller() as controller:
        site.submit(with_metadata(broken, annotations={"note": "harmless"}))
        status = witness.wait_for_phase("leaky", "ValidationFailed")
    assert secret not in json.dumps(status) + controller.log
    assert secret not in json.dumps(site.rows("SELECT data FROM event"), default=str)


def typed(field: str, value: object) -> Document:
    manifest = rayjob("typed", "true")
    manifest["spec"][field.removeprefix("spec.")] = value
    return manifest


def write(directory: Path, manifest: Document, name: str = "manifest") -> str:
    file = directory / f"{name}.yaml"
    file.write_text(yaml.safe_dump(manifest))
    return str(file)
