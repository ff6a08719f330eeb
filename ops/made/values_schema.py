"""The JSON schema of the chart's values: settings as the program has them, the rest by hand."""

import json
from pathlib import Path
from typing import Any

import yaml

from docs.reference.from_code.attributes import attributes
from jobledger.adapters.settings import Settings

BY_HAND = Path(__file__).with_name("values.schema.yaml")

GIVEN_ELSEWHERE = {
    "database_url": "database",
    "redaction_key": "redactionKey",
    "api_token_file": "api",
    "host": "host",
    "seals_dir": "seals",
    "seal_key_file": "seals",
}
"""Setting -> the value that gives it: secrets, places of volumes, and what every part has."""

OF_A_POD = {
    "data_dir": "a directory in memory",
    "port": "8080",
    "replica": "the name of the Pod",
    "kubeconfig": "the Pod's service account",
    "context": "the Pod's service account",
}
"""Settings that say where a process runs, and what they are in a Pod; nobody gives them."""


def values_schema() -> str:
    """Return the schema as JSON."""
    schema = yaml.safe_load(BY_HAND.read_text(encoding="utf-8"))
    schema["properties"]["settings"] = _settings()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _settings() -> dict[str, Any]:
    words = {field.name: field.words for field in attributes(Settings)}
    known = Settings.model_json_schema(by_alias=False)["properties"]
    left_out = GIVEN_ELSEWHERE.keys() | OF_A_POD.keys()
    return {
        "description": "Settings by their names; see docs/reference/settings.md.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"description": words[name], **_bare(found)}
            for name, found in known.items()
            if name not in left_out
        },
    }


def _bare(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in {"title", "default"}}
