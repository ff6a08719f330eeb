"""The rights of the chart are those of `ops/rbac.yaml`, and only of what is switched on."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import CHART, rendered
from tests.chart.values import IMAGE, MATRIX, Values, together

OPS = CHART.parent
PART = "jobledger.dev/part"
Document = dict[str, Any]

PARTS: dict[str, set[str]] = {
    "nothing": {"rayjobs", "trainjobs", "evidence", "claims"},
    "rayjobs-alone": {"rayjobs", "evidence", "claims"},
    "no-evidence": {"rayjobs", "trainjobs", "claims"},
    "all-kinds": {
        *("rayjobs", "trainjobs", "jobs", "evidence", "claims", "volcano", "api-tokens"),
    },
    "two-namespaces": {
        *("rayjobs", "trainjobs", "evidence", "claims", "head-tokens", "mpi-keys"),
    },
    "recorder": {"rayjobs", "trainjobs", "evidence", "api-tokens"},
}
"""Row of the matrix -> parts that are bound."""


def roles(documents: list[Document], kind: str = "ClusterRole") -> dict[str, Document]:
    """Return part -> object of a kind."""
    return {
        one["metadata"]["labels"][PART]: one
        for one in documents
        if one["kind"] == kind and PART in one["metadata"].get("labels", {})
    }


def of_ops(name: str) -> dict[str, Document]:
    return roles(list(yaml.safe_load_all((OPS / name).read_text(encoding="utf-8"))))


@pytest.mark.parametrize("row", PARTS)
def test_a_part_is_granted_with_what_needs_it_and_as_the_file_says(
    row: str, tmp_path: Path
) -> None:
    found = roles(rendered(together(IMAGE, MATRIX[row]), tmp_path))
    assert found.keys() == PARTS[row]
    told = of_ops("rbac.yaml") | (of_ops("rbac-recorder.yaml") if row == "recorder" else {})
    for part, role in found.items():
        assert role["rules"] == told[part]["rules"], part
        name = told[part]["metadata"]["name"].replace("-recorder", "")
        assert role["metadata"]["name"] == name, "doctor names them"


def bindings(values: Values, folder: Path) -> dict[str, set[str]]:
    """Return name of a ClusterRole -> namespaces in which it is bound, "" for all."""
    found: dict[str, set[str]] = {}
    for one in rendered(together(IMAGE, values), folder):
        if one["kind"] in {"RoleBinding", "ClusterRoleBinding"}:
            place = one["metadata"].get("namespace", "")
            found.setdefault(one["roleRef"]["name"], set()).add(place)
            assert one["subjects"][0]["name"] == "jobledger"
    return found


def test_secrets_are_read_nowhere_unless_it_is_said(tmp_path: Path) -> None:
    for one in rendered(IMAGE, tmp_path):
        for rule in one.get("rules", []):
            assert "secrets" not in rule["resources"], one["metadata"]["name"]


def test_what_is_watched_in_namespaces_is_allowed_there_alone(tmp_path: Path) -> None:
    both = {"default", "kube-public"}
    assert bindings(MATRIX["two-namespaces"], tmp_path) == {
        "jobledger": both,
        "jobledger-trainjobs": both,
        "jobledger-evidence": both,
        "jobledger-claims": {"jobledger"},
        "jobledger-head-tokens": {"default"},
        "jobledger-mpi-keys": {""},
        "jobledger-runtimes": {""},
    }


def test_claims_are_in_the_namespace_that_all_ledgers_look_at(tmp_path: Path) -> None:
    said: Values = {"settings": {"claim_namespace": "claims"}}
    assert bindings(said, tmp_path)["jobledger-claims"] == {"claims"}


def test_webhooks_with_certificates_of_others_write_no_secret(tmp_path: Path) -> None:
    kinds = [one["kind"] for one in rendered(together(IMAGE, MATRIX["cert-manager"]), tmp_path)]
    assert "Role" not in kinds
    own = rendered(together(IMAGE, MATRIX["webhooks"]), tmp_path)
    [role] = [one for one in own if one["kind"] == "Role"]
    told = yaml.safe_load_all((OPS / "webhooks.yaml").read_text(encoding="utf-8"))
    [other] = [one for one in told if one["kind"] == "Role"]
    assert role["rules"] == other["rules"]
