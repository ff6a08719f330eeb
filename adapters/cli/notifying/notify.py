"""`jobledger notify`: tells webhooks, chats and an Alertmanager of events, by rules of a file."""

import gc
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.options import (
    LIMIT_MAX,
    DatabaseUrl,
    DataDir,
    HealthFile,
    HealthHost,
    HealthPort,
    LogFormat,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, fail, print_json, show
from jobledger.adapters.cli.running.ready_file import tell_ready
from jobledger.adapters.cli.running.stopping import StopSignals
from jobledger.adapters.http.health import health_app
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.ledger_wiring import Ledger, ledger
from jobledger.adapters.notifying.rules_file import Rules, read_rules
from jobledger.adapters.notifying.sending import NotTaken, send
from jobledger.adapters.notifying.service import BATCH_EVENTS, Asked, Notifier, Reader
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.adapters.telemetry.logging import configure_logging, get_logger
from jobledger.adapters.telemetry.metrics import NotificationMetrics
from jobledger.core.jobs.failures.rules import CAUSES
from jobledger.core.kinds import KINDS
from jobledger.core.notifications.messages import Notice, body_of, notice_of
from jobledger.core.notifications.rules import OCCASIONS, Occasion
from jobledger.core.values.counted import counted
from jobledger.core.values.ids import EventId, stream_id
from jobledger.core.values.instants import Instant

app = typer.Typer(help="Notifications: tell others of events of the log.")

log = get_logger(__name__)

RulesFile = Annotated[
    Path,
    typer.Option(
        "--rules",
        envvar="JOBLEDGER_NOTIFY_RULES",
        help="File with rules and targets (YAML).",
        show_default=False,
    ),
]
TargetOption = Annotated[
    str, typer.Option("--target", help="Only those of this target. Without it: of all.")
]

TOLD = ("rule", "targets", "event", "attempt", "cause", "text")
STATUS = ("target", "waiting", "oldest", "dead")
DEAD = ("target", "rule", "position", "tries", "given_up_at", "trouble", "text")


@app.command()
def run(
    rules: RulesFile,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
    host: HealthHost = "",
    port: HealthPort = None,
    log_format: LogFormat = "",
    ready_file: HealthFile = None,
) -> None:
    """Tell targets of what happens from now on, until SIGTERM or SIGINT; each at least once.

    What happens while it does not run is told later. Several may run on one ledger.
    """
    settings = settings_from(database_url, data_dir, host=host, port=port, log_format=log_format)
    configure_logging(settings.log_format, settings.log_level)
    wanted = read_rules(rules)
    with ledger(settings) as opened:
        metrics = NotificationMetrics()
        notifier = Notifier(
            _reader(opened, wanted),
            opened.notifications,
            wanted.targets,
            metrics,
            SystemClock().now,
        )
        server = HttpServer(
            health_app(notifier.is_alive, list, metrics.registry), settings.host, settings.port
        )
        stop = StopSignals()
        server.start()
        notifier.start()
        gc.freeze()
        log.info("started", http=server.url, rules=len(wanted.rules), targets=len(wanted.targets))
        tell_ready(ready_file, server.url)
        stop.wait()
        notifier.stop()
        server.stop()


@app.command("test")
def dry_run(
    rules: RulesFile,
    events: Annotated[
        int,
        typer.Option(
            help="How many events of the log to look at, the latest.", min=1, max=LIMIT_MAX
        ),
    ] = 10_000,
    send_to: Annotated[
        str,
        typer.Option(
            "--send-to", metavar="TARGET", help="Send this target one notice of a made-up job."
        ),
    ] = "",
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show who would be told what of the latest events; sends nothing, unless --send-to says so."""
    wanted = read_rules(rules)
    if send_to:
        _send_made_up(wanted, send_to)
        return
    with ledger(settings_from(database_url, data_dir)) as opened:
        asked = list(_latest(opened, wanted, events))
    if output is Output.JSON:
        print_json([one for found in asked for one in _bodies(wanted, found)])
        return
    show(output, [_row(found) for found in asked], TOLD)


@app.command()
def status(
    limit: Annotated[
        int, typer.Option(help="At most so many dead notices, the latest.", min=1, max=LIMIT_MAX)
    ] = 50,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show how far the log was read, what waits for each target, and what was given up."""
    with ledger(settings_from(database_url, data_dir)) as opened:
        lag = opened.notifications.lag()
        waiting = [
            {"target": one.target, "waiting": one.waiting, "oldest": one.oldest, "dead": one.dead}
            for one in opened.notifications.waiting()
        ]
        dead = [
            {
                "target": one.notice.target,
                "rule": one.notice.rule,
                "position": one.position,
                "tries": one.tries,
                "made_at": one.made_at,
                "given_up_at": one.given_up_at,
                "trouble": one.trouble,
                "text": one.notice.occasion.text,
            }
            for one in opened.notifications.dead(limit)
        ]
    if output is not Output.TABLE:
        found = {
            "position": lag.position,
            "last_position": lag.last_position,
            "seconds": lag.seconds,
            "targets": waiting,
            "dead": dead,
        }
        show(output, [found], ())
        return
    if lag.position is None:
        console.print("nobody is told yet: `jobledger notify run` has never run")
    else:
        console.print(f"{counted(lag.events, 'event')} behind the log, by {lag.seconds:.0f} s")
    for rows, columns in ((waiting, STATUS), (dead, DEAD)):
        if rows:
            show(output, rows, columns)


@app.command()
def retry(
    target: TargetOption = "",
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Send again what was given up."""
    _clear(database_url, data_dir, target, again=True)


@app.command()
def forget(
    target: TargetOption = "",
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Remove what was given up; nobody is told of it any more."""
    _clear(database_url, data_dir, target, again=False)


def _clear(database_url: str, data_dir: Path | None, target: str, *, again: bool) -> None:
    with ledger(settings_from(database_url, data_dir)) as opened:
        changed = opened.notifications.clear_dead(target, again=again)
    done = "will be sent again" if again else "removed"
    console.print(f"{changed} {done}")


def _reader(opened: Ledger, wanted: Rules) -> Reader:
    return Reader(opened.store, opened.evidence.get, wanted.rules)


def _latest(opened: Ledger, wanted: Rules, events: int) -> Iterable[Asked]:
    """Yield what rules ask for in the latest events."""
    reader, last = _reader(opened, wanted), opened.store.last_position()
    position = max(0, last - events)
    while batch := [one for one in reader.after(position, BATCH_EVENTS) if one.position <= last]:
        yield from reader.asked(batch)
        position = batch[-1].position


def _row(found: Asked) -> dict[str, object]:
    told = found.occasion
    return {
        "rule": ", ".join(rule.name for rule in found.rules),
        "targets": ", ".join(dict.fromkeys(one.target for one in found.notices)),
        "event": told.event,
        "position": told.position,
        "attempt": told.attempt,
        "cause": told.cause,
        "text": told.text,
    }


def _bodies(wanted: Rules, found: Asked) -> Iterable[dict[str, object]]:
    for notice in found.notices:
        form = wanted.targets[notice.target].form
        body = body_of(form, notice, SystemClock().now())
        yield {"target": notice.target, "form": form.value, "body": body}


def _send_made_up(wanted: Rules, name: str) -> None:
    target = wanted.targets.get(name)
    if target is None:
        fail(
            f"there is no target {name!r}; write one of: {', '.join(wanted.targets)}",
            ExitCode.USAGE,
        )
    now = SystemClock().now()
    try:
        send(target, _made_up(name, now), now)
    except NotTaken as error:
        fail(f"{name} did not take the notice: {error}", ExitCode.FOUND_WRONG)
    console.print(f"{name} took the notice")


def _made_up(target: str, now: Instant) -> Notice:
    """Return a notice that says of itself that it is a test."""
    cause, (name, kind) = CAUSES["out-of-memory"], next(iter(KINDS.items()))
    occasion = Occasion(
        position=0,
        event_id=EventId(uuid.uuid4()),
        event=min(OCCASIONS["job-failed"].intersection(kind.event_types)),
        called=frozenset({"job-failed"}),
        occurred_at=now,
        text="This is a test of `jobledger notify`: no job has failed.",
        stream_id=stream_id("made-up", "made-up-by-notify-test", now),
        cluster="made-up",
        kind=name,
        namespace="made-up",
        name="made-up-by-notify-test",
        uid="",
        labels={},
        attempt=1,
        cause=cause.name,
        failure_class=cause.group.value,
        advice=cause.advice,
    )
    return notice_of("notify-test", target, occasion)
