"""What a tenant with the least rights may write into jobs of both kinds, to do harm."""

from collections.abc import Iterator
from typing import Any

from tests.acceptance.trainjobs import trainjob
from tests.acceptance.witness import RAYJOBS, TRAINJOBS
from tests.support.api import rayjob

Document = dict[str, Any]

WORDS = (
    "NaN",
    "1e400",
    "9" * 5000,
    "\u0661\u0662",
    "e\u0301" * 30,
    "\x1b[31m",
    "%s%n{0.__class__}",
)
"""Texts for where a number, a name or a word of a list belongs."""

JSONS = (
    '{"a":1,"a":2}',
    '{"a":1e999}',
    '{"a":' + "9" * 5000 + "}",
    "[" * 50_000,
    '{"\\ud800":1}',
)
YAMLS = (
    "a: &a [*a]",
    "a: " + "9" * 5000,
    "a: 0x" + "f" * 100_000,
    "? [a]\n: b",
    'a: "\\ud800"',
)
QUANTITIES = ("1e999999999", "1" * 3000 + "Ei", "-1e30")
BOUNDS = (2**31 - 1, -1)
"""Of what the definitions let through; 2^31 and 2^63 are refused by the API server."""


def hostile_jobs() -> Iterator[tuple[str, Document]]:
    """Yield the resource and the manifest of each."""
    for number, (resource, manifest) in enumerate(_unnamed()):
        manifest["metadata"].setdefault("name", f"hostile-{number}")
        yield resource, manifest


def _unnamed() -> Iterator[tuple[str, Document]]:
    for resource, metadata in ((one, each) for one in (RAYJOBS, TRAINJOBS) for each in _metadata()):
        made = _rayjob() if resource == RAYJOBS else _trainjob()
        made["metadata"] |= metadata
        yield resource, made
    for text in JSONS:
        yield RAYJOBS, _rayjob(entrypointResources=text)
    for text in YAMLS:
        yield RAYJOBS, _rayjob(runtimeEnvYAML=text)
    for word in WORDS:
        yield from _with_word(word)
    for quantity in QUANTITIES:
        asked = {"limits": {"cpu": quantity, "nvidia.com/gpu": quantity}}
        yield RAYJOBS, _rayjob(rayClusterSpec=_cluster(resources=asked))
        yield TRAINJOBS, _trainjob(numNodes=2, resourcesPerNode=asked)
    for bound in BOUNDS:
        yield RAYJOBS, _rayjob(backoffLimit=bound, activeDeadlineSeconds=bound)
        yield RAYJOBS, _rayjob(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=bound)
        yield TRAINJOBS, _trainjob(numNodes=bound, numProcPerNode=bound)
    many = [{"name": f"V{n}_TOKEN", "value": f"s3cr3tQ{n}zzXy{n * 7919}"} for n in range(9000)]
    yield RAYJOBS, _rayjob(rayClusterSpec=_cluster(env=many))
    yield TRAINJOBS, _trainjob(env=many)
    yield RAYJOBS, _rayjob(entrypoint="--token a " * 50_000)


def _metadata() -> Iterator[Document]:
    yield {"annotations": {f"a.b/k{n}": "v" for n in range(10_000)}}
    yield {"annotations": {"a.b/k": "v" * 250_000}}
    yield {"annotations": {f"jobledger.dev/retry-{n}": "password=" for n in range(3000)}}
    yield {"finalizers": ["stranger.example/x"]}
    yield {"labels": {"jobledger.dev/attempt": "-5", "ray.io/cluster": "x", "a": ""}}
    yield {
        "ownerReferences": [
            {
                "apiVersion": "no.such/v1",
                "kind": "No",
                "name": "x",
                "uid": "\u202e",
                "controller": True,
            }
        ]
    }
    yield {"creationTimestamp": "0001-01-01T00:00:00Z", "uid": "no-uid", "generation": -5}
    yield {"name": "a" * 47}


def _with_word(word: str) -> Iterator[tuple[str, Document]]:
    odd = {"annotations": {"jobledger.dev/retry-policy": word, "jobledger.dev/retry-x": word}}
    for resource, made in ((RAYJOBS, _rayjob()), (TRAINJOBS, _trainjob())):
        made["metadata"] |= odd
        yield resource, made
    yield RAYJOBS, _rayjob(jobId=word, entrypoint=word, metadata={"a": word})
    yield RAYJOBS, _rayjob(clusterSelector={"ray.io/cluster": word})
    head = _cluster(image=word, env=[{"name": "A", "value": word}])
    head["headGroupSpec"]["rayStartParams"] = {"num-cpus": word, "port": word, "resources": word}
    yield RAYJOBS, _rayjob(rayClusterSpec={**head, "rayVersion": word})
    env = [{"name": "A", "value": word}]
    yield TRAINJOBS, _trainjob(image=word, env=env, command=[word], args=[word])


def _cluster(**container: object) -> Document:
    head = {"name": "head", "image": "ray:2", **container}
    return {"headGroupSpec": {"template": {"spec": {"containers": [head]}}}}


def _rayjob(**spec: object) -> Document:
    made = rayjob("", **spec)
    del made["metadata"]["name"]
    return made


def _trainjob(**trainer: object) -> Document:
    made = trainjob("", "true", runtime="plain", trainer={"command": ["true"], **trainer})
    del made["metadata"]["name"]
    return made
