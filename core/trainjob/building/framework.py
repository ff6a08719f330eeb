"""The plugin framework: calls plugins at extension points in a fixed order.

The order of the extension points is that of Trainer's runtime framework:

1. `start`: the runtime's template, patched, and one Pod set for each replicatedJob.
2. `validate`: what is wrong with the job on this runtime.
3. `enforce_ml_policy`: numbers of nodes, environments, ports and volumes of the kind of training.
4. `enforce_pod_group_policy`: labels and annotations of a gang scheduler.
5. `enforce_pod_spec`: changes of Pods outside of policies.
6. `sync_before_build`: the template follows what the plugins have decided.
7. `build`: objects, in the order in which they are applied.

At each point plugins are asked in the order of `in_order`: plainml, torch, mpi, jax, xgboost, flux,
those of others by name, coscheduling, and jobset last, because Pods wait for what the JobSet refers
to. Upstream's order is random per process. Beside the road stand `conditions` (what an object of
the job says that users are to see; `conditions_from` has the kinds, `condition_types` what may be
written) and `watched` (which kinds of objects, if one goes, are to be made again).

A plugin is pure: no clock, no dice, no I/O. Secret keys are made by whoever applies the object.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

from jobledger.core.errors import JobledgerError
from jobledger.core.ports.cluster import Resource
from jobledger.core.trainjob.building.pod_sets import PodSet
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.instants import Instant

CAUSE_MAX = 2000


class BuildFailed(JobledgerError):
    """The objects cannot be built. Which plugin, and what it says."""

    def __init__(self, plugin: str, cause: str) -> None:
        self.plugin, self.cause = plugin, cause
        super().__init__(f"plugin {plugin}: {cause}" if plugin else cause)


class ApplyRule(StrEnum):
    """When a built object is applied."""

    ALWAYS = "always"
    """Whenever the objects of an unfinished job are applied."""
    ONCE = "once"
    """Only if it is not there."""
    IDLE = "idle"
    """Only if it is not there, the TrainJob is suspended, or it is being resumed."""
    JOBSET = "jobset"
    """Only if it is not there, the TrainJob is suspended, or it is suspended itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltObject:
    """An object of a TrainJob; namespace and owner are set for it."""

    resource: Resource
    manifest: Manifest
    rule: ApplyRule = ApplyRule.ALWAYS
    keys: str = ""
    """`ssh`: the act puts a new pair of keys into its data; `curve`: the pair that the job's UID
    gives; `authority`: by whom the certificate of the trainer-status server is signed."""

    @property
    def name(self) -> str:
        """Return `Kind/name`."""
        return f"{self.resource.kind}/{text(self.manifest, 'metadata', 'name')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """What plugins look at and change: each returns a changed copy."""

    job: Manifest
    """The TrainJob."""
    runtime: Manifest
    """The TrainingRuntime or ClusterTrainingRuntime, snapshotted."""
    template: Manifest
    """The JobSet's specification, patched."""
    pod_sets: tuple[PodSet, ...]
    """In the order of the replicatedJobs."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the JobSet."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    """Of every Pod: a gang scheduler's."""
    pod_annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the TrainJob's name."""
        return text(self.job, "metadata", "name")

    @property
    def trainer(self) -> Manifest | None:
        """Return spec.trainer, or None where there is none."""
        found = child(self.job, "spec").get("trainer")
        return found if isinstance(found, Mapping) else None

    def policy(self, name: str) -> Manifest | None:
        """Return one source of the runtime's mlPolicy, or None where it is not configured."""
        found = child(self.runtime, "spec", "mlPolicy").get(name)
        return found if isinstance(found, Mapping) else None

    def pod_group_policy(self, name: str) -> Manifest | None:
        """Return one source of the runtime's podGroupPolicy, or None."""
        found = child(self.runtime, "spec", "podGroupPolicy").get(name)
        return found if isinstance(found, Mapping) else None

    def by_ancestor(self, ancestor: str) -> PodSet | None:
        """Return the first Pod set of a step."""
        return next((item for item in self.pod_sets if item.ancestor == ancestor), None)

    def by_name(self, name: str) -> PodSet | None:
        """Return the Pod set of a replicatedJob."""
        return next((item for item in self.pod_sets if item.name == name), None)

    def with_pod_set(self, changed: PodSet) -> "Info":
        """Return a copy with a Pod set in place of that of its name."""
        sets = tuple(changed if item.name == changed.name else item for item in self.pod_sets)
        return replace(self, pod_sets=sets)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginCondition:
    """A condition of the TrainJob, as a plugin gives it."""

    type: str
    """One of the plugin's `condition_types`."""
    status: str
    """`True`, `False` or `Unknown`."""
    reason: str
    """One word for why: letters, digits, `_`, and inside of it `,` and `:`."""
    message: str = ""
    """For people; 1,000 characters are kept. What changes all the time does not belong here."""
    since: Instant | None = None
    """When the status last changed, if the object tells; None: when it was seen."""


