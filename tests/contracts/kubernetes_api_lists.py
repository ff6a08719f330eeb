"""What a Kubernetes API does on lists and watches."""

from tests.support.api import CONFIGMAPS, PODS, RAYJOBS, Api, configmap, rayjob, take

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def _create_labelled(api: Api) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {"y": "1"})):
        api.create(CONFIGMAPS, configmap(name, labels=labels))


def _names(api: Api, resource: str, **query: str) -> list[str]:
    items = api.list(resource, **query).body["items"]
    return [item["metadata"]["name"] for item in items if item["metadata"]["name"] != _ROOT_CA]


_ROOT_CA = "kube-root-ca.crt"
"""A ConfigMap that a controller of a real cluster puts into every namespace."""


def a_list_says_its_kind_and_its_revision(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    reply = api.list(RAYJOBS)
    assert (reply.body["kind"], reply.body["apiVersion"]) == ("RayJobList", "ray.io/v1")
    assert reply.revision.isdigit()
    assert [item["metadata"]["name"] for item in reply.body["items"]] == ["a"]


def label_selectors_choose(api: Api) -> None:
    _create_labelled(api)
    found = {
        selector: _names(api, CONFIGMAPS, labelSelector=selector)
        for selector in ("x=1", "x!=1", "x in (1,2)", "x notin (1)", "x", "!x", "x,x!=2")
    }
    assert found == {
        "x=1": ["a"],
        "x!=1": ["b", "c"],
        "x in (1,2)": ["a", "b"],
        "x notin (1)": ["b", "c"],
        "x": ["a", "b"],
        "!x": ["c"],
        "x,x!=2": ["a"],
    }


def a_label_selector_that_cannot_be_read_is_400(api: Api) -> None:
    assert api.list(CONFIGMAPS, labelSelector="x in 1").code == 400


def field_selectors_choose_by_name_and_namespace(api: Api) -> None:
    _create_labelled(api)
    assert _names(api, CONFIGMAPS, fieldSelector="metadata.name=b") == ["b"]
    chosen = f"metadata.namespace={api.namespace},metadata.name!=b"
    assert _names(api, CONFIGMAPS, fieldSelector=chosen) == ["a", "c"]


def pods_can_be_chosen_by_phase_and_node(api: Api) -> None:
    spec = {"containers": [{"name": "main", "image": "busybox"}]}
    for name in ("a", "b"):
        api.create(PODS, {"metadata": {"name": name}, "spec": spec})
    api.merge(PODS, "b", {"status": {"phase": "Succeeded"}}, "status")
    assert _names(api, PODS, fieldSelector="status.phase=Succeeded") == ["b"]
    assert _names(api, PODS, fieldSelector="spec.nodeName=,status.phase!=Succeeded") == ["a"]


def a_field_that_is_not_selectable_is_400(api: Api) -> None:
    reply = api.list(RAYJOBS, fieldSelector="spec.entrypoint=x")
    assert reply.code == 400
    assert "field label not supported" in reply.message


def a_limited_list_continues_where_it_stopped_and_shows_one_instant(api: Api) -> None:
    for name in "abcde":
        api.create(RAYJOBS, rayjob(name))
    first = api.list(RAYJOBS, limit="2")
    metadata = first.body["metadata"]
    assert metadata["remainingItemCount"] == 3
    api.delete(RAYJOBS, "e")
    second = api.list(RAYJOBS, **{"limit": "2", "continue": metadata["continue"]})
    token = second.body["metadata"]["continue"]
    last = api.list(RAYJOBS, **{"limit": "2", "continue": token})
    names = [i["metadata"]["name"] for r in (first, second, last) for i in r.body["items"]]
    assert names == list("abcde")
    assert first.revision == second.revision == last.revision
    assert not last.body["metadata"].get("continue")


def a_watch_from_a_revision_tells_what_came_after_it(api: Api) -> None:
    api.create(RAYJOBS, rayjob("before"))
    revision = api.list(RAYJOBS).revision
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        api.create(RAYJOBS, rayjob("a"))
        api.merge(RAYJOBS, "a", {"spec": {"suspend": True}})
        api.delete(RAYJOBS, "a")
        found = take(events, 3)
    assert found == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def a_watch_without_a_revision_tells_what_is_there_first(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    with api.watch(RAYJOBS) as events:
        assert take(events, 1) == [("ADDED", "a")]
        api.create(RAYJOBS, rayjob("b"))
        assert take(events, 1) == [("ADDED", "b")]


def a_watch_is_asked_for_by_any_word_but_no(api: Api) -> None:
    """Clients in Python write `watch=True`; `false` and `0` are a list."""
    api.create(RAYJOBS, rayjob("a"))
    for word in ("True", "1", "yes"):
        with api.watch(RAYJOBS, watch=word) as events:
            assert take(events, 1) == [("ADDED", "a")]
    for word in ("False", "0"):
        assert api.list(RAYJOBS, watch=word).body["kind"] == "RayJobList"


def a_watch_can_resume_at_any_event(api: Api) -> None:
    first = api.create(RAYJOBS, rayjob("a"))
    second = api.merge(RAYJOBS, "a", {"spec": {"suspend": True}})
    api.create(RAYJOBS, rayjob("b"))
    with api.watch(RAYJOBS, resourceVersion=first.revision) as events:
        assert take(events, 2) == [("MODIFIED", "a"), ("ADDED", "b")]
    with api.watch(RAYJOBS, resourceVersion=second.revision) as events:
        assert take(events, 1) == [("ADDED", "b")]


def the_event_of_a_deletion_carries_its_own_revision(api: Api) -> None:
    created = api.create(RAYJOBS, rayjob("a"))
    with api.watch(RAYJOBS, resourceVersion=created.revision) as events:
        api.delete(RAYJOBS, "a")
        event = next(events)
    assert event["type"] == "DELETED"
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(created.revision)


def an_object_that_leaves_the_selector_is_told_as_deleted(api: Api) -> None:
    created = api.create(CONFIGMAPS, configmap("a", labels={"in": "yes"}))
    with api.watch(CONFIGMAPS, resourceVersion=created.revision, labelSelector="in=yes") as events:
        api.merge(CONFIGMAPS, "a", {"metadata": {"labels": {"in": "no"}}})
        api.merge(CONFIGMAPS, "a", {"metadata": {"labels": {"in": "yes"}}})
        left, came = next(events), next(events)
    assert (left["type"], came["type"]) == ("DELETED", "ADDED")
    assert left["object"]["metadata"]["labels"] == {"in": "yes"}
    assert int(left["object"]["metadata"]["resourceVersion"]) > int(created.revision)


def a_watch_of_one_object_by_name_tells_of_no_other(api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    chosen = "metadata.name=b"
    with api.watch(RAYJOBS, resourceVersion=revision, fieldSelector=chosen) as events:
        api.create(RAYJOBS, rayjob("a"))
        api.create(RAYJOBS, rayjob("b"))
        assert take(events, 1) == [("ADDED", "b")]


def a_watch_of_one_namespace_tells_of_no_other(api: Api) -> None:
    other = Api(api.url, api.pool, "default", api.headers)
    name = f"x-{api.namespace}"
    revision = api.list(CONFIGMAPS).revision
    with api.watch(
        CONFIGMAPS, resourceVersion=revision, fieldSelector=f"metadata.name!={_ROOT_CA}"
    ) as events:
        other.create(CONFIGMAPS, configmap(name))
        api.create(CONFIGMAPS, configmap("a"))
        other.delete(CONFIGMAPS, name)
        assert take(events, 1) == [("ADDED", "a")]


def a_watch_ends_properly_after_its_time_out(api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    with api.watch(RAYJOBS, resourceVersion=revision, timeoutSeconds="1") as events:
        assert list(events) == []


def a_watch_that_asks_for_bookmarks_gets_one_before_it_ends(api: Api) -> None:
    """They are sent two seconds before the end, and only if they tell of a newer revision.

    A change of another object during the watch is that newer revision: without one, an API
    server whose etcd has reported no progress meanwhile sends none (cacheWatcher.process).
    """
    created = api.create(RAYJOBS, rayjob("a"))
    query = {"timeoutSeconds": "5", "allowWatchBookmarks": "true"}
    chosen = "metadata.name=a"
    with api.watch(
        RAYJOBS, resourceVersion=created.revision, fieldSelector=chosen, **query
    ) as events:
        changed = api.create(RAYJOBS, rayjob("b"))
        found = list(events)
    assert {event["type"] for event in found} == {"BOOKMARK"}
    bookmark = found[-1]["object"]
    assert bookmark["kind"] == "RayJob"
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(changed.revision)


def a_watch_from_a_forgotten_revision_is_told_410(api: Api) -> None:
    with api.watch(RAYJOBS, resourceVersion="1") as events:
        event = next(events)
        assert list(events) == []
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")


def a_table_has_the_columns_of_the_definition(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    api.merge(RAYJOBS, "a", {"status": {"jobStatus": "RUNNING"}}, "status")
    table = api.list(RAYJOBS, accept=TABLE).body
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names == [
        "Name",
        "job status",
        "deployment status",
        "ray cluster name",
        "start time",
        "end time",
        "age",
    ]
    (row,) = table["rows"]
    assert row["cells"][:3] == ["a", "RUNNING", None]
    assert row["object"]["kind"] == "PartialObjectMetadata"


def built_in_kinds_have_tables_too(api: Api) -> None:
    wanted = {
        "v1/pods": ["Name", "Ready", "Status", "Restarts", "Age"],
        "batch/v1/jobs": ["Name", "Status", "Completions", "Duration", "Age"],
        "v1/services": ["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"],
        "v1/events": ["Last Seen", "Type", "Reason", "Object", "Message"],
    }
    for resource, columns in wanted.items():
        table = api.list(resource, accept=TABLE).body
        told = [c["name"] for c in table["columnDefinitions"] if not c["priority"]]
        assert told == columns, resource


def a_watch_of_tables_tells_the_columns_once(api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    with api.watch(RAYJOBS, accept=TABLE, resourceVersion=revision) as events:
        api.create(RAYJOBS, rayjob("a"))
        api.merge(RAYJOBS, "a", {"status": {"jobStatus": "RUNNING"}}, "status")
        first, second = next(events)["object"], next(events)["object"]
    assert first["columnDefinitions"]
    assert not second["columnDefinitions"]
    assert second["rows"][0]["cells"][:2] == ["a", "RUNNING"]


def discovery_names_groups_resources_and_abilities(api: Api) -> None:
    groups = api.request("GET", "/apis").body["groups"]
    assert {"batch", "ray.io", "events.k8s.io"} <= {group["name"] for group in groups}
    listed = api.request("GET", "/apis/ray.io/v1").body
    entries = {entry["name"]: entry for entry in listed["resources"]}
    assert entries["rayjobs"]["kind"] == "RayJob"
    assert "watch" in entries["rayjobs"]["verbs"]
    assert entries["rayjobs/status"]["verbs"] == ["get", "patch", "update"]
    assert api.request("GET", "/api").body["versions"] == ["v1"]


def the_version_is_told_with_and_without_a_slash(api: Api) -> None:
    assert api.request("GET", "/version").body["major"] == "1"
    assert api.request("GET", "/version/").body["major"] == "1"
