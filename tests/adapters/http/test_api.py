"""The JSON API answers what it describes, page by page, and to nobody else."""

import json
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote, urlencode

import msgspec
import pytest
import urllib3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobledger.adapters.http.api.answers import JobDetail, JobPage, Problem, TimelinePage
from jobledger.adapters.http.api.application import ENDPOINTS, PREFIX, STALE_SINCE
from jobledger.adapters.http.api.guard import KnownToken
from jobledger.adapters.http.api.openapi import openapi
from jobledger.adapters.http.api.parameters import LIMIT_MAX, OF_JOBS
from jobledger.adapters.http.api.review import KubernetesReviewer
from jobledger.core.errors import ClusterUnreachable
from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.moment import Moment
from jobledger.core.jobs.rows import JobRow
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest
from tests.adapters.http.conftest import Site, serve, serve_of
from tests.properties.effort import effort
from tests.support.records import NOON

JOBS = f"{PREFIX}/jobs"


def jobs(site: Site, query: str = "") -> JobPage:
    answer = site.get(f"{JOBS}?{query}")
    assert answer.status == 200, answer.data
    return msgspec.json.decode(answer.data, type=JobPage)


def one(site: Site, name: str = "failed") -> str:
    return f"{JOBS}/{jobs(site, f'name={name}').items[0].stream_id}"


def refused(site: Site, path: str, status: int, **headers: str) -> Problem:
    answer = site.get(path, **headers)
    assert answer.status == status, answer.data
    assert answer.headers["content-type"] == "application/problem+json"
    found = msgspec.json.decode(answer.data, type=Problem)
    assert found.status == status
    return found


def test_jobs_are_listed_page_by_page(site: Site) -> None:
    whole = jobs(site).items
    assert len(whole) == 6
    found: list[JobRow] = []
    query = "limit=4"
    while True:
        page = jobs(site, query)
        found += page.items
        if page.next is None:
            break
        query = f"limit=4&after={page.next}"
    assert tuple(found) == whole


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("phase=Failed", {"failed"}),
        ("reason=AppFailed", {"failed"}),
        ("open=true&phase=Initializing", {"open"}),
        ("name=done-2&namespace=ml&kind=RayJob&cluster=kind", {"done-2"}),
        ("namespace=elsewhere", set()),
        ("created_from=2026-11-22T00:00:00Z", set()),
        ("created_until=2026-11-21T00:00:00%2B00:00", set()),
        ("uid=uid-of-done-1", {"done-1"}),
        ("text=DONE-1", {"done-1"}),
        ("text=ML&phase=Failed", {"failed"}),
        ("text=ML&phase=failed&kind=RAYJOB", {"failed"}),
        ("cause=quota", set()),
    ],
)
def test_jobs_are_filtered(site: Site, query: str, names: set[str]) -> None:
    assert {row.name for row in jobs(site, query).items} == names


def test_a_job_comes_with_all_that_belongs_to_it(site: Site) -> None:
    detail = msgspec.json.decode(site.get(one(site)).data, type=JobDetail)
    assert detail.job.phase == "Failed"
    assert [row.outcome for row in detail.attempts] == ["failed"]
    assert detail.effects
    assert detail.progress is None, "a RayJob reports none"
    assert all(row.stream_id == detail.job.stream_id for row in detail.effects)


def test_a_timeline_is_read_page_by_page(site: Site) -> None:
    path = f"{one(site)}/timeline"
    whole = msgspec.json.decode(site.get(path).data, type=TimelinePage)
    assert whole.next is None
    first = msgspec.json.decode(site.get(f"{path}?limit=3").data, type=TimelinePage)
    rest = site.get(f"{path}?after={first.next}")
    second = msgspec.json.decode(rest.data, type=TimelinePage)
    assert (*first.items, *second.items) == whole.items


def test_a_moment_is_told_in_both_senses(site: Site) -> None:
    path = f"{one(site)}/moment"
    by_time = msgspec.json.decode(
        site.get(f"{path}?time=2026-11-21T12:00:30.010Z").data, type=Moment
    )
    assert by_time.true.version > by_time.known.version
    by_version = msgspec.json.decode(site.get(f"{path}?version=5").data, type=Moment)
    assert by_version.known.version == 5
    refused(site, f"{path}?version=0", 404)
    refused(site, f"{path}?version=9999", 404)
    refused(site, path, 400)
    refused(site, f"{path}?version=1&time=2026-11-21", 400)


