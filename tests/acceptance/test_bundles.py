"""A job leaves the ledger as a file, and is read, checked and decided again without a database."""

import dataclasses
import gzip
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.adapters.postgres.archive.imports import Imports
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.forensics.bundles.bundle import Bundle, cut, lines, read
from jobledger.core.log.chain import GENESIS, link
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.processes import Terminal
from tests.support.recorded import append_lives
from tests.support.records import NOON

pytestmark = pytest.mark.postgres


@pytest.fixture
def filled(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal at a sealed ledger with three jobs, one of them open."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        lives = {
            "done": stories.succeeded,
            "failed": lambda: (*stories.working(), *stories.failing()),
            "goes-on": stories.working,
        }
        append_lives(ledger, lives.items())
    at_ledger = terminal.with_environment(DATABASE_URL=ledger_url)
    at_ledger.jobledger("seal", "key", "seal.pem")
    at_ledger.jobledger("seal", "add", "--key", "seal.pem")
    return at_ledger


def test_a_bundle_is_read_and_checked_without_a_database(
    filled: Terminal, terminal: Terminal
) -> None:
    filled.jobledger("export", "ml/failed", "--to", "failed.bundle")
    nowhere = terminal.with_environment(DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")
    checked = nowhere.jobledger("import", "failed.bundle", "--check", "--key", "seal.pem.pub").out
    assert "checked ml/failed of cluster kind" in checked
    assert "signed by" in checked
    replayed = nowhere.jobledger("replay", "failed.bundle").out
    assert "1 of 1 job is decided as it was" in replayed


def test_a_bundle_of_another_job_than_is_wanted_is_not_imported(filled: Terminal) -> None:
    filled.jobledger("export", "ml/failed", "--to", "failed.bundle")
    for wanted in ("done", "other/failed"):
        asked = ("import", "failed.bundle", "--check", "--job", wanted)
        told = filled.jobledger(*asked, code=ExitCode.NOT_FOUND)
        assert (told.out, told.err) == ("", f"jobledger: failed.bundle holds no job {wanted}\n")
    filled.jobledger("import", "failed.bundle", "--check", "--job", "ml/failed")


def test_a_bundle_can_be_piped_and_packed(filled: Terminal, tmp_path: Path) -> None:
    piped = filled.jobledger("export", "done").out
    filled.jobledger("export", "done", "--to", "done.bundle.gz")
    packed = gzip.decompress((tmp_path / "done.bundle.gz").read_bytes()).decode()
    assert events_of(packed) == events_of(piped)
    filled.jobledger("import", "--check", "done.bundle.gz")


def events_of(text: str) -> list[object]:
    parts = [json.loads(line) for line in text.splitlines()]
    return [part["event"] for part in parts if "event" in part]


def test_an_imported_job_is_found_by_its_name_in_another_ledger(
    filled: Terminal, terminal: Terminal, database_url: str
) -> None:
    filled.jobledger("export", "failed", "--to", "failed.bundle")
    elsewhere = terminal.with_environment(DATABASE_URL=database_url)
    elsewhere.jobledger("db", "upgrade")
    assert "imported" in elsewhere.jobledger("import", "failed.bundle").out
    assert "is there already" in elsewhere.jobledger("import", "failed.bundle").out
    assert "1 of 1 job" in elsewhere.jobledger("replay", "ml/failed").out
    again = elsewhere.jobledger("export", "failed").out
    first = filled.jobledger("export", "failed").out
    assert events_of(again) == events_of(first)
    elsewhere.jobledger("replay", "another", code=ExitCode.NOT_FOUND)


def test_imported_jobs_are_listed_and_told_as_copies(
    filled: Terminal, terminal: Terminal, database_url: str
) -> None:
    elsewhere = terminal.with_environment(DATABASE_URL=database_url)
    elsewhere.jobledger("db", "upgrade")
    for name in ("failed", "goes-on"):
        filled.jobledger("export", name, "--to", f"{name}.bundle")
        elsewhere.jobledger("import", f"{name}.bundle")
    listed = elsewhere.jobledger("get")
    assert "imported, and told as when exported: ml/goes-on, ml/failed" in listed.err
    assert "why it failed: jobledger explain ml/failed" in listed.err
    assert [line.split()[2] for line in listed.out.splitlines()[1:]] == ["goes-on", "failed"]
    narrowed = json.loads(elsewhere.jobledger("get", "--phase", "failed", "-o", "json").out)
    assert [(row["name"], row["imported"]) for row in narrowed] == [("failed", True)]
    assert json.loads(elsewhere.jobledger("get", "--open", "-o", "json").out) == []
    assert json.loads(elsewhere.jobledger("get", "-n", "other", "-o", "json").out) == []
    for words, names, more in (
        (("--limit", "1"), ["goes-on"], True),
        (("--limit", "1", "--phase", "failed"), ["failed"], False),
        (("--limit", "2"), ["goes-on", "failed"], False),
    ):
        cut = elsewhere.jobledger("get", *words)
        assert [line.split()[2] for line in cut.out.splitlines()[1:]] == names
        assert ("there are more than 1 like that" in cut.err) == more
    told = elsewhere.jobledger("explain", "goes-on").out
    assert "a copy, as it was exported; all of it: jobledger history ml/goes-on --all" in told
    followed = elsewhere.jobledger("history", "goes-on", "--follow")
    assert "AttemptStarted" in followed.out
    assert "nothing more comes here" in followed.err
    with tampering(database_url) as superuser:
        change = "UPDATE imported_job SET document = 'x' || document WHERE name = 'goes-on'"
        superuser.execute(change)
    listed = elsewhere.jobledger("get")
    assert "the imported job ml/goes-on cannot be listed" in listed.err
    assert [line.split()[2] for line in listed.out.splitlines()[1:]] == ["failed"]


def test_a_bundle_that_tells_a_job_otherwise_replaces_no_import_in_either_order(
    filled: Terminal, terminal: Terminal, database_url: str
) -> None:
    """Anybody can make a chain that is whole, and a longer one too; which came first says nothing.

    The one that is kept stays until the operator names it.
    """
    filled.jobledger("export", "failed", "--to", "genuine.bundle")
    genuine = read_file(filled.directory / "genuine.bundle")
    forged = dataclasses.replace(resealed(genuine), seal=None)
    short = dataclasses.replace(cut(genuine, len(genuine.events) - 2), seal=None)
    (filled.directory / "forged.bundle").write_text("".join(lines(forged)))
    (filled.directory / "short.bundle").write_text("".join(lines(short)))
    elsewhere = terminal.with_environment(DATABASE_URL=database_url)
    elsewhere.jobledger("db", "upgrade")
    for first, second in ((forged, "short"), (short, "forged")):
        mine = "forged" if first is forged else "short"
        named = () if first is forged else ("--in-place-of", forged.fingerprint[:16])
        assert "imported" in elsewhere.jobledger("import", f"{mine}.bundle", *named).out
        for given in ((), ("--in-place-of", first.fingerprint[:8]), ("--in-place-of", "f" * 16)):
            ended = elsewhere.jobledger(
                "import", f"{second}.bundle", *given, code=ExitCode.FOUND_WRONG
            )
            assert f"({first.fingerprint[:16]}, {len(first.events)} events)" in ended.err
            assert f"--in-place-of {first.fingerprint[:16]}" in ended.err
        kept = elsewhere.jobledger("export", "failed").out
        assert events_of(kept) == events_of("".join(lines(first)))
    elsewhere.jobledger("import", "genuine.bundle")  # continues the short one link by link
    kept = elsewhere.jobledger("export", "failed").out
    assert events_of(kept) == events_of("".join(lines(genuine)))


def test_two_imports_in_one_moment_never_replace_each_other(
    filled: Terminal, ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.jobledger("export", "failed", "--to", "failed.bundle")
    genuine = read_file(filled.directory / "failed.bundle")
    forged = resealed(genuine)
    with app_engine(ledger_url) as engine:
        imports = Imports(engine)
        with monkeypatch.context() as patched:
            patched.setattr(imports, "kept", lambda _: None)  # as it was a moment before
            assert imports.keep(cut(forged, len(forged.events) - 1), NOON)
            with pytest.raises(LedgerUnavailable, match="import this one again"):
                imports.keep(genuine, NOON)
        kept = imports.kept(genuine.stream)
        assert kept is not None
        assert kept.bundle().events == forged.events[:-1]


def resealed(bundle: Bundle) -> Bundle:
    """Return a bundle of the same length with other events and a chain that is whole."""
    before, events = GENESIS, []
    for stored in bundle.events:
        draft = replace(stored.record, actor="mallory")
        before = link(before, draft)
        events.append(replace(stored, record=replace(draft, chain=before)))
    return read(lines(dataclasses.replace(bundle, events=tuple(events))))


CHANGES = (
    "stream_id = gen_random_uuid()",
    "cluster = 'x'",
    "namespace = 'x'",
    "name = 'x', uid = 'failed'",
    "uid = 'x'",
    "events = events + 1",
    "document = replace(document, 'ValueError: 42', 'ValueError: 43')",
)


def test_a_changed_row_of_an_imported_job_is_found_when_it_is_read(
    filled: Terminal, terminal: Terminal, database_url: str
) -> None:
    filled.jobledger("export", "failed", "--to", "failed.bundle")
    elsewhere = terminal.with_environment(DATABASE_URL=database_url)
    elsewhere.jobledger("db", "upgrade")
    elsewhere.jobledger("import", "failed.bundle")
    with tampering(database_url) as superuser:
        superuser.execute("CREATE TABLE kept AS SELECT * FROM imported_job")
        for change in CHANGES:
            assert superuser.execute(f"UPDATE imported_job SET {change}".encode()).rowcount == 1
            ended = elsewhere.jobledger("history", "failed", code=ExitCode.FOUND_WRONG)
            assert "bundle" in ended.err, change
            superuser.execute("DELETE FROM imported_job")
            superuser.execute("INSERT INTO imported_job SELECT * FROM kept")
    elsewhere.jobledger("history", "failed")


def test_a_changed_bundle_is_told_in_one_line(filled: Terminal, tmp_path: Path) -> None:
    filled.jobledger("export", "failed", "--to", "failed.bundle")
    path = tmp_path / "failed.bundle"
    path.write_text(path.read_text().replace("ValueError: 42", "ValueError: 43"))
    for command in (("import", "--check"), ("replay",)):
        ended = filled.jobledger(*command, "failed.bundle", code=ExitCode.FOUND_WRONG)
        assert "of failed.bundle: the lines before are not" in ended.err
        assert "Traceback" not in ended.everything


def test_every_job_of_a_ledger_or_a_directory_is_decided_again(filled: Terminal) -> None:
    assert "3 of 3 jobs are decided as they were" in filled.jobledger("replay").out
    for name in ("done", "failed"):
        filled.jobledger("export", name, "--to", f"{name}.bundle")
    told = json.loads(filled.jobledger("replay", ".", "--output", "json").out)
    assert [(item["job"], item["reproduced"]) for item in told] == [
        ("done.bundle", True),
        ("failed.bundle", True),
    ]


def test_bundles_of_one_name_in_a_directory_are_two(filled: Terminal, tmp_path: Path) -> None:
    for day, name in (("friday", "done"), ("monday", "failed")):
        (tmp_path / day).mkdir()
        filled.jobledger("export", name, "--to", f"{day}/job.bundle")
    told = json.loads(filled.jobledger("replay", ".", "--output", "json").out)
    assert [item["job"] for item in told] == ["friday/job.bundle", "monday/job.bundle"]


def test_a_directory_without_bundles_is_told(filled: Terminal, tmp_path: Path) -> None:
    (tmp_path / "done").mkdir()
    ended = filled.jobledger("replay", "done", code=ExitCode.NOT_FOUND)
    assert "done is a directory, and holds no bundle" in ended.err
    assert "1 of 1 job" in filled.jobledger("replay", "ml/done").out


@pytest.mark.parametrize(
    ("name", "code"),
    [("nothing.bundle", ExitCode.MISCONFIGURED), ("empty.bundle", ExitCode.FOUND_WRONG)],
)
def test_a_file_that_is_no_bundle_is_told(
    terminal: Terminal, tmp_path: Path, name: str, code: ExitCode
) -> None:
    (tmp_path / "empty.bundle").write_text("")
    ended = terminal.jobledger("replay", name, code=code)
    assert ended.err.count("\n") == 1
