"""Words and forms of notifications: what a webhook, a chat and an Alertmanager are sent.

Names, messages and labels are those of users' jobs, who write into them what they like. They are
one visible line each, and no text of theirs is markup, a link or a mention where it is shown.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.notifications.rules import Occasion
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.ids import notice_id_of
from jobledger.core.values.instants import Instant, later, rfc3339
from jobledger.core.values.visible_text import one_line

RESOLVED_AFTER = timedelta(hours=1)
"""How long an Alertmanager shows what happened; it is over as soon as it is told."""

LABELS_MAX = 64
"""Labels of a job that are told, the first by name; a job may have as many as it likes."""


class Form(StrEnum):
    """What a target understands."""

    WEBHOOK = "webhook"
    """A JSON document of our own."""
    SLACK = "slack"
    """An incoming webhook of Slack, or of what takes the same (Mattermost, Rocket.Chat)."""
    ALERTMANAGER = "alertmanager"
    """Alerts of Alertmanager's API, version 2."""


class Notice(Struct, frozen=True, kw_only=True):
    """What one target is told because of one rule."""

    id: UUID
    """The same whenever it is sent: a target that keeps ids takes no notice twice."""
    rule: str
    target: str
    occasion: Occasion


def notice_of(rule: str, target: str, occasion: Occasion) -> Notice:
    """Return what a target is told; of a job's labels no more than `LABELS_MAX`."""
    labels = dict(sorted(occasion.labels.items())[:LABELS_MAX])
    return Notice(
        id=notice_id_of(occasion.event_id, rule, target),
        rule=rule,
        target=target,
        occasion=replace(occasion, labels=labels),
    )


def body_of(form: Form, notice: Notice, now: Instant) -> Json:
    """Return what a target is sent; `now` is when."""
    match form:
        case Form.WEBHOOK:
            return _document(notice)
        case Form.SLACK:
            return {"text": _chat(notice), "unfurl_links": False, "unfurl_media": False}
        case Form.ALERTMANAGER:
            return [_alert(notice, now)]
        case _:
            assert_never(form)


def _document(notice: Notice) -> Manifest:
    told = notice.occasion
    return {
        "version": 1,
        "id": str(notice.id),
        "rule": notice.rule,
        "text": one_line(told.text),
        "job": {
            **{
                name: one_line(text)
                for name, text in (
                    ("cluster", told.cluster),
                    ("kind", told.kind),
                    ("namespace", told.namespace),
                    ("name", told.name),
                    ("uid", told.uid),
                )
            },
            "labels": {one_line(name): one_line(value) for name, value in told.labels.items()},
            "stream": str(told.stream_id),
        },
        "event": {
            "type": told.event,
            "id": str(told.event_id),
            "position": told.position,
            "occurredAt": rfc3339(told.occurred_at),
            "attempt": told.attempt,
        },
        "failure": {
            "cause": told.cause,
            "class": told.failure_class,
            "advice": told.advice,
        },
    }


def _chat(notice: Notice) -> str:
    told = notice.occasion
    lines = [f"*{_plain(notice.rule)}* on {_code(told.cluster)}", _code(told.text)]
    if told.cause:
        lines.append(f"{_code(told.cause)}: {_plain(told.advice)}")
    return "\n".join(lines)


def _code(text: str) -> str:
    """Return a foreign text as it is shown and not obeyed: code holds no markup, no mention."""
    return f"`{_escaped(one_line(text).replace('`', chr(0x2CB)))}`" if text else ""


def _plain(text: str) -> str:
    """Return a text of the installation's or our own, without anything that is markup."""
    return _escaped(one_line(text).translate({ord(mark): " " for mark in "*_~`@"}))


def _escaped(text: str) -> str:
    """Escape what Slack takes for links and mentions. Source: Slack, Formatting message text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _alert(notice: Notice, now: Instant) -> Manifest:
    told = notice.occasion
    labels = {
        "alertname": notice.rule,
        "source": "jobledger",
        "cluster": told.cluster,
        "kind": told.kind,
        "namespace": told.namespace,
        "job_name": told.name,
        "event": told.event,
        "cause": told.cause,
        "failure_class": told.failure_class,
    }
    return {
        "labels": _told(labels),
        "annotations": _told({"summary": told.text, "advice": told.advice, "uid": told.uid}),
        "startsAt": rfc3339(told.occurred_at),
        "endsAt": rfc3339(later(max(now, told.occurred_at), RESOLVED_AFTER)),
    }


def _told(texts: Mapping[str, str]) -> Manifest:
    """Return what is not empty; to an Alertmanager an empty label is none."""
    return {name: one_line(text) for name, text in texts.items() if text}
