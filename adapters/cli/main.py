"""The command `jobledger`: which commands there are, and how errors of ours are told."""

import sys

import typer

from adapters.cli import (
    apply,
    db,
    decisions,
    evidence,
    explain,
    export,
    get,
    history,
    import_,
    rebuild,
    replay,
    run,
    sandbox,
    seal,
    serve,
    verify,
    what_if,
)
from adapters.cli.demo import demo
from adapters.cli.output import errors, exit_code
from core.errors import JobledgerError

app = typer.Typer(
    name="jobledger",
    help="Runs RayJobs, and remembers everything that happens to them in an append-only log.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("serve")(serve.serve)
app.command("sandbox")(sandbox.sandbox)
app.command("demo")(demo)
app.command("apply")(apply.apply)
app.command("submit", help="The same as apply, for one RayJob.")(apply.apply)
app.command("get")(get.get)
app.command("history")(history.history)
app.command("decisions")(decisions.decisions)
app.command("evidence")(evidence.evidence)
app.command("explain")(explain.explain)
app.command("replay")(replay.replay)
app.command("what-if")(what_if.what_if)
app.command("export")(export.export)
app.command("import")(import_.import_)
app.command("verify")(verify.verify)
app.command("rebuild")(rebuild.rebuild)
app.add_typer(seal.app, name="seal")
app.add_typer(db.app, name="db")


def main() -> None:
    """Run a command; an error of ours is one line and an exit code, never a traceback."""
    try:
        app()
    except JobledgerError as error:
        errors.print(f"jobledger: {error}", style="red", soft_wrap=True, highlight=False)
        sys.exit(int(exit_code(error)))


if __name__ == "__main__":
    main()
