"""A look at a job is redacted once something follows from it, and then as it would have been."""

from collections.abc import Callable

import msgspec
import pytest

from jobledger.adapters.service.observing.late_document import LateDocument, LateStatus
from jobledger.core.log.redaction.redact import LateSecrets, Redactor, secrets_in
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import Json, Manifest, child, text
from tests.adapters.service.parts import a_rayjob
from tests.support.service_world import ServiceWorld

KEY = b"k" * 32
SECRET = "hf_Q8vZk2mTt7LrXw3bNc5YdPq9"
OBJECT: Manifest = {
    "spec": {"entrypoint": f"echo {SECRET}", "env": [{"name": "HF_TOKEN", "value": SECRET}]},
    "metadata": {
        "labels": {"team": "vision"},
        "annotations": {"note": f"by {SECRET}"},
        "name": "train",
    },
    "status": {"message": SECRET},
}


def counted(asked: list[str]) -> Callable[[], frozenset[str]]:
    """Return what finds the secrets of the object, and notes that it was asked."""

    def find() -> frozenset[str]:
        asked.append("secrets")
        return secrets_in(OBJECT, None)

    return find


def test_nothing_is_looked_for_before_somebody_asks() -> None:
    asked: list[str] = []
    redactor = Redactor(KEY, late=[LateSecrets(counted(asked))])
    late = LateDocument(OBJECT, redactor)
    assert redactor.text("", 10) == ""
    assert asked == []
    assert SECRET not in msgspec.json.encode(dict(late)).decode()
    assert SECRET not in redactor.text(f"it printed {SECRET}", 100)
    assert asked == ["secrets"], "it is looked for once"


def test_it_is_what_would_have_been_kept_at_once() -> None:
    redactor = Redactor(KEY, secrets_in(OBJECT, None))
    whole = redactor.manifest(OBJECT, None)
    late = LateDocument(OBJECT, redactor)
    assert late == {
        "spec": whole["spec"],
        "labels": {"team": "vision"},
        "annotations": {"note": redactor.text(f"by {SECRET}", 100)},
    }
    assert SECRET not in repr(late)
    assert LateDocument({"spec": {}}, redactor) == {}


def test_what_cannot_be_written_as_json_is_redacted_at_once() -> None:
    late = LateDocument({"spec": {"a": "\ud800", "n": 10**30}}, Redactor(KEY, ()))
    assert "\ud800" not in repr(late)


def test_an_encoder_that_does_not_know_it_refuses_it() -> None:
    late = LateDocument(OBJECT, Redactor(KEY, ()))
    with pytest.raises(TypeError, match="LateDocument"):
        msgspec.json.encode(late)


def test_a_start_redacts_no_object_that_the_log_has(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(manifest := a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    redacted: list[str] = []
    real = Redactor.manifest

    def noting(redactor: Redactor, manifest: Manifest, runtime_env: object) -> Manifest:
        redacted.append("an object")
        return real(redactor, manifest, runtime_env)  # type: ignore[arg-type]

    looked_through: list[str] = []

    def looking(manifest: Manifest, runtime_env: Json) -> frozenset[str]:
        looked_through.append(text(manifest, "kind"))
        return secrets_in(manifest, runtime_env)

    monkeypatch.setattr(Redactor, "manifest", noting)
    for module in ("declared_secrets", "kept_children"):
        monkeypatch.setattr(f"jobledger.adapters.service.objects.{module}.secrets_in", looking)
    world.restart()
    world.run(lambda: world.service.slots.held(stream) is not None, "a start")
    assert redacted == []
    assert looked_through == []
    edited = {**child(manifest, "spec"), "activeDeadlineSeconds": 1000}
    world.cluster.edit(RAYJOBS, "ml", "train", spec=edited)
    world.run(lambda: bool(redacted), "the edit to be taken in")


def test_a_status_that_is_as_it_is_known_is_not_redacted() -> None:
    asked: list[str] = []
    redactor = Redactor(KEY, late=[LateSecrets(counted(asked))])
    shown: Manifest = {"state": "ready", "reason": f"by {SECRET}"}
    known = {**shown, "reason": redactor.text(f"by {SECRET}", 100)}
    asked.clear()
    fresh = Redactor(KEY, late=[LateSecrets(counted(asked))])
    assert LateStatus({"state": "ready"}, fresh) == {"state": "ready"}
    assert asked == []
    assert LateStatus(shown, fresh) == known
    assert asked == ["secrets"]
    assert known == LateStatus(known, fresh), "what was redacted stays so"
    assert LateStatus(shown, fresh) != {"state": "ready"}
    assert SECRET not in repr(LateStatus(shown, fresh)) + str(dict(LateStatus(shown, fresh)))


def test_a_redactor_learns_of_each_object_once() -> None:
    asked: list[str] = []
    first, second = LateSecrets(counted(asked)), LateSecrets(lambda: frozenset({"an-other-secret"}))
    redactor = Redactor(KEY, late=[first])
    both = redactor.learning(second)
    assert both.learning(first) is both
    assert both.learning(second) is both
    assert asked == []
    assert both.secrets == first.found | second.found
    assert both.learning(second) is both
    assert both.learning(LateSecrets.of(frozenset({"an-other-secret"}))) is both
    assert redactor.secrets == first.found
    assert asked == ["secrets"]
