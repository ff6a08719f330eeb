"""The head's image cannot be pulled: the pre-running deadline ends the attempt, by its class."""

import pytest

from tests.acceptance.jobs import Document, cluster_spec, rayjob, with_metadata
from tests.acceptance.node import HEAD
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, Witness
from tests.support.api import PODS

pytestmark = pytest.mark.postgres

POLICIES = {
    "never": "image-pull=never",
    "free": "image-pull=uncounted",
    "plain": "",
}
"""Name of a job -> its retry policy; `plain` has none, so nobody looks at its Pods."""


def without_image(name: str, policy: str) -> Document:
    """Return a job whose head has an image that no registry has."""
    job = rayjob(name, "true", backoffLimit=0 if name == "free" else 1)
    job["spec"]["rayClusterSpec"] = cluster_spec(image="registry.invalid/ray:2.52.0")
    job["spec"]["preRunningDeadlineSeconds"] = 600
    asked = {"jobledger.dev/retry-policy": policy, "jobledger.dev/retry-delay-seconds": "600"}
    return with_metadata(job, annotations={key: value for key, value in asked.items() if value})


def waiting_for_images(site: Site) -> list[str]:
    """Return why the heads' containers wait."""
    found = site.api.list(PODS, labelSelector=HEAD).body["items"]
    told = [one for pod in found for one in pod.get("status", {}).get("containerStatuses", [])]
    return [one["state"].get("waiting", {}).get("reason", "") for one in told]


def test_an_image_that_cannot_be_pulled_is_judged_by_its_class(
    site: Site, witness: Witness
) -> None:
    with site.controller():
        for name, policy in POLICIES.items():
            site.submit(without_image(name, policy))
        witness.wait_until(
            lambda: waiting_for_images(site) == ["ImagePullBackOff"] * len(POLICIES),
            "all heads wait for their image",
        )
        for name in POLICIES:  # the deadline has passed already
            assert witness.status(name)["jobDeploymentStatus"] == "Initializing"
            site.change(name, preRunningDeadlineSeconds=1)
        final = witness.wait_for_phase("never", "Failed")
        free, plain = (witness.wait_for_phase(name, "Retrying") for name in ("free", "plain"))
        witness.wait_until(
            lambda: len([life for life in witness.lives(RAYCLUSTERS) if life.ended]) >= 2,
            "the RayClusters of what is retried are gone",
        )
    assert final["reason"] == "PreRunningDeadlineExceeded"
    assert final["message"].startswith("The RayJob has passed the preRunningDeadlineSeconds.")
    assert [one["failed"] for one in (final, free, plain)] == [1, 0, 1]
    told = site.rows(
        "SELECT j.name, e.type, e.data FROM event e JOIN job j USING (stream_id) "
        "WHERE e.type IN ('RetryGranted', 'RetryRefused')"
    )
    verdicts = {row["name"]: (row["type"], row["data"].get("failure")) for row in told}
    assert verdicts["never"] == ("RetryRefused", "image-pull")
    assert verdicts["free"] == ("RetryGranted", "image-pull")
    assert verdicts["plain"][0] == "RetryGranted"
    evidence = {row["name"]: row["data"].get("evidence", "") for row in told}
    assert "ImagePullBackOff" in evidence["never"]
    assert "image-pull" in site.terminal.jobledger("history", "never").out
