"""Tells which signs of trouble an attempt has got over before it failed: they are not why."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from jobledger.core.catalogue import JobEvent
from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.failures.signs import Sign
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.kinds import ROLES

_MAKING = frozenset(
    {
        EffectKind.CREATE_CLUSTER,
        EffectKind.FIND_CLUSTER,
        EffectKind.CREATE_ATTEMPT_JOB,
        EffectKind.APPLY_OBJECTS,
    }
)
"""What brings about the objects that an attempt runs on."""

_OTHERS = frozenset(EffectKind) - _MAKING


def still_standing(signs: Sequence[Sign], event: JobEvent) -> Sequence[Sign]:
    """Return the signs of an attempt that is under way that an event has not ended.

    A manifest that is valid again has been not valid, and what an attempt runs on was made in the
    end, whatever was refused before.
    """
    if not signs:
        return signs
    if isinstance(event, (*ROLES.manifest_accepted, *ROLES.built)):
        signs = tuple(sign for sign in signs if sign.source is not Source.MANIFEST)
    if isinstance(event, ROLES.attempt_ran):
        signs = tuple(sign for sign in signs if not _is_of_making(sign))
    return signs


def got_over(events: Sequence[ReadEvent], signs: Iterable[Sign], failed: int) -> frozenset[int]:
    """Return the versions of signs that had been got over when an attempt failed.

    Args:
        events: of the job, all of them.
        signs: what they show.
        failed: the version of the event that tells of the failure.
    """
    before = defaultdict[int, list[Sign]](list)
    for sign in signs:
        if sign.version <= failed and sign.source in (Source.MANIFEST, Source.REFUSAL):
            before[sign.version].append(sign)
    if not before:
        return frozenset()
    standing: Sequence[Sign] = ()
    for read in events[:failed]:
        standing = still_standing(standing, read.event)
        standing = (*standing, *before.get(read.version, ()))
    return frozenset(before) - {sign.version for sign in standing}


def _is_of_making(sign: Sign) -> bool:
    return sign.source is Source.REFUSAL and sign.effect not in _OTHERS
