"""docs/compatibility.md lists what upstream's operators were seen to do: every story, no other."""

from tests.operators.build import OPERATORS
from tests.operators.results import PAGE, Seen, all_stories, listed, page


def test_the_page_lists_every_story_and_no_other() -> None:
    """A new story, or a renamed one, needs a run: `make test-operators`."""
    assert listed(PAGE.read_text(encoding="utf-8")) == all_stories()


def test_the_page_names_the_releases_that_are_built() -> None:
    """A new release needs a run."""
    text = PAGE.read_text(encoding="utf-8")
    for operator in OPERATORS:
        assert f"`{operator.source}` {operator.release}" in text


def test_the_page_says_what_was_seen() -> None:
    """A story that ran in several ways has a row for each, with its own verdict."""
    name = "test_one_job_is_handed_over_in_mid_retry_and_given_back"
    seen = [
        Seen("test_kuberay.py", f"{name}[HTTPMode]", "passed"),
        Seen("test_kuberay.py", f"{name}[SidecarMode]", "failed"),
    ]
    text = page(seen, {"example.org/operator": "v1"})
    assert "Programs: `example.org/operator` v1." in text
    assert f"| KubeRay's operator | `{name}`, HTTPMode | passed | Handed over" in text
    assert f"| KubeRay's operator | `{name}`, SidecarMode | failed | Handed over" in text
    assert listed(text) == {name}


def test_rows_of_stories_that_did_not_run_stay() -> None:
    """Unless the page is of other programs: then nothing was seen of them."""
    programs, others = {"example.org/operator": "v1"}, {"example.org/operator": "v2"}
    first, second = "test_trainjobs_are_recorded_in_full", "test_retries_are_recorded_in_full"
    before = page([Seen("test_trainer.py", first, "passed")], programs)
    now = [Seen("test_kuberay.py", second, "failed")]
    assert listed(page(now, programs, before)) == {first, second}
    assert listed(page(now, others, before)) == {second}
    again = page([Seen("test_trainer.py", first, "failed")], programs, before)
    assert "| passed |" not in again
