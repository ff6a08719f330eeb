"""Failure rules for what Kubernetes reports of Pods: refused, evicted, not started."""

from jobledger.core.jobs.failures.rule import FailureRule, clue
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass

PODS = (Source.POD, Source.CONTAINER, Source.KUBERNETES_EVENT, Source.RAY)
"""Where Pods, and what happens to them, are spoken of."""

REFUSALS = (Source.REFUSAL, Source.KUBERNETES_EVENT)
"""Where refusals are told."""

OF_PODS: tuple[FailureRule, ...] = (
    FailureRule(
        name="runtime-missing",
        group=FailureClass.OTHER,
        before_running=True,
        because="the training runtime that it names is not there, or of no known kind",
        advice="create the runtime, or name another",
        tests=(
            clue(
                r"TrainingRuntimeNotSupported|runtime.{0,200}not (found|supported)"
                r"|unsupported runtime",
                Source.REASON,
                Source.MESSAGE,
                Source.MANIFEST,
            ),
        ),
    ),
    FailureRule(
        name="invalid-manifest",
        group=FailureClass.OTHER,
        before_running=True,
        because="the manifest is not valid",
        advice="correct the manifest; the job goes on by itself",
        tests=(clue(".", Source.MANIFEST),),
    ),
    FailureRule(
        name="quota",
        group=FailureClass.OTHER,
        before_running=True,
        because="a quota refused its Pods or objects",
        advice="raise the quota, or ask for less",
        tests=(clue(r"exceeded quota|forbidden: .{0,200}quota", *REFUSALS, Source.MESSAGE),),
    ),
    FailureRule(
        name="admission",
        group=FailureClass.OTHER,
        before_running=True,
        because="an admission webhook or policy refused its objects",
        advice="ask the owner of the policy; its name is in the message",
        tests=(
            clue(
                r"admission webhook|denied the request|PodSecurity|policy.{0,200}denied", *REFUSALS
            ),
        ),
    ),
    FailureRule(
        name="permission",
        group=FailureClass.OTHER,
        before_running=True,
        because="the controller may not create what the job needs",
        advice="compare the controller's role with the permissions in the docs",
        tests=(clue(r"is forbidden|cannot (create|delete|patch|get)", *REFUSALS),),
    ),
    FailureRule(
        name="preempted",
        group=FailureClass.PREEMPTION,
        because="Kubernetes took a Pod away for one of higher priority",
        advice="do not count preemptions (retry policy), or raise the priority",
        tests=(clue(r"\bpreempt", *PODS),),
    ),
    FailureRule(
        name="evicted",
        group=FailureClass.PREEMPTION,
        because="its node evicted a Pod for lack of memory or disk",
        advice="set requests (ephemeral-storage too) near what is really used",
        tests=(clue(r"\bevicted|low on resource|EvictionByEvictionAPI", *PODS),),
    ),
    FailureRule(
        name="node-lost",
        group=FailureClass.PREEMPTION,
        because="a node was lost, shut down or drained",
        advice="do not count such failures (retry policy); see what happened to the node",
        tests=(
            clue(
                r"NodeLost|NodeNotReady|NodeShutdown|node (is|was) (not ready|shut ?down)"
                r"|TaintManagerEviction|DeletionByTaintManager|DeletionByPodGC|TerminationByKubelet"
                r"|node .{0,200}(died|is dead|marked dead)",
                *PODS,
                Source.LOG,
            ),
        ),
    ),
    FailureRule(
        name="disrupted",
        group=FailureClass.PREEMPTION,
        because="Kubernetes or its node took a Pod away",
        advice="do not count such failures (retry policy); see what happened to the node",
        tests=(
            clue(
                r"^(NodeAffinity|Shutdown|Terminated|UnexpectedAdmissionError|DisruptionTarget)\b",
                Source.POD,
            ),
        ),
    ),
    FailureRule(
        name="out-of-memory",
        group=FailureClass.APPLICATION,
        because="a container used more memory than its limit and was killed",
        advice="raise the memory limit, or use less: smaller batches, fewer workers per node",
        tests=(clue(r"OOMKilled", *PODS, Source.LOG, Source.SUBMITTER),),
    ),
    FailureRule(
        name="image-pull",
        group=FailureClass.IMAGE_PULL,
        before_running=True,
        because="an image could not be pulled",
        advice="check the image's name, its registry and the pull secret",
        tests=(
            clue(
                r"ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|ImageInspectError"
                r"|RegistryUnavailable|SignatureValidationFailed"
                r"|failed to pull( and unpack)? image|manifest unknown|pull access denied",
                *PODS,
                Source.SILENCE,
            ),
        ),
    ),
    FailureRule(
        name="container-config",
        group=FailureClass.OTHER,
        before_running=True,
        because="a container could not be made: something that its template names is not there",
        advice="check what the Pod template mounts and refers to",
        tests=(
            clue(
                r"CreateContainerConfigError|CreateContainerError|RunContainerError|FailedMount"
                r"|FailedAttachVolume|StartError",
                *PODS,
            ),
        ),
    ),
    FailureRule(
        name="unschedulable",
        group=FailureClass.OTHER,
        before_running=True,
        because="no node had room for a Pod",
        advice="ask for less, add nodes, or let the deadline before running be longer",
        tests=(
            clue(
                r"FailedScheduling|Unschedulable|Insufficient (cpu|memory|nvidia|.{0,200}gpu)"
                r"|didn't match .{0,200}node (selector|affinity)|untolerated taint",
                *PODS,
            ),
        ),
    ),
)