def test_an_explanation_cites_its_events(site: Site) -> None:
    account = msgspec.json.decode(site.get(f"{one(site)}/explanation").data, type=Account)
    assert account.failure_class == "application"
    assert all(sentence.versions for sentence in account.sentences)


def test_a_standby_that_lags_says_since_when_with_each_answer(site: Site) -> None:
    paths = [
        f"{PREFIX}/jobs",
        *(one(site) + part for part in ("", "/timeline", "/moment?version=1", "/explanation")),
        f"{PREFIX}/evidence/{site.digest}",
    ]
    assert all(STALE_SINCE not in site.get(path).headers for path in paths), "it is no standby"
    for standby in serve_of(replace(site.sources, stale_since=NOON), site.digest):
        answers = [standby.get(path) for path in paths]
        assert [answer.status for answer in answers] == [200] * len(paths)
        told = {answer.headers.get(STALE_SINCE) for answer in answers}
        assert told == {"2026-11-21T12:00:00Z"}


def test_evidence_is_text(site: Site) -> None:
    answer = site.get(f"{PREFIX}/evidence/{site.digest}")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.data.decode() == "Traceback …\n"
    refused(site, f"{PREFIX}/evidence/{'0' * 64}", 404)
    refused(site, f"{PREFIX}/evidence/..%2f..%2fetc", 404)
    refused(site, f"{PREFIX}/evidence/{'G' * 64}", 400)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        f"limit={LIMIT_MAX + 1}",
        "limit=-1",
        "limit=1e3",
        "limit=" + "9" * 5000,
        "after=x",
        "open=yes",
        "created_from=now",
        "created_from=0001-01-01T00:00:00%2B23:59",
        "colour=red",
        "name=a&name=b",
        "name=%00",
        "name=" + "x" * 300,
    ],
)
def test_a_query_that_makes_no_sense_is_refused(site: Site, query: str) -> None:
    assert refused(site, f"{JOBS}?{query}", 400).detail


@pytest.mark.parametrize("name", ["phase", "kind", "cause"])
def test_a_word_that_the_ledger_never_writes_is_refused_with_those_it_does(
    site: Site, name: str
) -> None:
    """As of `jobledger get --phase`: an empty list would say that there is no such job."""
    (taken,) = [known.choices for known in OF_JOBS if known.name == name]
    told = refused(site, f"{JOBS}?{name}=nope", 400).detail
    assert told == f"{name} is one of {', '.join(taken)}"


@pytest.mark.parametrize("limit", [0, LIMIT_MAX + 1])
def test_a_number_out_of_its_range_is_refused_with_the_range(site: Site, limit: int) -> None:
    detail = refused(site, f"{JOBS}?limit={limit}", 400).detail
    assert detail == f"limit must be a whole number from 1 to {LIMIT_MAX}"


def test_what_is_not_there_is_not_found(site: Site) -> None:
    nobody = "00000000-0000-7000-8000-000000000000"
    for end in ("", "/timeline", "/moment?version=1", "/explanation"):
        refused(site, f"{JOBS}/{nobody}{end}", 404)
    refused(site, f"{JOBS}/not-a-uuid", 400)
    refused(site, f"{PREFIX}/nothing", 404)


def test_nothing_can_be_changed(site: Site) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = urllib3.request(method, f"{site.url}{JOBS}", retries=False, timeout=20)
        assert answer.status == 405
        assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD"}


def test_a_page_of_another_name_cannot_ask_through_a_browser(site: Site) -> None:
    refused(site, JOBS, 403, Host="evil.example")
    refused(site, JOBS, 403, Host="[")
    assert site.get(JOBS, Host="localhost:1234").status == 200


@pytest.fixture(scope="module")
def guarded() -> Iterator[Site]:
    yield from serve(KnownToken("s3cret"))


