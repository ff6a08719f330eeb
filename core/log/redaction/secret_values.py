"""Collects the secret values of an object, so that they can be redacted wherever they reappear."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from jobledger.core.log.redaction.detection.credential_look import drawn_parts, worth_searching
from jobledger.core.log.redaction.detection.secret_names import Promise, promise_of
from jobledger.core.log.redaction.detection.secret_shapes import may_hold_secret, secret_spans
from jobledger.core.log.redaction.secret_places import visited
from jobledger.core.log.redaction.templates import LEVELS_ABOVE, TEMPLATES_KEPT, found_in
from jobledger.core.log.storable import storable_number
from jobledger.core.values.documents import LIST_TYPES, OBJECT_TYPES, Json, Manifest, child, text

_YAML_VALUE = re.compile(r"^[ \t-]*[\"']?([\w./-]{1,200})[\"']?[ \t]*:[ \t]+(\S.*)$", re.MULTILINE)
"""A line `name: value`; good enough for a text that no parser could read."""

_PERCENT_BYTE = re.compile(rb"%([0-9A-Fa-f]{2})")
SECRETS_MAX = 1_000
"""So many secrets of one object are searched for elsewhere; of one with more nothing is kept."""

KNOWN_MAX = 4 * SECRETS_MAX
"""So many secrets of one job and all that belongs to it are searched for at once."""

VALUES_MAX = 20_000
"""So many strings of one object are looked at, keys included; of one with more nothing is kept."""

CHARACTERS_MAX = 512 * 1024
"""So many characters of one object are looked at; of one with more nothing is kept."""

SECRET_CHARACTERS_MAX = 64 * 1024
"""So many characters the secrets of one object have that are searched for: each has many forms."""

REASONS = frozenset(
    (
        *("BackoffLimitExceeded", "CompletionsReached", "DeadlineExceeded", "FailedIndexes"),
        *("MaxFailedIndexesExceeded", "PodFailurePolicy", "SuccessPolicy"),
        *("AllJobsCompleted", "FailedJobs", "FailJobSetFailurePolicyAction", "ReachedMaxRestarts"),
        *("AppFailed", "SubmissionFailed", "ValidationFailed", "JobStatusCheckTimeoutExceeded"),
        *("JobDeploymentStatusTransitionGracePeriodExceeded", "PreRunningDeadlineExceeded"),
        *("Completed", "ContainerCannotRun", "CrashLoopBackOff", "Error", "OOMKilled"),
        *("ErrImagePull", "ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"),
        *("CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
        *("Evicted", "NodeLost", "NodeShutdown", "Preempted", "Preempting", "Terminated"),
        *("DeletionByTaintManager", "PreemptionByScheduler", "TerminationByKubelet"),
        *("SchedulingGated", "Unschedulable", "UnexpectedAdmissionError"),
    )
)
"""Words that controllers themselves have for why something ended or waits: nobody's secret, and
what follows from a failure goes by them. Source: Kubernetes 1.36 (batch/v1, core/v1, kubelet),
JobSet 0.12, KubeRay's JobFailedReason.
"""

UNCOUNTED = "\x00 more than are searched for"
"""Stands among secrets for all that are not searched for, as there are too many.

