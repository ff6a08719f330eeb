"""Where the stories take place, and how one looks at what has become of a job."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance.jobs import rayjob
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYJOBS, TRAINJOBS
from tests.operators.processes import Running, kuberay, trainer
from tests.support.api import MERGE, Api
from tests.support.apiserver import ApiServer
from tests.support.processes import Controller
from tests.support.waiting import wait_until
from tests.support.webhooks import ADMISSION

SEEN_SECONDS = 150.0
"""Limit of every wait; an operator asks again after 3 s, and a busy machine takes its time."""

POLICY = Path(__file__).resolve().parents[2] / "ops" / "policies" / "rayjobs-are-jobledgers.yaml"

Document = dict[str, Any]


def stepwise(steps: Path, *, fails: int) -> str:
    """Return an entrypoint whose every run waits until it may end; so many runs fail."""
    return shlex.join(stepwise_command(steps, fails=fails))


def stepwise_command(steps: Path, *, fails: int) -> tuple[str, str, str]:
    """Return `stepwise` as the words of a command."""
    steps.mkdir()
    return (
        "sh",
        "-c",
        (
            f"echo run >> {steps}/runs; n=$(wc -l < {steps}/runs); touch {steps}/begun-$n; "
            f"until [ -e {steps}/go-$n ]; do sleep 0.2; done; [ $n -gt {fails} ]"
        ),
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """A namespace, a ledger, and an API server beside which operators run."""

    site: Site
    server: ApiServer
    admin: Api
    """Has all rights in the namespace."""

    @contextmanager
    def kuberay(self, *options: str) -> Iterator[Running]:
        """Run KubeRay's operator; it sees the whole cluster unless an option says otherwise."""
        where, proxy = self.server.directory, self.site.proxy_url
        with kuberay(where, self.site.directory, proxy, *options) as running:
            yield running

    @contextmanager
    def trainer(self) -> Iterator[Running]:
        """Run Trainer's manager."""
        with trainer(self.server.directory, self.site.directory, self.admin) as running:
            yield running

    @contextmanager
    def names_new_jobs(self) -> Iterator[None]:
        """Have the API server name new RayJobs of this namespace Jobledger's, as adopt.md says."""
        policy, binding = yaml.safe_load_all(POLICY.read_text(encoding="utf-8"))
        here = {"jobledger.dev/rayjobs": "controlled"}
        path = f"/api/v1/namespaces/{self.admin.namespace}"
        labelled = self.admin.request(
            "PATCH", path, {"metadata": {"labels": here}}, content_type=MERGE
        )
        assert labelled.code == 200, labelled.message  # OK
        paths = [
            f"{ADMISSION}/{kind}"
            for kind in ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
        ]
        for kind, document in zip(paths, (policy, binding), strict=True):
            reply = self.admin.request("POST", kind, document)
            assert reply.code == 201, reply.message  # Created
        try:
            wait_until(self._is_named, "the policy is in force")
            yield
        finally:
            for kind, document in zip(paths, (policy, binding), strict=True):
                self.admin.request("DELETE", f"{kind}/{document['metadata']['name']}")

    def _is_named(self) -> bool:
        tried = self.admin.create(RAYJOBS, rayjob("tried", "true"), dryRun="All")
        return bool(tried.body["spec"].get("managedBy"))

    def recorder(self, replica: str = "recorder") -> Controller:
        """Return a recorder of this namespace with a role that may only look."""
        return self.service("recorder", "--observe-only", replica=replica)

    def service(self, user: str, *arguments: str, replica: str = "service") -> Controller:
        """Return `jobledger run` in this namespace, with a user's rights, not started yet."""
        terminal = self.site.terminal.with_environment(
            KUBECONFIG=str(self.server.kubeconfig(user)),
            JOBLEDGER_NAMESPACES=json.dumps([self.site.api.namespace]),
            JOBLEDGER_LOG_FORMAT="json",
            JOBLEDGER_POLL_INTERVAL_SECONDS="0.3",
        )
        return Controller(terminal, replica, arguments)

    def status(self, name: str, resource: str = RAYJOBS) -> Document:
        """Return the status that kubectl shows."""
        return dict(self.admin.get(resource, name).body.get("status") or {})

    def wait_for_status(self, name: str, deployment: str, failed: int = 0) -> None:
        """Return once a RayJob shows a jobDeploymentStatus with so many failed attempts."""

        def shows() -> bool:
            status = self.status(name)
            return (
                status.get("jobDeploymentStatus", "") == deployment
                and (status.get("failed") or 0) == failed
            )

        try:
            wait_until(shows, f"{name} is {deployment} after {failed} failures", SEEN_SECONDS)
        except AssertionError as error:
            error.add_note(json.dumps(self.status(name), indent=1))
            raise

    def wait_for_condition(self, name: str, kind: str, value: str = "True") -> None:
        """Return once a TrainJob shows a condition."""

        def shows() -> bool:
            conditions = self.status(name, TRAINJOBS).get("conditions") or []
            return any(one["type"] == kind and one["status"] == value for one in conditions)

        try:
            wait_until(shows, f"{name} has {kind}={value}", SEEN_SECONDS)
        except AssertionError as error:
            error.add_note(json.dumps(self.status(name, TRAINJOBS), indent=1))
            raise

    def wait_for_counts(self, name: str, **wanted: int) -> None:
        """Return once a TrainJob's status counts the Jobs of its nodes so; the others are 0."""

        def shows() -> bool:
            (counts, *_) = self.status(name, TRAINJOBS).get("jobsStatus") or [{}]
            return all(counts.get(kind) == count for kind, count in wanted.items())

        wait_until(shows, f"{name} has {wanted}", SEEN_SECONDS)

    def wait_until_admitted(self, document: Document) -> None:
        """Return once the API server would take a TrainJob."""

        def is_admitted() -> bool:
            return self.site.api.create(TRAINJOBS, document, dryRun="All").code == 201  # Created

        wait_until(is_admitted, "a TrainJob is admitted", SEEN_SECONDS)

    def uid(self, resource: str, name: str) -> str:
        """Return the UID of an object."""
        return str(self.admin.get(resource, name).body["metadata"]["uid"])

    def has_begun(self, steps: Path, run: int) -> None:
        """Return once a run of `stepwise` has begun."""
        wait_until((steps / f"begun-{run}").exists, f"run {run} has begun", SEEN_SECONDS)

    def goes_on(self, steps: Path, run: int) -> None:
        """Let a run of `stepwise` end."""
        (steps / f"go-{run}").touch()

    def wait_for_phase(self, name: str, phase: str, attempt: int | None = None) -> None:
        """Return once the ledger has a job in a phase (of an attempt)."""
        try:
            self.site.wait_for_true(
                f"{name} is {phase} in attempt {attempt or 'any'}",
                "SELECT EXISTS (SELECT FROM job WHERE name = %s AND phase = %s "
                "AND (%s::int IS NULL OR attempt = %s))",
                *(name, phase, attempt, attempt),
            )
        except AssertionError as error:
            error.add_note(str(self.site.rows("SELECT name, phase, attempt FROM job")))
            raise

    def wait_for_event(self, name: str, kind: str, count: int = 1) -> None:
        """Return once the log has so many events of a kind of a job."""
        self.site.wait_for_true(
            f"{name} has {kind}",
            "SELECT count(*) = %s FROM event e JOIN job j USING (stream_id) "
            "WHERE j.name = %s AND e.type = %s",
            count,
            name,
            kind,
        )

    def attempts(self, name: str) -> list[tuple[Any, ...]]:
        """Return outcome, reason, whether it was retried and whether inferred, of each attempt."""
        rows = self.site.rows(
            "SELECT a.outcome, a.reason, a.retried, a.inferred FROM attempt a "
            "JOIN job j USING (stream_id) WHERE j.name = %s ORDER BY a.number",
            name,
        )
        return [tuple(row.values()) for row in rows]

    def writers(self, name: str, resource: str = RAYJOBS) -> set[str]:
        """Return who has written the object as it stands."""
        entries = self.admin.get(resource, name).body["metadata"]["managedFields"]
        return {entry["manager"] for entry in entries}

    def says(self, command: str, name: str) -> str:
        """Return what a command says of a job, in one line."""
        out = self.site.terminal.jobledger(command, name, "-n", self.site.api.namespace).out
        return " ".join(out.split())

    def forensics_hold(self, name: str) -> None:
        """Fail unless replay, rebuild and verify work on the job's stream."""
        terminal = self.site.terminal
        terminal.jobledger("replay", name, "-n", self.site.api.namespace)
        assert "equal the fold of the log" in terminal.jobledger("rebuild", "--check").out
        terminal.jobledger("verify")
