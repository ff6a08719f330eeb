"""Prints the table of the corpus and the score: `python -m tests.failure_corpus`.

Names of files or words of titles as arguments print those alone, with explain's answers.
"""

import sys
from collections.abc import Sequence

from tests.failure_corpus.cases import failures
from tests.failure_corpus.judging import Verdict, judged, score

MEASURES = {
    "names the cause": lambda one: one.named,
    "quotes what decides": lambda one: one.quoted,
    "cites where it stands": lambda one: one.cited,
    "all three": lambda one: one.right,
}


def main(words: Sequence[str]) -> int:
    """Print, and return 1 if an answer is wrong that is not listed as missed, or the reverse."""
    chosen = [
        judged(case)
        for case in failures()
        if not words or any(word in (case.theme, case.kind) or word in case.title for word in words)
    ]
    for verdict in chosen:
        case = verdict.case
        mark = "ok  " if verdict.right else "MISS"
        lines = [
            f"{mark} {case.theme:<18} {case.kind:<8} {case.title}: {verdict.lacks}".rstrip(": ")
        ]
        if words or (not verdict.right and not case.missed):
            lines += [f"       {text}" for text in verdict.told]
            lines.append(f"       asked: [{case.failure_class}] {case.quote}")
        _say(*lines)
    _say("", *table(chosen))
    return int(any(one.right == bool(one.case.missed) for one in chosen))


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the score as the rows of a table in Markdown."""
    groups = {
        "all": list(verdicts),
        "blind": [one for one in verdicts if one.case.blind],
        "second": [one for one in verdicts if one.case.second],
        "third": [one for one in verdicts if one.case.third],
        **{
            f"{kind}s": [one for one in verdicts if one.case.kind == kind]
            for kind in ("RayJob", "TrainJob", "Job")
        },
    }
    head = f"| cases | {' | '.join(MEASURES)} |"
    rows = [
        f"| {name} | {' | '.join(score(some, right).words for right in MEASURES.values())} |"
        for name, some in groups.items()
    ]
    return [head, "|---" * (len(MEASURES) + 1) + "|", *rows]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
