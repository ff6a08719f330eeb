"""Whether explain's answer to a case is right, by rule, and the score of all.

An answer is the first sentence of an account; of a job that has not failed, with the one that shows
the first sign. It is right if

* it is of the class that the case's cause belongs to, and says so in that class's words,
* it quotes what the case says has to be quoted, white space aside,
* and the sentence that quotes it cites an event in which that stands, where the case says it does.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.story.account import Account, Sentence
from jobledger.core.forensics.story.explain import explain
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.failures.rules import GENERAL, RULES
from tests.failure_corpus.cases import Failure
from tests.failure_corpus.stories import dossier_of

FIRST_SIGN = "The first sign was"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is right of the answer to a case."""

    case: Failure
    named: bool
    """Its cause is named."""
    quoted: bool
    """What decides is quoted."""
    cited: bool
    """And where it stands is cited."""
    found_class: str
    told: tuple[str, ...]
    """The answer."""

    @property
    def right(self) -> bool:
        """Return whether all three are."""
        return self.named and self.quoted and self.cited

    @property
    def lacks(self) -> str:
        """Return what is wrong with it, in words; empty if nothing is."""
        if not self.named:
            return f"class {self.found_class or 'none'}, not {self.case.failure_class}"
        if not self.quoted:
            return "does not quote it"
        return "" if self.cited else "cites another event"


def judged(case: Failure) -> Verdict:
    """Return how explain answers a case. Raise as `dossier_of` does."""
    dossier = dossier_of(case)
    account = explain(dossier)
    answer = tuple(_answer(account))
    quoting = [
        (quote, one)
        for one in answer
        for quote in map(_plain, (case.quote, *case.also))
        if quote.rstrip(".") in _plain(one.text)
    ]
    return Verdict(
        case=case,
        named=account.failure_class == case.failure_class and _says_so(account),
        quoted=bool(quoting),
        cited=any(_cites(one, quote, case, dossier) for quote, one in quoting),
        found_class=account.failure_class,
        told=tuple(sentence.text for sentence in answer),
    )


def _answer(account: Account) -> Iterator[Sentence]:
    yield account.sentences[0]
    if account.outcome != "failed":
        yield from (one for one in account.sentences[1:] if one.text.startswith(FIRST_SIGN))


def _says_so(account: Account) -> bool:
    """Return whether a job that failed is told to have, in the words of the class."""
    because = {rule.name: rule.because for rule in (*RULES, *GENERAL.values())}
    first = account.sentences[0].text
    return account.outcome != "failed" or because[account.failure_class] in first


def _cites(sentence: Sentence, quote: str, case: Failure, dossier: Dossier) -> bool:
    stands = PLACES[case.cites] if quote == _plain(case.quote) else _of_anything
    events = dossier.read()
    cited = [events[version - 1].event for version in sentence.versions]
    logs = [(dossier.evidence(digest) or b"").decode() for digest in sentence.evidence]
    if stands is _of_anything and any(quote in _plain(content) for content in logs):
        return True
    return any(quote in _plain(text) for event in cited for text in stands(event))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 # of an event, all the way down
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield json.dumps(dict(value))
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _texts(getattr(value, name))
    elif isinstance(value, Iterable):
        for item in value:
            yield from _texts(item)


def _of_cluster(event: Any) -> Iterator[str]:  # noqa: ANN401 # of any event
    if isinstance(event, shared.EvidenceCaptured):
        yield from _texts(event.pods)
        yield from _texts(event.kubernetes_events)
        for pod in event.pods:
            yield from (f"exit {end.exit_code}" for end in pod.containers)


def _of_losses(event: Any) -> Iterator[str]:  # noqa: ANN401 # of any event
    name = type(event).__name__
    if name.endswith(("Vanished", "Missed")):
        yield from (words for part, words in _LOST.items() if name.startswith(part))


_LOST = {
    "Cluster": "RayCluster",
    "HeadPod": "head Pod",
    "Entrypoint": "Ray job",
    "JobSet": "JobSet",
    "AttemptJob": "Job",
}


def _of_others(event: Any) -> Iterator[str]:  # noqa: ANN401 # of any event
    if not isinstance(event, shared.EvidenceCaptured):
        yield from _texts(event)


def _of_anything(event: Any) -> Iterator[str]:  # noqa: ANN401 # of any event
    yield from _texts(event)


def _of_missing(event: Any) -> Iterator[str]:  # noqa: ANN401 # of any event
    if isinstance(event, shared.EvidenceCaptured):
        yield from _texts(event.missing)


PLACES: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "log": _of_anything,  # Ray's message repeats the end of the driver's log
    "pod": _of_cluster,
    "kubernetes event": _of_cluster,
    "loss": _of_losses,
    "missing": _of_missing,
    "ray": _of_anything,
    "refusal": _of_others,
    "status": _of_others,
    "manifest": _of_others,
}
"""Where something may stand -> the texts of an event that stand there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How many answers are right."""

    right: int
    of: int

    @property
    def words(self) -> str:
        """Return it for people, with the per cent rounded down."""
        return f"{self.right} of {self.of} ({100 * self.right // self.of if self.of else 0} %)"


def score(verdicts: Iterable[Verdict], right: Callable[[Verdict], bool]) -> Score:
    """Return how many verdicts are right by some measure."""
    all_of_them = list(verdicts)
    return Score(right=sum(1 for one in all_of_them if right(one)), of=len(all_of_them))
