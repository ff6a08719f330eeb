"""`jobledger doctor` as it is typed: on a sound installation, and where a part of it is missing."""

import json

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from tests.acceptance.jobs import rayjob
from tests.acceptance.site import Site
from tests.support.ledgers import tampering
from tests.support.processes import Terminal

pytestmark = pytest.mark.postgres


SILENT = """
apiVersion: v1
kind: Config
current-context: none
contexts: [{name: none, context: {cluster: none, user: none}}]
clusters: [{name: none, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: none, user: {}}]
"""


def test_a_sound_installation_is_well_and_what_is_not_is_said(site: Site) -> None:
    with site.controller() as controller:
        site.submit(rayjob("held", "true", suspend=True))
        site.wait_for_true("it is in the log", "SELECT count(*) = 1 FROM job WHERE name = 'held'")
        made = "SELECT count(*) >= 5 FROM pg_inherits WHERE inhparent = 'event'::regclass"
        site.wait_for_true("the partitions of these months are there", made)
        told = json.loads(site.terminal.jobledger("doctor", "--full", "--output", "json").out)
        assert {row["state"] for row in told} <= {"ok", "note"}, told
        names = {row["check"] for row in told}
        assert {"leases", "status-of-log", "permissions", "leaked-objects"} <= names
        assert controller.terminate() == 0
    with tampering(site.database_url) as superuser:
        superuser.execute("UPDATE job SET phase = 'Complete', ended_at = now()")
    ill = site.terminal.jobledger("doctor", code=ExitCode.FOUND_WRONG).out
    assert "job.phase is Complete and the log says" in " ".join(ill.split())
    assert "-> `jobledger rebuild`" in ill
    assert "held by nobody" in ill


def test_it_works_with_only_a_cluster_or_only_a_database(site: Site) -> None:
    nowhere = site.terminal.with_environment(DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")
    of_cluster = nowhere.jobledger("doctor", "--only", "cluster").out
    assert "permissions" in of_cluster
    assert "status-of-log" not in of_cluster
    both = nowhere.jobledger("doctor", code=ExitCode.FOUND_WRONG).out
    assert "cannot be reached" in both
    assert "permissions" in both
    lonely = site.terminal.with_environment(KUBECONFIG="")
    told = json.loads(lonely.jobledger("doctor", "--output", "json", code=None).out)
    states = {row["check"]: row["state"] for row in told}
    assert states["api-server"] == "note"
    assert states["status-of-log"] == "ok"
    silent = site.terminal.with_environment(KUBECONFIG=str(site.directory / "silent"))
    (site.directory / "silent").write_text(SILENT)
    told = silent.jobledger("doctor", "--only", "cluster", code=ExitCode.FOUND_WRONG).out
    assert "error   api-server" in told
    assert "permissions" not in told


def test_where_pods_report_is_looked_at_if_they_are_told_of_it(site: Site) -> None:
    url = "https://jobledger-trainer-status.jobledger.svc:10443"
    telling = site.terminal.with_environment(JOBLEDGER_TRAINER_STATUS_URL=url)
    words = "doctor", "--only", "cluster", "--output", "json"
    told = json.loads(telling.jobledger(*words, code=ExitCode.FOUND_WRONG).out)
    wrong = {row["check"]: row["findings"][0]["what"] for row in told if row["state"] == "error"}
    untold = json.loads(site.terminal.jobledger(*words).out)
    assert not [row for row in untold if row["check"].startswith("progress-")], "no ok of nothing"
    assert wrong.keys() == {"progress-authority", "progress-server"}
    assert "ConfigMap jobledger/jobledger-trainer-status-ca" in wrong["progress-authority"]
    assert "Service jobledger/jobledger-trainer-status, named by" in wrong["progress-server"]


def test_what_cannot_be_read_is_told_once_and_hides_nothing_else(
    terminal: Terminal, ledger_url: str
) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("DELETE FROM log_head")
    at = terminal.with_environment(DATABASE_URL=ledger_url)
    words = "doctor", "--only", "database", "--output", "json"
    told = json.loads(at.jobledger(*words, code=ExitCode.FOUND_WRONG).out)
    assert [row["check"] for row in told if row["state"] == "error"] == ["condition", "slowed-jobs"]
    assert {"status-of-log", "leases"} <= {row["check"] for row in told}


def test_a_wrong_word_is_refused(terminal: Terminal) -> None:
    terminal.jobledger("doctor", "--only", "luck", code=ExitCode.USAGE)
