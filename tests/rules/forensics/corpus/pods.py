"""Failures that Kubernetes explains: taken away, refused, or never started."""

from collections.abc import Callable, Iterable

from jobledger.core.jobs.evidence.untouched import missing_pods_of
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from tests.rules.forensics.corpus.cases import (
    NOTHING,
    Capture,
    Case,
    ended,
    pod,
    stuck,
    taken,
    waiting,
    warning,
)
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import due, refused
from tests.support.rows import Step


def refused_for(trouble: str) -> Callable[[], Iterable[Step]]:
    """Return a job whose RayCluster the API server refuses until the deadline."""

    def story() -> Iterable[Step]:
        return (
            *stories.seen(pre_running_deadline_seconds=8),
            refused(EffectKind.CREATE_CLUSTER, 1, trouble),
            due(DecisionKind.PRE_RUNNING_DEADLINE),
        )

    return story


def refusal(name: str, expected: str, trouble: str) -> Case:
    return Case(name=name, expected=expected, story=refused_for(trouble), capture=NOTHING)


PODS: tuple[Case, ...] = (
    taken(
        "a worker over its memory limit",
        "out-of-memory",
        Capture(pods=(ended("train-worker-1", 137, "OOMKilled"),)),
        says="used more memory than its limit",
    ),
    taken(
        "a head over its memory limit",
        "out-of-memory",
        Capture(log="epoch 1\n", pods=(ended("train-head", 137, "OOMKilled", role="head"),)),
    ),
    taken(
        "evicted for its disk",
        "evicted",
        Capture(
            pods=(
                pod(
                    "train-worker-2",
                    reason="Evicted",
                    message="The node was low on resource: ephemeral-storage.",
                ),
            )
        ),
    ),
    taken(
        "preempted by a job of higher priority",
        "preempted",
        Capture(
            pods=(
                pod(
                    "train-worker-3",
                    reason="PreemptionByScheduler",
                    message="default-scheduler: preempting to accommodate a higher priority pod",
                ),
            )
        ),
    ),
    taken(
        "preempted by Kueue",
        "preempted",
        Capture(kubernetes_events=(warning("Preempted", "Preempted to accommodate a workload"),)),
    ),
    taken(
        "preempted by Volcano",
        "preempted",
        Capture(
            kubernetes_events=(warning("Evict", "Pod is evicted, because of preempt"),),
        ),
    ),
    taken(
        "a cache that evicted, in a container's own last words",
        "application",
        Capture(
            pods=(ended("train-worker-6", 1, message="cache: evicted 3 blocks\nKeyError: 'loss'"),)
        ),
    ),
    taken(
        "a node that went away",
        "node-lost",
        Capture(
            pods=(pod("train-worker-4", reason="NodeLost", message="Node gpu-7 is not ready"),),
        ),
    ),
    taken(
        "a Pod that its node would not have any more",
        "disrupted",
        Capture(pods=(pod("train-worker-5", reason="NodeAffinity"),)),
    ),
    taken(
        "a node that was drained",
        "node-lost",
        Capture(
            pods=(
                pod(
                    "train-head",
                    role="head",
                    reason="DeletionByTaintManager",
                    message="Taint manager: deleting due to NoExecute taint",
                ),
            )
        ),
    ),
    taken(
        "a node that was shut down",
        "node-lost",
        Capture(
            pods=(
                pod("train-worker-5", reason="Terminated", message="terminated by shutdown"),
                pod("train-worker-6", reason="NodeShutdown", message="Node is shutting down"),
            )
        ),
    ),
    taken(
        "a node without the GPUs that were counted on",
        "node-refused",
        Capture(pods=(pod("train-worker-7", reason="OutOfpods", message="Pod was rejected"),)),
    ),
    taken(
        "a queue that waits no longer",
        "queue-evicted",
        Capture(
            kubernetes_events=(
                warning("EvictedDueToPodsReadyTimeout", "Exceeded the PodsReady timeout"),
            )
        ),
    ),
    stuck(
        "a head that ends again and again",
        "crash-loop",
        Capture(pods=(waiting("train-head", "CrashLoopBackOff", "back-off 40s restarting"),)),
    ),
    stuck(
        "an image that is not there",
        "image-pull",
        Capture(
            pods=(
                waiting(
                    "train-head",
                    "ImagePullBackOff",
                    'Back-off pulling image "registry.example/train:lates": manifest unknown',
                ),
            )
        ),
        says="an image could not be pulled",
    ),
    stuck(
        "an image without a pull secret",
        "image-pull",
        Capture(
            kubernetes_events=(
                warning("Failed", "Failed to pull image: pull access denied, insufficient_scope"),
            )
        ),
    ),
    stuck(
        "a secret that is not there",
        "container-config",
        Capture(
            pods=(waiting("train-head", "CreateContainerConfigError", 'secret "wandb" not found'),)
        ),
    ),
    stuck(
        "a volume that cannot be mounted",
        "container-config",
        Capture(
            kubernetes_events=(warning("FailedMount", "MountVolume.SetUp failed for volume nfs"),)
        ),
    ),
    stuck(
        "a head whose probe fails",
        "not-ready",
        Capture(
            kubernetes_events=(
                warning("Unhealthy", "Readiness probe failed: wget: command not found"),
            )
        ),
    ),
    stuck(
        "a RayCluster that no operator takes up",
        "not-taken-up",
        Capture(missing=(missing_pods_of("RayCluster", "train-x"),)),
    ),
    stuck(
        "no GPUs left",
        "unschedulable",
        Capture(
            kubernetes_events=(
                warning(
                    "FailedScheduling",
                    "0/12 nodes are available: 12 Insufficient nvidia.com/gpu.",
                ),
            )
        ),
        says="no node had room",
    ),
    stuck(
        "a node selector that fits no node",
        "unschedulable",
        Capture(
            kubernetes_events=(
                warning(
                    "FailedScheduling",
                    "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
                ),
            )
        ),
    ),
    refusal(
        "a quota that is used up",
        "quota",
        'rayclusters.ray.io "train-x" is forbidden: exceeded quota: team-a, requested: cpu=64',
    ),
    refusal(
        "a webhook that nobody serves",
        "webhook-unavailable",
        'Internal error occurred: failed calling webhook "vraycluster.kb.io": connection refused',
    ),
    refusal(
        "a policy that wants labels",
        "admission",
        'admission webhook "validate.kyverno.svc" denied the request: label cost-center is missing',
    ),
    refusal(
        "a role without permission",
        "permission",
        'rayclusters.ray.io is forbidden: User "system:serviceaccount:jobledger" cannot create',
    ),
    refusal(
        "a name that is too long",
        "invalid-object",
        'RayCluster.ray.io "train" is invalid: metadata.name: Invalid value: "train"',
    ),
    refusal(
        "a name that JobSet's own webhook finds too long: no policy of anybody's",
        "invalid-object",
        'JobSet ml/train: PATCH jobsets ml/train: 422 Invalid: admission webhook "vjobset.kb.io" '
        'denied the request: JobSet.jobset.x-k8s.io "train" is invalid: spec.replicatedJobs[0].name'
        ': Invalid value: "train-node-0": JobSet name is too long, pod names generated for this '
        "JobSet will exceed 63 characters",
    ),
)
