"""What targets are sent, above all of jobs whose owners write what they like."""

import re
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from jobledger.core.notifications.messages import (
    LABELS_MAX,
    RESOLVED_AFTER,
    Form,
    Notice,
    body_of,
    notice_of,
)
from jobledger.core.values.instants import parse_rfc3339
from tests.support.notices import a_notice, an_occasion
from tests.support.records import NOON

HOSTILE = (
    "<!channel> <@U1|you> <https://evil.example|your payslip> *bold* _x_ ~y~ @here @all\n"
    "> quoted\r\n```code``` `tick` [a](https://evil.example) \x1b[31m\u202e \u200b &lt;"
)
OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]")


def sent(form: Form, notice: Notice) -> Any:  # noqa: ANN401 as it was sent
    """Return what a target reads."""
    return msgspec.json.decode(msgspec.json.encode(body_of(form, notice, NOON)))


def texts(document: object) -> list[str]:
    if isinstance(document, str):
        return [document]
    if isinstance(document, dict):
        return [text for one in document.items() for text in texts(list(one))]
    return [text for one in document for text in texts(one)] if isinstance(document, list) else []


def test_a_webhook_is_told_the_job_the_event_and_the_failure() -> None:
    told = sent(Form.WEBHOOK, a_notice())
    assert told["version"] == 1
    assert told["text"] == an_occasion().text
    assert told["job"] == {
        "cluster": "prod-eu",
        "kind": "RayJob",
        "namespace": "ml",
        "name": "train",
        "uid": "uid-1",
        "labels": {"team": "vision"},
        "stream": str(an_occasion().stream_id),
    }
    assert told["event"]["type"] == "JobFailed"
    assert told["event"]["position"] == 7
    assert told["failure"]["cause"] == "out-of-memory"


def test_a_chat_is_told_in_three_lines() -> None:
    assert sent(Form.SLACK, a_notice())["text"].splitlines() == [
        "*failures* on `prod-eu`",
        "`RayJob ml/train failed after 2 attempts, because it ran out of memory.`",
        "`out-of-memory`: Give it more memory.",
    ]


def test_an_alert_begins_with_the_event_and_ends_by_itself() -> None:
    late = NOON + timedelta(days=2)
    [alert] = msgspec.json.decode(msgspec.json.encode(body_of(Form.ALERTMANAGER, a_notice(), late)))
    assert alert["labels"]["alertname"] == "failures"
    assert alert["labels"]["namespace"] == "ml"
    assert alert["annotations"]["summary"] == an_occasion().text
    assert parse_rfc3339(alert["startsAt"]) == NOON
    assert parse_rfc3339(alert["endsAt"]) == late + RESOLVED_AFTER, "not over before it was sent"


def test_an_alert_has_no_empty_label() -> None:
    notice = a_notice(cause="", failure_class="", advice="")
    [alert] = sent(Form.ALERTMANAGER, notice)
    assert "cause" not in alert["labels"]
    assert "" not in texts(alert)


@pytest.mark.parametrize("form", list(Form))
def test_foreign_texts_are_one_visible_line(form: Form) -> None:
    notice = a_notice(text=HOSTILE, cluster=HOSTILE, name=HOSTILE, labels={HOSTILE: HOSTILE})
    for text in texts(sent(form, notice)):
        lines = text.split("\n") if form is Form.SLACK else [text]
        assert len(lines) <= 3
        assert not any(OBEYED.search(line) for line in lines), ascii(text)


def test_nothing_of_a_foreign_text_is_markup_in_a_chat() -> None:
    """All of it stands in code, where Slack and Mattermost read none; escapes end no code."""
    first, second, third = sent(
        Form.SLACK, a_notice(text=HOSTILE, cluster=HOSTILE, advice=HOSTILE)
    )["text"].split("\n")
    outside = re.sub("`[^`]*`", "", f"{first}\n{second}")
    assert outside == "*failures* on \n"
    assert not re.search(r"[<>]|&(?!amp;|lt;|gt;)", first + second + third)
    assert not re.search(r"[*_~@]", third.replace("out-of-memory", ""))


def test_a_rule_s_name_is_no_markup_either() -> None:
    first = sent(Form.SLACK, notice_of("<!here> *x* @all", "chat", an_occasion()))["text"]
    assert first.startswith("*&lt;!here&gt;  x   all* on ")


def test_the_same_notice_has_the_same_id_and_another_has_another() -> None:
    ids = {
        notice_of(rule, target, an_occasion()).id for rule in ("a", "b") for target in ("c", "d")
    }
    assert len(ids) == 4
    assert notice_of("a", "c", an_occasion()).id in ids


def test_of_very_many_labels_some_are_told() -> None:
    labels = {f"l{number:04}": "x" for number in range(5000)}
    told = sent(Form.WEBHOOK, a_notice(labels=labels))["job"]["labels"]
    assert list(told) == sorted(labels)[:LABELS_MAX]
