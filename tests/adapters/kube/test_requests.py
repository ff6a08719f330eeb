"""What the client sends for each method of the port, and what it makes of the answer."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from jobledger.adapters.kube.client import ABOUT_BYTES_MAX, KubernetesCluster
from jobledger.adapters.kube.errors import UnreadableAnswer
from jobledger.core.errors import (
    ClusterError,
    ClusterUnreachable,
    KindNotServed,
    ObjectChanged,
    ObjectNotFound,
    RequestInvalid,
    VersionExpired,
)
from jobledger.core.ports.cluster import NAMESPACES, PODS, RAYJOBS
from jobledger.core.values.documents import text
from tests.adapters.kube.samples import rayjob, transport_to
from tests.support.canned_server import Answer, CannedServer, list_of, refusal

JOB = rayjob("a", 1)
MISSING = refusal(404, "NotFound", 'rayjobs.ray.io "a" not found')


@pytest.fixture
def server() -> Iterator[CannedServer]:
    with CannedServer() as running:
        yield running


@pytest.fixture
def cluster(server: CannedServer) -> KubernetesCluster:
    return KubernetesCluster(transport_to(server), page_limit=2)


def test_an_object_is_read(server: CannedServer, cluster: KubernetesCluster) -> None:
    server.add(Answer(body=JOB))
    assert cluster.get(RAYJOBS, "team", "a") == JOB
    asked = server.received[0]
    assert (asked.method, asked.target) == (
        "GET",
        "/apis/ray.io/v1/namespaces/team/rayjobs/a",
    )
    assert asked.headers["Accept"] == "application/json"
    assert asked.headers["User-Agent"] == "jobledger"


def test_an_object_that_is_not_there_is_none(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    server.add(MISSING)
    assert cluster.get(RAYJOBS, "team", "a") is None


def test_a_kind_that_is_not_served_is_told_with_the_definition_that_is_missing(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    server.add(Answer(404, b"404 page not found\n"), Answer(404, b"404 page not found\n"))
    missing = "the CRD rayjobs.ray.io is not installed, or does not serve that version"
    with pytest.raises(ObjectNotFound, match=f"rayjobs of ray.io/v1: {missing}"):
        cluster.create(RAYJOBS, JOB)
    with pytest.raises(ObjectNotFound, match=missing):
        cluster.list(RAYJOBS)


NOT_SERVED = Answer(404, b"404 page not found\n")
GROUP = Answer(body={"versions": [{"version": "v1"}, {"version": "v2"}]})


@pytest.mark.parametrize(
    "others",
    [
        [NOT_SERVED],
        [GROUP, NOT_SERVED, NOT_SERVED],
        [GROUP, NOT_SERVED, Answer(body={"resources": [{"name": "rayclusters"}]})],
    ],
    ids=["no version of its group", "nothing in any version", "another kind alone"],
)
def test_where_no_version_of_a_kind_is_served_its_objects_are_gone(
    server: CannedServer, cluster: KubernetesCluster, others: list[Answer]
) -> None:
    server.add(NOT_SERVED, *others, NOT_SERVED, *others)
    assert cluster.get(RAYJOBS, "team", "a") is None
    cluster.delete(RAYJOBS, "team", "a", uid="u")


def test_where_another_version_is_served_nobody_knows(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    others = GROUP, NOT_SERVED, Answer(body={"resources": [{"name": "rayjobs"}]})
    server.add(NOT_SERVED, *others, NOT_SERVED, *others)
    with pytest.raises(KindNotServed, match="or does not serve that version"):
        cluster.get(RAYJOBS, "team", "a")
    with pytest.raises(KindNotServed, match="or does not serve that version"):
        cluster.delete(RAYJOBS, "team", "a", uid="u")


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_an_answer_that_sends_elsewhere_is_not_followed(
    server: CannedServer, cluster: KubernetesCluster, code: int
) -> None:
    """The token would go along."""
    server.add(Answer(code, headers={"Location": f"{server.url}/elsewhere"}), Answer(body=JOB))
    with pytest.raises(ClusterError):
        cluster.get(RAYJOBS, "team", "a")
    (asked,) = server.received
    assert asked.target == "/apis/ray.io/v1/namespaces/team/rayjobs/a"


def test_a_404_from_elsewhere_says_nothing_of_the_object(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    """A proxy that has lost its way must not have a running job's cluster believed gone."""
    server.add(Answer(404, b"<html>no such page</html>"), Answer(404, {"kind": "Page"}))
    with pytest.raises(ClusterUnreachable, match="no Status"):
        cluster.get(RAYJOBS, "team", "a")
    with pytest.raises(ClusterUnreachable, match="no Status"):
        cluster.delete(RAYJOBS, "team", "a")


