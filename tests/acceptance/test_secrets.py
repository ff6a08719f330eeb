"""A secret in a manifest or in what a job says is nowhere in the ledger, nor in anything public."""

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from jobledger.core.jobs.control.lost_history import RECOVER_ANNOTATION
from tests.acceptance.jobs import IMAGE, Document, rayjob, with_metadata
from tests.acceptance.site import Site
from tests.acceptance.witness import KUBERNETES_EVENTS, RAYJOBS, Witness
from tests.support.postgres import plain_url
from tests.support.processes import Controller

pytestmark = pytest.mark.postgres

CONTAINER = "Zq7-container-env-4f9c1b"
SUBMITTER = "Zq7-submitter-env-83ae20"
RUNTIME = "Zq7/runtime+env=vars-55d1"
METADATA = "Zq7-metadata-token-99b31e"
ANNOTATION = "Zq7-annotation-password-07"
OPTION = "Zq7-entrypoint-option-6c2d"
USERINFO = "Zq7-url-userinfo-e81b44"
SECRETS = (CONTAINER, SUBMITTER, RUNTIME, METADATA, ANNOTATION, OPTION, USERINFO)

PRINTING = (
    "import base64,os,sys;"
    "s=[os.environ['RUNTIME_SECRET'],os.environ['CONTAINER_SECRET']]+sys.argv[1:];"
    "[print('the value is',v,base64.b64encode(v.encode()).decode()) for v in s];"
    "f=open(os.environ['COUNTER'],'a');f.write('x');f.close();"
    "sys.exit(os.path.getsize(os.environ['COUNTER'])<3)"
)
"""Prints every secret that it can get hold of, and fails at its first two runs."""


def leaky(site: Site, mode: str) -> Document:
    """Return a job with a secret wherever a manifest can hold one."""
    counter = f"{site.directory}/count-{mode.lower()}"
    program = site.directory / "leak.py"
    program.write_text(PRINTING)
    entrypoint = (
        f"python {program} --password={OPTION} https://robot:{USERINFO}@artifacts.example.com/x"
    )
    manifest = rayjob(f"leaky-{mode.lower()}", entrypoint, mode=mode, backoffLimit=3)
    manifest["spec"] |= {
        "metadata": {"owner": "me", "api_token": METADATA},
        "runtimeEnvYAML": f"env_vars:\n  RUNTIME_SECRET: '{RUNTIME}'\n  COUNTER: '{counter}'\n",
        "shutdownAfterJobFinishes": True,
    }
    head = manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    head["env"] = [{"name": "CONTAINER_SECRET", "value": CONTAINER}]
    if mode == "K8sJobMode":
        container = {
            "name": "ray-job-submitter",
            "image": IMAGE,
            "env": [{"name": "WANDB_API_KEY", "value": SUBMITTER}],
        }
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        manifest["spec"]["submitterPodTemplate"] = template
    annotations = {"example.com/password": ANNOTATION, RECOVER_ANNOTATION: ANNOTATION, "a": "b"}
    return with_metadata(manifest, annotations=annotations)


def forms(secret: str) -> Iterator[str]:
    """Yield the texts in which a secret may reappear."""
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    for text in (secret, f"{secret}\n"):
        yield base64.b64encode(text.encode()).decode().rstrip("=")
    yield secret.encode().hex()


def everything_in(url: str) -> dict[str, str]:
    """Return every table of a database as text, by name, with every column of every row."""
    dump = {}
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            copy = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT").format(
                sql.Identifier(schema, table)
            )
            with connection.cursor().copy(copy) as rows:
                dump[f"{schema}.{table}"] = b"".join(bytes(row) for row in rows).decode()
    return dump


def assert_nowhere(places: dict[str, str]) -> None:
    """No form of any secret stands in any of the texts."""
    found = [
        (place, secret)
        for place, text in places.items()
        for secret in SECRETS
        if any(form in text for form in forms(secret))
    ]
    assert found == []


def public(site: Site, witness: Witness, controller: Controller) -> dict[str, str]:
    """Return everything that is published or written beside the ledger."""
    events = site.api.list(KUBERNETES_EVENTS).body["items"]
    assert events, "there are Kubernetes Events"
    statuses = [item.document.get("status") for item in witness.told(RAYJOBS)]
    reads = ("get", "-o", "json"), ("decisions", "-o", "json")
    stories = [
        ("history", f"{site.api.namespace}/leaky-{mode}", "--all", *form)
        for mode in ("httpmode", "k8sjobmode")
        for form in ((), ("-o", "json"))
    ]
    return {
        "every .status there ever was": json.dumps(statuses),
        "Kubernetes Events": json.dumps(events),
        "the log of the controller": controller.log,
        "/metrics": controller.get("/metrics")[1],
        **{" ".join(words): site.terminal.jobledger(*words).everything for words in reads},
        **{" ".join(words): site.terminal.jobledger(*words).everything for words in stories},
    }


def test_planted_secrets_are_nowhere(site: Site, witness: Witness) -> None:
    with site.controller(JOBLEDGER_LOG_LEVEL="debug") as controller:
        for mode in ("HTTPMode", "K8sJobMode"):
            site.submit(leaky(site, mode))
        for name in ("leaky-httpmode", "leaky-k8sjobmode"):
            status = witness.wait_for_phase(name, "Complete")
            assert status["failed"] == 2, "what it printed was the message of two failures"
        site.wait_for_true("nothing is left to do", "SELECT NOT bool_or(open) FROM job")
        places = public(site, witness, controller)
    dump = everything_in(site.database_url)
    assert any("redacted:" in text for text in dump.values())
    assert "the value is redacted:" in places["every .status there ever was"]
    assert_nowhere({**places, **dump})


def test_the_search_finds_what_is_there(site: Site) -> None:
    """The check of the check: a secret in any column of any table is found, in every form."""
    with psycopg.connect(plain_url(site.database_url), autocommit=True) as connection:
        connection.execute("CREATE TABLE leak (a text, b bytea, c jsonb)")
        for form in forms(RUNTIME):
            connection.execute("TRUNCATE leak")
            connection.execute("INSERT INTO leak (a) VALUES (%s)", (f"x{form}y",))
            with pytest.raises(AssertionError, match=r"public\.leak"):
                assert_nowhere(everything_in(site.database_url))
        connection.execute("UPDATE leak SET a = '', b = %s", (RUNTIME.encode(),))
        with pytest.raises(AssertionError, match=r"public\.leak"):
            assert_nowhere(everything_in(site.database_url))