class Plugin:
    """A part of the building. Each method is an extension point; the default does nothing."""

    name: str = ""
    ml_policies: tuple[str, ...] = ()
    """Sources of a runtime's mlPolicy that this plugin carries out."""
    pod_group_policies: tuple[str, ...] = ()
    """Sources of a runtime's podGroupPolicy that this plugin carries out."""
    watched: tuple[Resource, ...] = ()
    """Kinds of objects that this plugin builds and that are watched."""
    conditions_from: tuple[Resource, ...] = ()
    """Kinds of objects of which `conditions` is asked, if a TrainJob is the controller of one."""
    condition_types: tuple[str, ...] = ()
    """Types of conditions that `conditions` may give; no other plugin may have one of them."""

    def validate(self, info: Info) -> Iterable[str]:
        """Yield what is wrong with the job on this runtime."""
        del info
        return ()

    def enforce_ml_policy(self, info: Info) -> Info:
        """Return the info with the policy of a kind of training carried out."""
        return info

    def enforce_pod_group_policy(self, info: Info) -> Info:
        """Return the info with the policy of a gang scheduler carried out."""
        return info

    def enforce_pod_spec(self, info: Info) -> Info:
        """Return the info with other changes of Pods."""
        return info

    def sync_before_build(self, info: Info) -> Info:
        """Return the info with the template brought up to date."""
        return info

    def build(self, info: Info) -> Sequence[BuiltObject]:
        """Return the objects of this plugin."""
        del info
        return ()

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:
        """Return what users are to see, as conditions of the TrainJob, of an object that it owns.

        Both are redacted. A condition that is not given again stays as it was.
        """
        del job, observed
        return ()


POINTS = ("enforce_ml_policy", "enforce_pod_group_policy", "enforce_pod_spec", "sync_before_build")
"""The extension points that change the info, in their order."""


def run(plugins: Sequence[Plugin], info: Info) -> tuple[BuiltObject, ...]:
    """Return the objects of a job, in the order in which they are applied.

    Raises:
        BuildFailed: a plugin finds something wrong, or fails in whatever way.
    """
    if uncarried := _uncarried(plugins, info):
        raise BuildFailed("", uncarried)
    for plugin in plugins:
        with _answering(plugin):
            problems = [str(problem) for problem in plugin.validate(info)]
        if problems:
            raise BuildFailed(plugin.name, "; ".join(problems)[:CAUSE_MAX])
    for point in POINTS:
        for plugin in plugins:
            with _answering(plugin):
                info = _checked(getattr(plugin, point)(info))
    built: list[BuiltObject] = []
    for plugin in plugins:
        with _answering(plugin):
            built += plugin.build(info)
    return tuple(built)


def _uncarried(plugins: Sequence[Plugin], info: Info) -> str:
    """Return which policies of the runtime no plugin carries out; empty if there are none.

    Without them other Pods would run than the runtime promises: unconnected, or not as a gang.
    """
    known = {
        "mlPolicy": {"numNodes"} | {one for plugin in plugins for one in plugin.ml_policies},
        "podGroupPolicy": {one for plugin in plugins for one in plugin.pod_group_policies},
    }
    found = [
        f"{policy}.{source}"
        for policy, carried in known.items()
        for source, value in child(info.runtime, "spec", policy).items()
        if value is not None and source not in carried
    ]
    if not found:
        return ""
    name = text(info.runtime, "metadata", "name") or text(info.job, "spec", "runtimeRef", "name")
    return (
        f"no plugin carries out {', '.join(sorted(found))} of the runtime {name}; take a runtime "
        "without, or install a plugin that does"
    )


def in_order(
    first: Sequence[Plugin], others: Iterable[Plugin], last: Sequence[Plugin]
) -> tuple[Plugin, ...]:
    """Return all plugins in the order in which they are asked; those of others by their name."""
    return (*first, *sorted(others, key=lambda plugin: plugin.name), *last)


@contextmanager
def _answering(plugin: Plugin) -> Iterator[None]:
    """Turn whatever a plugin raises into a failed build that names it."""
    try:
        yield
    except BuildFailed as error:
        raise BuildFailed(error.plugin or plugin.name, error.cause[:CAUSE_MAX]) from error
    except Exception as error:
        raise BuildFailed(plugin.name, f"{type(error).__name__}: {error}"[:CAUSE_MAX]) from error


def _checked(info: object) -> Info:
    if not isinstance(info, Info):
        raise TypeError(f"an extension point returned {type(info).__name__} in place of the info")
    return info
