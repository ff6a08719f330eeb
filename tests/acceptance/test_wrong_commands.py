"""A wrong file, address, setting or word is told in one line, by its name, with an exit code."""

import shlex
from pathlib import Path

import pytest
import yaml

from jobledger.adapters.cli.exit_codes import ExitCode
from tests.acceptance.jobs import rayjob
from tests.support.processes import Finished, Terminal, jobledger_command


def named(version: str, kind: str) -> bytes:
    return f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}}}".encode()


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(rayjob("some", "true")))
    return str(file)


def assert_one_line(ended: Finished, said: str) -> None:
    assert ended.err.count("\n") == 1, ended
    assert said in ended.err
    assert "Traceback" not in ended.everything
    assert ended.out == ""


def kubeconfig(directory: Path, server: str) -> str:
    """Return a kubeconfig for an address."""
    cluster = {"name": "c", "cluster": {"server": server}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [cluster],
        "contexts": [context],
        "users": [{"name": "u", "user": {}}],
    }
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return str(file)


def test_an_api_server_that_nobody_reaches(
    terminal: Terminal, manifest: str, tmp_path: Path
) -> None:
    nowhere = kubeconfig(tmp_path, "http://127.0.0.1:9")
    ended = terminal.jobledger(
        "apply", "-f", manifest, "--kubeconfig", nowhere, code=ExitCode.UNAVAILABLE
    )
    assert_one_line(ended, "rayjobs default/some at http://127.0.0.1:9: no answer")


NONE = ("a: 2026-99-99", f"a: {'9' * 6_000}", "[" * 5_000)


@pytest.mark.parametrize("content", ["", "clusters: {", "just text", "apiVersion: v1\n", *NONE])
def test_a_kubeconfig_that_is_none(
    terminal: Terminal, manifest: str, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content)
    ended = terminal.jobledger(
        "apply", "-f", manifest, "--kubeconfig", str(file), code=ExitCode.MISCONFIGURED
    )
    assert_one_line(ended, "no way to an API server")
    if content in NONE:
        assert_one_line(ended, f"the kubeconfig {file} is no text, is nested too deeply, or has")


def test_a_kubeconfig_that_is_not_there(terminal: Terminal, manifest: str) -> None:
    ended = terminal.jobledger(
        "apply", "-f", manifest, "--kubeconfig", "/no/such/file", code=ExitCode.MISCONFIGURED
    )
    assert_one_line(ended, "no way to an API server")


CONFIGMAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}"
BOMB = "a0: &a0 [x], " + ", ".join(f"a{n + 1}: &a{n + 1} [{f'*a{n}, ' * 9}]" for n in range(9))
"""A third of a kilobyte that stands for nine to the power of nine values."""


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("absent.yaml", None, "cannot be read"),
        (".", None, "cannot be read: Is a directory"),
        ("/dev/zero", None, "cannot be read: it has more than 32 MiB"),
        ("binary.yaml", b"\xff\xfe\x00\x01", "cannot be read: it is no text"),
        ("deep.yaml", b"a: " + b"[" * 5_000, "nested too deeply"),
        ("itself.yaml", f"{CONFIGMAP}, data: &d {{a: *d}}}}".encode(), "aliases written out"),
        ("bomb.yaml", f"{CONFIGMAP}, {BOMB}}}".encode(), "aliases written out"),
        ("broken.yaml", b"kind: {RayJob", "is not YAML: "),
        ("date.yaml", b"a: 2026-99-99", "a date or a number that is none"),
        ("number.yaml", b"a: " + b"9" * 6_000, "a date or a number that is none"),
        ("text.yaml", b"only words", "without kind and metadata.name"),
        ("pod.yaml", b"{apiVersion: v1, kind: Pod, metadata: {name: x}}", "is not handled here"),
        ("older.yaml", named("ray.io/v1alpha1", "RayJob"), "only ray.io/v1 RayJob; correct"),
        ("lower.yaml", named("ray.io/v1", "rayjob"), "only ray.io/v1 RayJob; correct"),
    ],
)
def test_a_manifest_that_is_none(
    terminal: Terminal, tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    nowhere = kubeconfig(tmp_path, "http://127.0.0.1:9")
    ended = terminal.jobledger("apply", "-f", name, "--kubeconfig", nowhere, code=ExitCode.USAGE)
    assert_one_line(ended, said)


def test_nothing_is_applied_before_all_files_are_read(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(f"{CONFIGMAP}}}")
    words = ("apply", "-f", "good.yaml", "-f", "absent.yaml")
    nowhere = kubeconfig(tmp_path, "http://127.0.0.1:9")
    ended = terminal.jobledger(*words, "--kubeconfig", nowhere, code=ExitCode.USAGE)
    assert_one_line(ended, "absent.yaml cannot be read: No such file or directory")


def test_an_input_that_is_closed_holds_nothing(terminal: Terminal, tmp_path: Path) -> None:
    nowhere = kubeconfig(tmp_path, "http://127.0.0.1:9")
    words = [*jobledger_command(), "apply", "-f", "-", "--kubeconfig", nowhere]
    ended = terminal.run(["sh", "-c", f"{shlex.join(words)} <&-"], code=ExitCode.USAGE)
    assert_one_line(ended, "- holds no object")


@pytest.mark.parametrize("option", ["--namespace", "--control-namespace"])
def test_a_namespace_of_no_letters_is_not_every_namespace(terminal: Terminal, option: str) -> None:
    """As `-n "$NAMESPACE"` says where nobody has set it."""
    words = ("run", option, "", "--data-dir", str(terminal.directory))
    assert "it is empty; leave it out" in terminal.jobledger(*words, code=ExitCode.USAGE).err


def test_a_list_that_is_no_json_is_told_as_it_is_to_be_written(terminal: Terminal) -> None:
    told = terminal.with_environment(JOBLEDGER_JOB_KINDS="RayJob,Job").jobledger(
        "get", code=ExitCode.MISCONFIGURED
    )
    assert_one_line(
        told, """setting job_kinds: a list is written as JSON, JOBLEDGER_JOB_KINDS='["one"""
    )


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("JOBLEDGER_WORKERS", "many"),
        ("JOBLEDGER_LOG_FORMAT", "poetry"),
        ("JOBLEDGER_NAMESPACES", "not json"),
        ("JOBLEDGER_NAMESPACES", '[""]'),
    ],
)
def test_a_setting_that_makes_no_sense(terminal: Terminal, setting: str, value: str) -> None:
    ended = terminal.with_environment(**{setting: value}).jobledger(
        "get", code=ExitCode.MISCONFIGURED
    )
    assert_one_line(ended, setting.removeprefix("JOBLEDGER_").lower())


def test_a_word_that_is_no_command(terminal: Terminal) -> None:
    ended = terminal.jobledger("frobnicate", code=ExitCode.USAGE)
    assert "frobnicate" in ended.err
    assert "Traceback" not in ended.err