A redactor that knows of it hides every text: any of them might be in it.
"""

_TOO_MANY = frozenset({UNCOUNTED})

_IDENTITY = ("name", "namespace", "uid", "generateName")


def secrets_in(manifest: Manifest, runtime_env: Json) -> frozenset[str]:
    """Return the secret values that an object holds and that may be searched for elsewhere.

    What stands under names that promise a secret, what has a secret's shape, and literal
    environment values that look like a credential whatever their name
    (`core.log.redaction.detection.credential_look`). Not names of Secrets and ConfigMaps, and no
    other values: those of ordinary names are words that messages need. Nor, unless a name promises
    a secret, what the object itself is called: its name, namespace, UID, kind and images.

    Of an object with more than the limits above allow only `UNCOUNTED`: the look at it ends there,
    so that an edit of it costs no more than one of a smaller object.

    Args:
        manifest: A RayJob, TrainJob, RayCluster, JobSet, batch Job, Pod or Secret.
        runtime_env: `spec.runtimeEnvYAML`, parsed; anything but an object where it cannot be read.
    """
    found = _Finder(has_runtime_env=isinstance(runtime_env, Mapping))
    try:
        visited(manifest, found)
        visited({"runtimeEnv": runtime_env}, found)
        found.look_for_shapes()
    except _TooMany:
        return _TOO_MANY
    unsure = found.unsure - found.sure
    return _searchable(found.sure, unsure - _called(manifest) if unsure else unsure)


def joined(known: frozenset[str], more: frozenset[str]) -> frozenset[str]:
    """Return what two objects hold; only `UNCOUNTED` if that is more than there is room for.

    A job that is edited again and again must not make its redactor grow without end.
    """
    if more <= known:
        return known
    both = known | more
    return _TOO_MANY if UNCOUNTED in both or len(both) > KNOWN_MAX else both


def _searchable(sure: set[str], unsure: set[str]) -> frozenset[str]:
    """Return the secrets to search for: what a search costs grows with their number."""
    found = frozenset(sure | unsure)
    is_too_much = len(found) > SECRETS_MAX or sum(map(len, found)) > SECRET_CHARACTERS_MAX
    return _TOO_MANY if is_too_much else found


class _TooMany(Exception):  # ends a walk, and is no error
    """An object has more secrets, or more values, than are looked at."""


class _Finder:
    """Collects the secrets of the documents it visits."""

    __slots__ = (
        "_has_runtime_env",
        "characters_left",
        "left",
        "sure",
        "telling",
        "texts",
        "unsure",
    )

    def __init__(self, *, has_runtime_env: bool) -> None:
        self._has_runtime_env = has_runtime_env
        self.left = VALUES_MAX
        self.characters_left = CHARACTERS_MAX
        self.texts: dict[str, None] = {}
        self.telling: dict[str, None] = {}
        """Those of the texts that may show a secret by themselves."""
        self.sure: set[str] = set()
        self.unsure: set[str] = set()

    def secret(self, value: str | float, promise: Promise) -> Json:
        """Collect a secret, and those within it."""
        literal = value if isinstance(value, str) else str(storable_number(value))
        self._keep(literal, promise)
        self.text(literal)
        if literal[:1] in ("{", "["):
            visited(literal, self, depth=1)
        return value

    def text(self, value: str) -> str:
        """Remember a string, to look for shapes in all of them at once."""
        self.left -= 1
        self.characters_left -= len(value)
        if self.left < 0 or self.characters_left < 0:
            raise _TooMany
        if value not in self.texts:
            self.texts[value] = None
            if may_hold_secret(value):
                self.telling[value] = None
        return value

    def look_for_shapes(self) -> None:
        """Collect what has the shape of a secret in the strings seen."""
        joined = "\n".join(self.telling)
        for span in secret_spans(joined):
            shown = joined[span.start : span.end]
            for value in (shown, _percent_decoded(shown), _json_decoded(shown)):
                self._keep(value, Promise.SECRET if span.sure else Promise.NOTHING)

    def number(self, value: float) -> Json:
        """Collect nothing: a number is secret by its place only."""
        return value

    def runtime_env(self, yaml: str) -> Json:
        """Collect by shape, and line by line where no parser could read the text."""
        self.text(yaml)
        if not self._has_runtime_env:
            for name, value in _YAML_VALUE.findall(yaml):
                self._keep(value.strip().strip("\"'"), promise_of(name))
        return yaml

    def template(self, template: Manifest, depth: int) -> Json:
        """Collect what is in a template, which was found when it was met before."""
        found = found_in(template, depth, _found_in_template)
        if found is None:
            return visited(template, self, depth)
        self.left -= VALUES_MAX - found.left
        self.characters_left -= CHARACTERS_MAX - found.characters_left
        self.texts.update(found.texts)
        self.telling.update(found.telling)
        self.sure |= found.sure
        self.unsure |= found.unsure
        if self.left < 0 or self.characters_left < 0 or len(self.sure) > SECRETS_MAX:
            raise _TooMany
        return template

    def _keep(self, value: str, promise: Promise) -> None:
        trimmed = value.strip()
        if worth_searching(trimmed, promise):
            (self.sure if promise is Promise.SECRET else self.unsure).add(trimmed)
            if len(self.sure) > SECRETS_MAX:
                raise _TooMany
        elif promise is not Promise.SECRET:
            self.unsure.update(drawn_parts(trimmed, promise))


@lru_cache(maxsize=TEMPLATES_KEPT)
def _found_in_template(content: bytes) -> _Finder:
    """Return what is in a template. Raises `_TooMany` as every walk does."""
    found = _Finder(has_runtime_env=False)
    visited(msgspec.json.decode(content), found, LEVELS_ABOVE)
    return found


def _percent_decoded(shown: str) -> str:
    """Return the text behind percent-encoding, unreadable bytes replaced."""
    if "%" not in shown:
        return shown
    encoded = _PERCENT_BYTE.sub(
        lambda found: bytes.fromhex(found[1].decode()), shown.encode(errors="replace")
    )
    return encoded.decode(errors="replace")


def _json_decoded(shown: str) -> str:
    """Return the text behind the escapes of a JSON string, or `shown` where it has none."""
    if "\\" not in shown:
        return shown
    try:
        return str(json.loads(f'"{shown}"'))
    except ValueError:
        return shown


def _called(manifest: Manifest) -> set[str]:
    """Return what the object is called in public; searching for it would shred the log."""
    metadata = child(manifest, "metadata")
    names = {text(metadata, key) for key in _IDENTITY} | {text(manifest, "kind")}
    return names | {text(manifest, "apiVersion")} | set(_images(manifest))


def _images(manifest: Manifest) -> list[str]:
    """Return the images named anywhere in an object."""
    images: list[str] = []
    waiting: list[Json] = [manifest]
    while waiting:
        node = waiting.pop()
        if isinstance(node, OBJECT_TYPES):
            images.append(text(node, "image"))
            waiting += node.values()
        elif not isinstance(node, str) and isinstance(node, LIST_TYPES):
            waiting += node
    return images
