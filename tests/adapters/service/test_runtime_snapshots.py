"""A snapshot is read as Go reads YAML, here and by Trainer, and holds what the runtime does."""

import pytest

from jobledger.adapters.kinds.trainjob.snapshot_text import read_snapshot, snapshot_text
from jobledger.adapters.service.objects.runtime_env import CHARACTERS_MAX, parse_runtime_env
from jobledger.core.ports.cluster import CONFIGMAPS
from jobledger.core.values.documents import Json, child, items
from tests.support.train_world import TrainWorld, torch_runtime

TEXTS = (
    *("1e-5", "1E3", "1.e3", "-.5", "+.5", "09", "0777", "0o17", "0O17", "0b11", "0X1f", "1_000"),
    *("y", "N", "yes", "Off", "true", "null", "~", "", ".inf", ".NaN", "=", "<<", "2026-01-01"),
    *("12:30:45", "1:30", "--lr", "- a", "? a", "# a", "a #b", "a: b", "a:", "'a'", '"a"', "a\\n"),
    *(" a ", "a\n", "\n\n  a\n b", "a\tb", "\r\n", "\x00", "\x1b[0m", "\x7f", "\x85", "a\u2028b"),
    *("\ufeff", "\u00a0", "é", "\U0001f600", "---", "...", "a\n---\nb", "%a", "@a", "`a", "{a}"),
    *("torch_distributed", "kubeflow/trainer", "ghcr.io/a/b:v2@sha256:0e1", "a" * 500, "a b " * 99),
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_stays_that_text_wherever_it_stands(text: str) -> None:
    runtime: dict[str, Json] = {"env": [{"value": text}], "labels": {text: text}, "args": [text]}
    assert parse_runtime_env(snapshot_text(runtime)) == (runtime, "")


def test_what_is_no_text_stays_what_it_is() -> None:
    runtime: dict[str, Json] = {"a": [0, -1, 2**63 - 1, 0.5, 1e22, 1e-7, True, None, {}, []]}
    assert parse_runtime_env(snapshot_text(runtime)) == (runtime, "")


def test_what_is_too_long_to_be_read_as_yaml_is_read_all_the_same() -> None:
    """A job that began suspended, as Kueue has it, never ran: its snapshot was no YAML to read."""
    runtime: dict[str, Json] = {"env": [{"name": str(n), "value": "v" * 100} for n in range(3000)]}
    written = snapshot_text(runtime)
    assert len(written) > CHARACTERS_MAX
    assert read_snapshot(written) == (runtime, "")


def test_flow_yaml_of_somebody_else_is_read() -> None:
    assert read_snapshot("{kind: TrainingRuntime}") == ({"kind": "TrainingRuntime"}, "")
    assert read_snapshot("{kind") == ({}, read_snapshot("{kind")[1])
    assert read_snapshot("{kind")[1] != ""


def test_a_job_whose_runtime_has_a_learning_rate_is_resumed() -> None:
    """Its JobSet was built with the number 0.00001 then, which no API server takes for a text."""
    world = TrainWorld()
    world.jobsets.holds = True
    runtime = torch_runtime()
    node = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    (container,) = node["template"]["spec"]["containers"]
    container["env"].append({"name": "LEARNING_RATE", "value": "1e-5"})
    world.install_runtime(runtime)
    world.train(suspend=True)
    world.run(world.is_so("Suspended"), "the suspension")
    world.change(suspend=False)
    world.run(world.is_so("Suspended", "False"), "the resume")
    assert world.condition("Created")[0] != "False"
    pod = child(items(world.jobset, "spec", "replicatedJobs")[0], "template", "spec", "template")
    (made,) = items(pod, "spec", "containers")
    assert {"name": "LEARNING_RATE", "value": "1e-5"} in items(made, "env")


def test_a_snapshot_that_is_nested_without_end_is_none_and_holds_up_nobody() -> None:
    """Whoever may edit a ConfigMap ended the turn's thread, once the job was taken over anew."""
    nested = '{"a":' * 5000 + "1" + "}" * 5000
    assert read_snapshot(nested)[1]
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    name = "train-runtime-snapshot"
    world.cluster.edit(CONFIGMAPS, "ml", name, data={"runtime": nested})
    for _ in range(20):
        world.step()
    world.service.turn.pass_over(stream)  # its shard was not held for a moment
    world.jobsets.holds = False
    world.run(world.is_so("Complete"), "the job to be over")
