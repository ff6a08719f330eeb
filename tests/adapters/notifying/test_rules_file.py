"""The file with rules and targets, and the files and variables with their addresses."""

import os
from pathlib import Path

import pytest

from jobledger.adapters.notifying.rules_file import (
    FILE_BYTES_MAX,
    SECRET_BYTES_MAX,
    NoSecret,
    Secret,
    WrongRules,
    read_rules,
)
from jobledger.core.notifications.messages import Form

GOOD = """
targets:
  chat: {form: slack, url: {env: CHAT_URL}}
  alerts: {form: alertmanager, url: {file: /etc/a}, token: {file: /etc/b}, per_minute: 600}
rules:
  - name: failures
    events: [job-failed, ClusterKept]
    failures: [out-of-memory, preemption]
    namespaces: [team-*]
    labels: {team: vision}
    targets: [chat, alerts]
"""
WRONG = {
    "is not YAML: ": "targets: [https://secret.example",
    "a date or a number that is none": "a: 2026-99-99",
    "nested too deeply": "[" * 5000,
    "aliases written out": "a: &a {b: *a}",
    "half a character": 'a: "\\ud800"',
    "more than one document": "{}\n---\n{}",
    "missing required field `rules`": "targets: {}",
    "unknown field `rule`": GOOD + "rule: []",
    "unknown field `namespace`": GOOD.replace("namespaces", "namespace"),
    "unknown field `value`": GOOD.replace("env: CHAT_URL", "value: https://secret.example"),
    "the url of chat needs either a file or an env": GOOD.replace("env: CHAT_URL", ""),
    "the token of alerts needs either": GOOD.replace("/etc/b}", "/etc/b, env: B}"),
    "Invalid enum value 'teams'": GOOD.replace("slack", "teams"),
    "there is no target 'cat'": GOOD.replace("[chat,", "[cat,"),
    "there is no cause of failures 'oom'": GOOD.replace("out-of-memory", "oom"),
    "`int` >= 1": GOOD.replace("600", "0"),
    "matching regex": GOOD.replace("  chat:", "  Chat/..:"),
    "Expected `object`": "[]",
}


def written(place: Path, content: str) -> Path:
    file = place / "rules.yaml"
    file.write_text(content)
    return file


def test_rules_and_targets_are_read(tmp_path: Path) -> None:
    found = read_rules(written(tmp_path, GOOD))
    assert found.targets["chat"].form is Form.SLACK
    assert found.targets["alerts"].per_minute == 600
    [rule] = found.rules
    assert (rule.failures, rule.targets) == (("out-of-memory", "preemption"), ("chat", "alerts"))
    assert rule.labels == {"team": "vision"}


@pytest.mark.parametrize("told", WRONG)
def test_what_is_wrong_is_said(tmp_path: Path, told: str) -> None:
    with pytest.raises(WrongRules) as met:
        read_rules(written(tmp_path, WRONG[told]))
    assert told in str(met.value)
    assert "secret.example" not in str(met.value), "nothing of an address"


def test_a_file_that_is_not_there_or_too_large_is_said(tmp_path: Path) -> None:
    with pytest.raises(WrongRules, match="cannot be read: No such file"):
        read_rules(tmp_path / "none.yaml")
    with pytest.raises(WrongRules, match="is larger than"):
        read_rules(written(tmp_path, "#" * (FILE_BYTES_MAX + 1)))


def test_a_pipe_as_secret_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "url")
    with pytest.raises(NoSecret, match="cannot be read: it is no regular file"):
        Secret(file=str(tmp_path / "url")).read()


def test_a_secret_is_read_anew_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "url"
    secret = Secret(file=str(file))
    with pytest.raises(NoSecret, match="cannot be read: No such file"):
        secret.read()
    for value in ("https://one.example", "https://two.example"):
        file.write_text(f" {value}\n")
        assert secret.read() == value
    file.write_text("\n")
    with pytest.raises(NoSecret, match="is empty or not there"):
        secret.read()
    file.write_text("x" * (SECRET_BYTES_MAX + 1))
    with pytest.raises(NoSecret, match="is larger than"):
        secret.read()
    monkeypatch.setenv("THE_URL", "https://three.example")
    assert Secret(env="THE_URL").read() == "https://three.example"
    monkeypatch.delenv("THE_URL")
    with pytest.raises(NoSecret, match="the variable THE_URL is empty or not there"):
        Secret(env="THE_URL").read()
