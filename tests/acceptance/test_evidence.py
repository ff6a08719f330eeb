"""A job that failed on a cluster that is gone: what it wrote is kept, and explains it."""

import json

import pytest

from jobledger.core.values.counted import counted
from tests.acceptance.jobs import rayjob
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYJOBS, Witness
from tests.support.processes import Terminal

pytestmark = pytest.mark.postgres

PROGRAM = (
    "python -c \"import os; print('epoch 1', os.environ.get('API_TOKEN', '')); "
    "open('/data/nothing-here.parquet')\""
)


def suggested(terminal: Terminal, told: str) -> str:
    """Return what the command prints that an explanation says shows the whole log."""
    (line,) = [line for line in told.splitlines() if line.startswith("the whole log: ")]
    return terminal.jobledger(*line.partition("jobledger ")[2].split()).out


def test_the_log_of_a_cluster_that_is_gone_explains_the_failure(
    site: Site, witness: Witness
) -> None:
    with site.controller():
        site.submit(rayjob("gone", PROGRAM, shutdownAfterJobFinishes=True))
        witness.wait_for_phase("gone", "Failed")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
        site.wait_for_true(
            "evidence is in the log",
            "SELECT count(*) > 0 FROM event WHERE type = 'EvidenceCaptured'",
        )
    captured = site.rows("SELECT data FROM event WHERE type = 'EvidenceCaptured'")
    logs = [log for row in captured for log in row["data"].get("logs", ())]
    assert any(log["source"] == "driver" for log in logs), captured
    digests = {log["digest_of_content"] for log in logs}
    kept = site.rows("SELECT encode(digest, 'hex') FROM evidence")
    assert digests == {row["encode"] for row in kept}
    told = site.terminal.jobledger("explain", "gone").out
    assert "the program, or a file that it reads, is not there" in told
    assert "failure class missing-file" in told
    site.terminal.jobledger("replay", "gone")
    site.terminal.jobledger("export", "gone", "--to", "gone.bundle")
    nowhere = site.terminal.with_environment(DATABASE_URL="")
    of_bundle = nowhere.jobledger("explain", "gone.bundle").out
    assert of_bundle.replace("gone.bundle", f"{site.api.namespace}/gone") == told
    assert "FileNotFoundError" in suggested(site.terminal, told)
    assert suggested(nowhere, of_bundle) == suggested(site.terminal, told)
    checked = nowhere.jobledger("import", "--check", "gone.bundle").out
    assert counted(len(digests), "piece") + " of evidence" in checked
    listed = json.loads(nowhere.jobledger("evidence", "gone.bundle", "-o", "json").out)
    (driver, *_) = [row for row in listed if row["source"] == "driver"]
    assert {type(row["size"]) for row in listed if row["what"] == "log"} == {int}
    assert {row["size"] for row in listed if row["what"] != "log"} == {None}
    digest = driver["digest"][:12]
    printed = nowhere.jobledger("evidence", "gone.bundle", digest).out
    assert "FileNotFoundError" in printed
    shown = json.loads(nowhere.jobledger("evidence", "gone.bundle", digest, "-o", "json").out)
    assert "FileNotFoundError" in shown["content"]
    assert shown.items() >= driver.items()


def test_a_job_that_its_user_deletes_before_its_end_leaves_its_log(
    site: Site, witness: Witness
) -> None:
    program = "python -u -c \"import time; print('step 7: loss is 0.31'); time.sleep(600)\""
    with site.controller():
        site.submit(rayjob("dropped", program))
        witness.wait_for_phase("dropped", "Running")
        witness.wait_for_status("dropped", jobStatus="RUNNING")
        site.api.delete(RAYJOBS, "dropped")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    told = site.terminal.jobledger("explain", "dropped").out
    listed = json.loads(site.terminal.jobledger("evidence", "dropped", "-o", "json").out)
    (driver,) = [row for row in listed if row["source"] == "driver"]
    kept = site.terminal.jobledger("evidence", "dropped", driver["digest"][:12]).out
    assert "step 7: loss is 0.31" in kept
    assert "before it had ended: it was Running since" in told
    assert "The log of the driver ends: step 7: loss is 0.31." in told
    assert suggested(site.terminal, told) == kept
