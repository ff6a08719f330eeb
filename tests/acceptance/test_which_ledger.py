"""`jobledger get` says which ledger it reads, and what scripts read stays what it was."""

import json
from datetime import timedelta

import pytest
import yaml

from jobledger.adapters.postgres.log.replicas import PostgresReplicas
from tests.support.ledgers import app_engine
from tests.support.processes import Terminal

pytestmark = pytest.mark.postgres


def test_a_list_says_of_which_ledger_it_is_and_whether_anybody_works_on_it(
    terminal: Terminal, ledger_url: str
) -> None:
    at_ledger = terminal.with_environment(DATABASE_URL=ledger_url)
    name = ledger_url.rpartition("/")[2].partition("?")[0]
    before = at_ledger.jobledger("get").err
    assert name in before
    assert before.splitlines() == [before.strip()]
    assert before.endswith("; no service works on it now\n")
    with app_engine(ledger_url) as engine:
        PostgresReplicas(engine, "default").beat("a/1", timedelta(minutes=5), hears=True)
    assert at_ledger.jobledger("get").err == before.replace("; no service works on it now", "")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_script_gets_nothing_else(terminal: Terminal, ledger_url: str, form: str) -> None:
    ended = terminal.with_environment(DATABASE_URL=ledger_url).jobledger("get", "-o", form)
    assert (yaml.safe_load(ended.out), ended.err) == ([], "")


def test_a_cluster_that_is_named_and_does_not_answer_costs_a_line(
    terminal: Terminal, ledger_url: str
) -> None:
    kubeconfig = terminal.directory / "nowhere"
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
                "users": [{"name": "c", "user": {}}],
                "current-context": "c",
            }
        )
    )
    asked = ("get", "-o", "json", "--kubeconfig", str(kubeconfig))
    ended = terminal.with_environment(DATABASE_URL=ledger_url).jobledger(*asked)
    assert json.loads(ended.out) == []
    (line,) = ended.err.splitlines()
    assert line.startswith("warning: it is not known whether another ledger controls these jobs")
