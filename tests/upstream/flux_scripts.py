"""What the scripts of a Flux job say, so that upstream's and ours can be compared: they are others.

How the rest of them behaves is compared by running both: tests/upstream/test_flux_scripts.py.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

SCRIPTS = "-flux-entrypoint"
"""End of the name of the ConfigMap."""

_BROKER = re.compile(r"^\[access\]$.*?^queue-policy = .*?$", re.MULTILINE | re.DOTALL)
_HOSTS = re.compile(r"""^(?:hosts="(.+)"|echo '(.+)' > "\$system/hostlist")$""", re.MULTILINE)
_LEAD = re.compile(r"""^(?:mainHost="(.+)"|lead='(.+)')$""", re.MULTILINE)
_FLAGS = re.compile(r"""^\s*flags=["'](.*)["']$""", re.MULTILINE)
_RESOURCES = re.compile(r"^flux R encode --hosts=\S+ (.*) > /tmp/R$", re.MULTILINE)


def said(scripts: Mapping[str, str]) -> dict[str, Any]:
    """Return what two scripts say of a job; fails where one does not say it as expected."""
    installs, starts = scripts["init.sh"], scripts["entrypoint.sh"]
    return {
        "hosts": _one(_HOSTS, installs),
        "broker": tomllib.loads(_one(_BROKER, installs)),
        "lead": _one(_LEAD, starts),
        "flags": _one(_FLAGS, starts).split(),
        "resources": _one(_RESOURCES, starts).split(),
    }


def _one(pattern: re.Pattern[str], script: str) -> str:
    (found,) = pattern.finditer(script)
    return next((group for group in found.groups() if group is not None), found.group())


def with_what_scripts_say(objects: Mapping[str, Any]) -> dict[str, Any]:
    """Return the objects of a job with what its scripts say in the place of their text."""
    return {
        name: {**item, "data": said(item["data"])}
        if name.startswith("ConfigMap/") and name.endswith(SCRIPTS)
        else item
        for name, item in objects.items()
    }