def test_a_token_is_asked_for(guarded: Site) -> None:
    for header in ("", "Basic s3cret", "Bearer", "Bearer wrong", "Bearer " + "x" * 20_000):
        answer = guarded.get(JOBS, Authorization=header)
        assert answer.status in {401, 431}, header
    assert guarded.get(JOBS, Authorization="Bearer s3cret", Host="any.example").status == 200
    assert guarded.get(f"{PREFIX}/openapi.json").status == 401


READABLE = {
    "reader": ("rayjobs", "trainjobs", "jobs", "pods"),
    "reader of rayjobs": ("rayjobs",),
    "reader of jobs": ("rayjobs", "trainjobs", "jobs"),
}
"""User -> what they may get, and of what the logs."""


class Kubernetes:
    """An API server that knows some users."""

    def __init__(self) -> None:
        self.asked = 0
        self.up = True

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        self.asked += 1
        if not self.up:
            raise ClusterUnreachable("no answer")
        spec = manifest["spec"]
        assert isinstance(spec, dict)
        if resource.kind == "TokenReview":
            known = not str(spec["token"]).startswith("made-up")
            user = {"username": str(spec["token"])[3:], "groups": ["system:authenticated"]}
            return {"status": {"authenticated": known, "user": user}}
        asked = spec["resourceAttributes"]
        assert isinstance(asked, dict)
        may = READABLE.get(str(spec["user"]), ())
        return {"status": {"allowed": asked["resource"] in may}}


def test_kubernetes_judges_tokens_and_is_not_asked_twice() -> None:
    now = [0.0]
    cluster = Kubernetes()
    reviewer = KubernetesReviewer(cluster, lambda: now[0])
    assert reviewer.may_read("of-reader") is True
    for one in ("stranger", "reader of rayjobs", "reader of jobs"):
        assert reviewer.may_read(f"of-{one}") is False, "the ledger tells of more than that"
    assert reviewer.may_read("made-up") is None
    asked = cluster.asked
    cluster.up = False
    assert reviewer.may_read("of-reader") is True
    assert reviewer.may_read("made-up, another") is None, "no answer of Kubernetes is a no"
    assert cluster.asked == asked + 1
    now[0] = 61.0
    assert reviewer.may_read("of-reader") is None


def test_the_description_is_served_and_names_every_endpoint(site: Site) -> None:
    served = json.loads(site.get(f"{PREFIX}/openapi.json").data)
    assert served["paths"].keys() == {PREFIX + endpoint.path for endpoint in ENDPOINTS}
    for path in served["paths"].values():
        for status, answer in path["get"]["responses"].items():
            for content in answer["content"].values():
                name = content["schema"].get("$ref", "").rpartition("/")[2]
                assert not name or name in served["components"]["schemas"], status
    assert served == json.loads(msgspec.json.encode(openapi(served["info"]["version"])))


some_text = st.text(max_size=40)
numbers = st.integers(-3, 2**70).map(str)
instants = st.datetimes().map(lambda at: at.isoformat())
values = st.one_of(some_text, numbers, instants, st.uuids().map(str), st.sampled_from(["true"]))


@settings(effort, suppress_health_check=list(HealthCheck))
@given(
    endpoint=st.sampled_from(ENDPOINTS),
    there=st.booleans(),
    text=some_text,
    data=st.data(),
)
def test_whatever_is_asked_the_answer_is_one_that_is_described(
    site: Site, endpoint: object, there: bool, text: str, data: st.DataObject
) -> None:
    assert isinstance(endpoint, type(ENDPOINTS[0]))
    names = [item.name for item in endpoint.parameters] + ["colour"]
    query = data.draw(st.dictionaries(st.sampled_from(names), values, max_size=3))
    stream = one(site).rpartition("/")[2] if there else quote(text, safe="")
    path = endpoint.path.replace("{stream}", stream).replace("{digest}", stream)
    answer = site.get(f"{PREFIX}{path}?{urlencode(query, errors='surrogatepass')}")
    assert answer.status in {200, 400, 404, 307}, (path, query, answer.data)
    if answer.status == 200 and endpoint.answer is not None:
        msgspec.json.decode(answer.data, type=endpoint.answer)
    elif answer.status in {400, 404}:
        assert msgspec.json.decode(answer.data, type=Problem).status == answer.status