def test_core_and_cluster_wide_kinds_have_their_paths(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    pod = {"metadata": {"namespace": "team", "name": "p"}}
    server.add(Answer(body=pod), Answer(body={"metadata": {"name": "team"}}), list_of())
    cluster.get(PODS, "team", "p")
    cluster.get(NAMESPACES, "", "team")
    cluster.list(PODS)
    assert [asked.path for asked in server.received] == [
        "/api/v1/namespaces/team/pods/p",
        "/api/v1/namespaces/team",
        "/api/v1/pods",
    ]


def test_a_name_cannot_leave_its_place(server: CannedServer, cluster: KubernetesCluster) -> None:
    server.add(MISSING)
    cluster.get(RAYJOBS, "team", "a/../../b?c")
    assert server.received[0].target.endswith("/rayjobs/a%2F..%2F..%2Fb%3Fc")
    with pytest.raises(RequestInvalid, match="no name of"):
        cluster.get(RAYJOBS, "team", "..")


def test_without_a_name_nothing_is_deleted(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    """The path would be that of the collection, and all of it would be deleted."""
    with pytest.raises(RequestInvalid, match="it has no name"):
        cluster.delete(RAYJOBS, "team", "")
    assert server.received == []


@pytest.mark.parametrize("code", [200, 201, 202])
def test_a_creation_returns_the_object(
    server: CannedServer, cluster: KubernetesCluster, code: int
) -> None:
    server.add(Answer(code, JOB))
    assert cluster.create(RAYJOBS, {"metadata": {"namespace": "team", "name": "a"}}) == JOB
    asked = server.received[0]
    assert (asked.method, asked.path) == ("POST", "/apis/ray.io/v1/namespaces/team/rayjobs")
    assert asked.query == {"fieldManager": "jobledger"}
    assert asked.json == {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"namespace": "team", "name": "a"},
    }


def test_read_only_documents_can_be_sent(server: CannedServer, cluster: KubernetesCluster) -> None:
    server.add(Answer(201, JOB))
    frozen = MappingProxyType({**JOB, "spec": MappingProxyType({"items": (1, 2.5, None, True)})})
    cluster.create(RAYJOBS, frozen)
    assert server.received[0].json == {**JOB, "spec": {"items": [1, 2.5, None, True]}}


def test_a_replacement_carries_its_version(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    server.add(Answer(body=JOB), refusal(409, "Conflict", "the object has been modified"))
    assert cluster.replace(RAYJOBS, JOB, subresource="status") == JOB
    asked = server.received[0]
    assert (asked.method, asked.json) == ("PUT", JOB)
    assert asked.path == "/apis/ray.io/v1/namespaces/team/rayjobs/a/status"
    with pytest.raises(ObjectChanged, match="has been modified"):
        cluster.replace(RAYJOBS, JOB)


def test_a_merge_patch_is_sent_as_one(server: CannedServer, cluster: KubernetesCluster) -> None:
    """The client's own methods send a dict as a merge patch, but a list as nothing the API has."""
    server.add(Answer(body=JOB))
    patch: dict[str, Any] = {"metadata": {"finalizers": None, "resourceVersion": "7"}}
    assert cluster.merge_patch(RAYJOBS, "team", "a", patch) == JOB
    asked = server.received[0]
    assert (asked.method, asked.json) == ("PATCH", patch)
    assert asked.headers["Content-Type"] == "application/merge-patch+json"


@pytest.mark.parametrize("code", [200, 201])
def test_an_apply_returns_the_object_whether_new_or_not(
    server: CannedServer, cluster: KubernetesCluster, code: int
) -> None:
    """The client's own method returns None for an object that the apply created."""
    server.add(Answer(code, JOB))
    applied = cluster.apply(RAYJOBS, JOB, field_manager="us", subresource="status", force=True)
    assert applied == JOB
    asked = server.received[0]
    assert (asked.method, asked.json) == ("PATCH", JOB)
    assert asked.path.endswith("/rayjobs/a/status")
    assert asked.query == {"fieldManager": "us", "force": "true"}
    assert asked.headers["Content-Type"] == "application/apply-patch+yaml"


def test_a_deletion_names_what_it_means(server: CannedServer, cluster: KubernetesCluster) -> None:
    server.add(Answer(body={"kind": "Status", "status": "Success"}), Answer(202, JOB))
    cluster.delete(RAYJOBS, "team", "a", uid="uid-a", propagation="Foreground")
    cluster.delete(RAYJOBS, "team", "a")
    first, second = server.received
    assert first.method == "DELETE"
    assert first.json["preconditions"] == {"uid": "uid-a"}
    assert first.json["propagationPolicy"] == "Foreground"
    assert "preconditions" not in second.json
    assert second.json["propagationPolicy"] == "Background"


def test_deleting_what_is_not_there_is_success_and_another_object_is_not(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    server.add(MISSING, refusal(409, "Conflict", "Precondition failed: UID in precondition"))
    cluster.delete(RAYJOBS, "team", "a")
    with pytest.raises(ObjectChanged, match="Precondition failed"):
        cluster.delete(RAYJOBS, "team", "a", uid="old")


def test_a_list_is_read_in_pages(server: CannedServer, cluster: KubernetesCluster) -> None:
    bare = {"metadata": {"name": "b"}}
    server.add(list_of(JOB, version="7", continue_token="next/="), list_of(bare, version="9"))
    found = cluster.list(RAYJOBS, "team", "app in (x,y)")
    assert found.resource_version == "7"
    assert list(found.items) == [
        JOB,
        {"apiVersion": "ray.io/v1", "kind": "RayJob", **bare},
    ], "built-in kinds come without their kind"
    first, second = (asked.query for asked in server.received)
    assert first == {"labelSelector": "app in (x,y)", "limit": "2"}
    assert second == {**first, "continue": "next/="}


def test_a_list_that_expires_on_the_way_is_begun_anew(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    page, expired = list_of(JOB, continue_token="more"), refusal(410, "Expired")
    server.add(page, expired, page, expired, list_of(JOB, version="8"))
    assert cluster.list(RAYJOBS).resource_version == "8"
    assert "limit" not in server.received[-1].query, "at last everything is asked for at once"
    server.add(page, expired, page, expired, expired)
    with pytest.raises(VersionExpired):
        cluster.list(RAYJOBS)


def test_each_object_comes_before_the_next_page_and_again_if_the_list_expires(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    """Of a large cluster no more than a page is in memory at once."""
    page, expired = list_of(JOB, continue_token="more"), refusal(410, "Expired")
    server.add(page, expired, page, expired, list_of(JOB, JOB))
    assert [text(item, "metadata", "name") for item in cluster.each(RAYJOBS)] == ["a"] * 4
    assert "limit" not in server.received[-1].query, "at last everything is asked for at once"
    server.add(page, expired, page, expired, expired)
    with pytest.raises(VersionExpired):
        list(cluster.each(RAYJOBS))


def test_an_empty_list_may_be_null(server: CannedServer, cluster: KubernetesCluster) -> None:
    server.add(Answer(body={"metadata": {"resourceVersion": "7"}, "items": None}))
    assert list(cluster.list(RAYJOBS).items) == []


def test_a_log_is_limited_on_both_sides(server: CannedServer, cluster: KubernetesCluster) -> None:
    server.add(Answer(body=b"first \xff line\n"), Answer(body=b"before\n"), MISSING)
    assert cluster.pod_log("team", "p", "ray", tail_lines=5, limit_bytes=9) == "first � l"
    assert cluster.pod_log("team", "p", "ray", previous=True) == "before\n"
    asked, before = server.received
    assert before.query["previous"] == "true"
    assert asked.path == "/api/v1/namespaces/team/pods/p/log"
    assert asked.query == {"container": "ray", "tailLines": "5", "limitBytes": "9"}
    with pytest.raises(ObjectNotFound):
        cluster.pod_log("team", "p")


POD_LOG = "ml_train-node-0_0c6f5bd0-37c5-4bd2-9e5c-3c1a0d6b6f11/main/0.log"


@pytest.mark.parametrize(
    "written",
    [
        "unable to retrieve container logs for containerd://a761267f7f1f57f725b30b3826cdebca30fdf1",
        f'failed to try resolving symlinks in path "/var/log/pods/{POD_LOG}": lstat: no file',
        f'failed to open log file "/data/pods-logs/{POD_LOG}": no such file or directory',
        f'failed to read log file "/var/log/pods/{POD_LOG}": input/output error\n',
        f'failed to open log file "/mnt/docker/containers/a/{"a7" * 32}-json.log": no such file',
        "container status is nil",
        'failed to get parse function: unsupported log format: "\\x00"',
    ],
)
def test_what_a_kubelet_writes_in_place_of_a_log_is_none(
    written: str, server: CannedServer, cluster: KubernetesCluster
) -> None:
    """It answers 200: that a node has a log is promised before it is looked for."""
    server.add(Answer(body=written.encode()), Answer(body=f"begins\n{written}".encode()))
    with pytest.raises(RequestInvalid, match=written.partition(" ")[0]):
        cluster.pod_log("team", "p")
    assert cluster.pod_log("team", "p") == f"begins\n{written}", "a program quotes it"


def test_what_a_program_could_not_open_is_its_log(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    said = 'failed to open log file "/train/run.log": no such file or directory'
    server.add(Answer(body=said.encode()))
    assert cluster.pod_log("team", "p") == said


def test_of_large_kubernetes_events_fewer_are_asked_for(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    large = {"metadata": {"name": "a"}, "message": "x" * ABOUT_BYTES_MAX}
    small = {"metadata": {"name": "a"}, "message": "x"}
    page = {"metadata": {"resourceVersion": "7"}}
    server.add(Answer(body={**page, "items": [large]}), Answer(body={**page, "items": [large]}))
    server.add(Answer(body={**page, "items": [small]}))
    assert [event["message"] for event in cluster.events_about("team", "Pod", "p")] == ["x"]
    assert [asked.query["limit"] for asked in server.received] == ["100", "25", "6"]


def test_a_single_kubernetes_event_that_is_too_large_is_not_read(
    server: CannedServer, cluster: KubernetesCluster
) -> None:
    large = {"metadata": {"name": "a"}, "message": "x" * ABOUT_BYTES_MAX}
    server.add(*[Answer(body={"metadata": {}, "items": [large]})] * 4)
    with pytest.raises(UnreadableAnswer):
        cluster.events_about("team", "Pod", "p")
