"""What a machine lacks for a node is said in a sentence each, with what to do."""

from collections.abc import Mapping
from pathlib import Path

from tests.node.layout import SOCKET_CHARACTERS, Layout, problems
from tests.node.missing import PROGRAMS, Machine, missing, os_release

BOOKWORM = {"ID": "debian", "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)"}


def machine(
    *absent: str, system: str = "linux", user: int = 0, release: Mapping[str, str] = BOOKWORM
) -> Machine:
    """Return a machine that has all programs but some."""
    return Machine(system, user, release, lambda name: name not in absent)


def test_a_machine_that_has_everything_lacks_nothing() -> None:
    """Root on Debian with all packages and Go."""
    assert missing(machine()) == []


def test_packages_are_named_as_apt_takes_them() -> None:
    """Each once, though several programs are of one; in one command."""
    assert missing(machine("containerd", "ctr", "runc", "/usr/lib/cni/bridge")) == [
        "Packages are missing: run `apt-get install containerd containernetworking-plugins runc`."
    ]
    (said,) = missing(machine(*PROGRAMS))
    assert all(f" {package}" in said for package in PROGRAMS.values())


def test_all_that_is_missing_is_said_at_once() -> None:
    """Whoever mends one thing is not told of the next afterwards."""
    said = missing(machine("go", "runc", user=1000, release={"ID": "arch", "PRETTY_NAME": "Arch"}))
    assert [line.partition(":")[0].partition(";")[0] for line in said] == [
        "A node needs root",
        "A node is made of the packages of Debian 12",
        "Packages are missing",
        "There is no go on the path, which builds kubelet and the rest",
    ]
    assert "this is Arch" in said[1]


def test_another_system_is_told_of_a_cluster() -> None:
    """There nothing else would help."""
    assert missing(machine("ctr", system="darwin", user=501)) == [
        "A node needs Linux; this is darwin. Name a cluster by KUBECONFIG."
    ]


def test_a_system_that_says_nothing_of_itself_is_no_debian(tmp_path: Path) -> None:
    """Nor does it end in a traceback."""
    said = missing(machine(release=os_release(tmp_path / "os-release")))
    assert said == ["A node is made of the packages of Debian 12; this is something else."]


def test_what_a_system_says_of_itself_is_read_without_its_quotes(tmp_path: Path) -> None:
    """As os-release(5) has it."""
    file = tmp_path / "os-release"
    file.write_text('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n\n# a comment\n')
    assert os_release(file) == BOOKWORM


def test_a_folder_too_deep_for_a_socket_is_refused() -> None:
    """Before containerd says so in its own words."""
    fits = Layout(Path("/cache"))
    assert problems(fits) == []
    deep = Layout(Path("/") / ("x" * SOCKET_CHARACTERS))
    (said,) = problems(deep)
    assert "set XDG_CACHE_HOME" in said
