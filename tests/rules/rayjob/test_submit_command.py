"""The submitter's command is upstream's, byte for byte."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from jobledger.core.rayjob.manifests.submit_command import sidecar_command, submit_command
from jobledger.core.rayjob.spec.go_text import go_json, quote
from jobledger.core.values.float32 import float32
from tests.rules.rayjob.jobs import HEAD_POD, rayjob

ADDRESS = "train-x-head-svc.ml.svc.cluster.local:8265"
URL = f"http://{ADDRESS}"
WAIT = (
    'until python -c "import urllib.request; '
    f"r=urllib.request.urlopen('{URL}/api/gcs_healthz', timeout=10); "
    "exit(0 if b'success' in r.read() else 1)\" >/dev/null 2>&1 ; "
    f'do echo "Waiting for Ray Dashboard GCS to become healthy at {URL} ..." ; '
    "sleep 2 ; done ;"
)


class Row(NamedTuple):
    rule: str
    options: str
    """What stands between `--no-wait` and `--`."""
    spec: Mapping[str, Any] = MappingProxyType({})
    runtime_env: dict[str, Any] | None = None
    job_id: str = "train-abcde"
    entrypoint: str = "python train.py"


ID = "--submission-id train-abcde"
WRITTEN = "what the runtime environment was read from"
ROWS = (
    Row("nothing but the id", ID),
    Row(
        "the entrypoint is trimmed, not quoted",
        ID,
        {"entrypoint": " \n\tpython train.py;ls\v"},
        entrypoint="python train.py;ls",
    ),
    Row("no entrypoint", ID, {"entrypoint": ""}, entrypoint=""),
    Row(
        "the runtime environment is compact JSON with sorted keys",
        '--runtime-env-json "{\\"env_vars\\":{\\"A\\":\\"1\\",\\"B\\":\\"$HOME\\"},'
        '\\"pip\\":[\\"requests==2.26.0\\"]}" ' + ID,
        {"runtimeEnvYAML": WRITTEN},
        runtime_env={"pip": ["requests==2.26.0"], "env_vars": {"B": "$HOME", "A": "1"}},
    ),
    Row(
        "an empty runtime environment is passed on",
        '--runtime-env-json "{}" ' + ID,
        {"runtimeEnvYAML": "{}"},
        runtime_env={},
    ),
    Row(
        "and one that holds nothing, as upstream passes it on",
        '--runtime-env-json "null" ' + ID,
        {"runtimeEnvYAML": "# later"},
    ),
    Row(
        "metadata is JSON with HTML escaped, then quoted",
        '--metadata-json "{\\"a\\":\\"\\\\u003cb\\\\u003e \\\\u0026\\",\\"é\\":\\"\\\\n\\"}" ' + ID,
        {"metadata": {"é": "\n", "a": "<b> &"}},
    ),
    Row(
        "numbers have six decimals",
        f"{ID} --entrypoint-num-cpus 1.000000 --entrypoint-num-gpus 0.333333",
        {"entrypointNumCpus": 1, "entrypointNumGpus": 1 / 3},
    ),
    Row(
        "numbers pass through 32-bit floats",
        f"{ID} --entrypoint-num-cpus 16777216.000000",
        {"entrypointNumCpus": 16777217, "entrypointNumGpus": 1e-50},
    ),
    Row("what is 0 or less is left out", ID, {"entrypointNumCpus": 0, "entrypointNumGpus": -1}),
    Row(
        "custom resources are quoted as they are written",
        f'{ID} --entrypoint-resources "{{\\"a\\": 1}}"',
        {"entrypointResources": '{"a": 1}'},
    ),
    Row(
        "all options in upstream's order",
        '--runtime-env-json "{\\"a\\":1}" --metadata-json "{\\"b\\":\\"c\\"}" '
        f"{ID} --entrypoint-num-cpus 0.500000 --entrypoint-num-gpus 2.000000 "
        '--entrypoint-resources "{}"',
        {
            "metadata": {"b": "c"},
            "entrypointNumCpus": 0.5,
            "entrypointNumGpus": 2,
            "entrypointResources": "{}",
            "runtimeEnvYAML": WRITTEN,
        },
        runtime_env={"a": 1},
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_the_command_of_a_submitter(row: Row) -> None:
    command = submit_command(
        rayjob(**row.spec), address=ADDRESS, job_id=row.job_id, runtime_env=row.runtime_env
    )
    assert command == (
        f"{WAIT} if ! ray job status --address {URL} {row.job_id} >/dev/null 2>&1 ; then "
        f"ray job submit --address {URL} --no-wait {row.options} -- {row.entrypoint} ; fi ; "
        f"ray job logs --address {URL} --follow {row.job_id}"
    )


def test_an_address_with_a_scheme_keeps_it() -> None:
    with_scheme = submit_command(rayjob(), address=URL, job_id="j", runtime_env=None)
    assert with_scheme == submit_command(rayjob(), address=ADDRESS, job_id="j", runtime_env=None)


@pytest.mark.parametrize(
    ("ports", "port"),
    [
        ([{"name": "dashboard", "containerPort": 9999}], 9999),
        ([{"name": "client", "containerPort": 10001}], 8265),
        (None, 8265),
    ],
    ids=["named port", "no port named dashboard", "no ports"],
)
def test_the_command_beside_the_head(ports: list[dict[str, Any]] | None, port: int) -> None:
    job = rayjob({f"{HEAD_POD}.containers.0.ports": ports}, metadata={"a": "b"})
    assert sidecar_command(job, job_id="train-abcde", runtime_env=None) == (
        'until python -c "import urllib.request; '
        f"r=urllib.request.urlopen('http://localhost:{port}/api/gcs_healthz', timeout=10); "
        "exit(0 if b'success' in r.read() else 1)\" >/dev/null 2>&1 ; "
        'do echo "Waiting for Ray Dashboard GCS to become healthy at http://127.0.0.1:'
        f'{port} ..." ; sleep 2 ; done ; '
        f"ray job submit --address http://127.0.0.1:{port} "
        '--metadata-json "{\\"a\\":\\"b\\"}" --submission-id train-abcde -- python train.py ;'
    )


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain é 😀 $x `y`", '"plain é 😀 $x `y`"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\0\x1b\x7f", '"\\x00\\x1b\\x7f"'),
        ("\xa0\u2028\u200b", '"\\u00a0\\u2028\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_quoting_is_that_of_go(text: str, quoted: str) -> None:
    """Values from strconv.Quote, Go 1.26."""
    assert quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": [1, True, None], "a": {}}, '{"a":{},"b":[1,true,null]}'),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (2.0, "2"),
        (False, "false"),
        ("\x01\b\u2028é/\ud800", r'"\u0001\b\u2028é/\ufffd"'),
    ],
)
def test_json_is_that_of_go(value: Any, written: str) -> None:  # noqa: ANN401 any JSON
    """Values from json.Marshal, Go 1.26."""
    assert go_json(value) == written


def test_json_has_no_infinity() -> None:
    with pytest.raises(ValueError, match="inf is no JSON number"):
        go_json(float("inf"))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (0.1, 0.1),
        (16777217, 16777216),
        (1 / 3, 0.33333334),
        (0, 0),
        (0.010134364244112402, 0.0101343645),
        (3.4028235e38, 3.4028235e38),
    ],
)
def test_32_bit_floats_keep_their_shortest_form(value: float, kept: float) -> None:
    assert float32(value) == kept
