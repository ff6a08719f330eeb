"""Has lives take place, several at once, and compares what was seen of them on both sides."""

import json
import traceback
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

from tests.operators.train_lives import comparing, known
from tests.operators.train_lives.cases import LIVES, UNHOOKED, Life
from tests.operators.train_lives.cases.drawn import drawn, is_hooked
from tests.operators.train_lives.pair import WITHOUT_WEBHOOKS, Side
from tests.operators.train_lives.world import World
from tests.support.api import ACTED_UPON, Api

AT_ONCE = 12
DRAWN = "drawn-"

Seen = dict[str, object]
"""What was seen of a life, as a document."""


def play(side: Side, names: Collection[str]) -> dict[str, Seen]:
    """Have all lives take place; return what was seen of each."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return dict(zip(names, threads.map(lambda name: _played(side, name), names), strict=True))


def _played(side: Side, name: str) -> Seen:
    labels = {WITHOUT_WEBHOOKS: "true"} if _is_unhooked(name) else {}
    document = {"metadata": {"name": name, "labels": labels}}
    reply = side.admin.request("POST", "/api/v1/namespaces", document)
    assert reply.code == 201, reply.message  # Created
    api = Api(side.admin.url, side.admin.pool, name, side.admin.headers)
    world = World(api, side.recorder, side.controller)
    try:
        _life(name)(world)
        found: Seen = json.loads(json.dumps(comparing.seen(world)))
    except Exception:  # noqa: BLE001  # it is shown beside what the other side has seen
        return {"broken off": traceback.format_exc()}
    finally:
        for resource in ACTED_UPON:
            api.request("DELETE", api.path(resource), {"propagationPolicy": "Background"})
    return found


def _life(name: str) -> Life:
    return drawn(int(name.removeprefix(DRAWN))) if name.startswith(DRAWN) else LIVES[name]


def _is_unhooked(name: str) -> bool:
    if name.startswith(DRAWN):
        return not is_hooked(int(name.removeprefix(DRAWN)))
    return name in UNHOOKED


def findings(
    theirs: Mapping[str, Seen], ours: Mapping[str, Seen]
) -> dict[str, list[comparing.Difference]]:
    """Return where lives differ otherwise than on purpose."""
    found: dict[str, list[comparing.Difference]] = {}
    for name in theirs:
        if problems := [seen for side in (theirs, ours) if "broken off" in (seen := side[name])]:
            found[name] = [("broken off", problems[0]["broken off"], "")]
            continue
        left = [
            one
            for one in comparing.differences(theirs[name], ours[name])
            if not known.why_known(name, one[0], one[2])
        ]
        if left:
            found[name] = left
    return found


def in_words(found: Mapping[str, list[comparing.Difference]]) -> str:
    """Return findings as a text: what Trainer did with -, what was done here with +."""
    lines = []
    for name, left in found.items():
        lines.append(f"== {name}")
        for path, theirs, ours in left:
            lines += [
                f"  {path}",
                f"    - {comparing.told(theirs)}",
                f"    + {comparing.told(ours)}",
            ]
    return "\n".join(lines)
