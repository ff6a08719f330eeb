"""The objects for `kubectl apply -k`: the chart's, with the values beside this file."""

from collections.abc import Mapping
from pathlib import Path

from tests.chart.helm import template

VALUES = Path(__file__).with_name("kustomize.values.yaml")
MARK = "# Made from the chart by `python -m ops.made`. Change the chart.\n"


def kustomized(environment: Mapping[str, str]) -> str:
    """Return them as YAML.

    Raises:
        CannotBuild: Helm is not built yet.
    """
    return MARK + template(environment, "--values", str(VALUES))
