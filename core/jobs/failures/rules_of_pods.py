"""Failure rules for what Kubernetes reports of Pods: refused, evicted, not started."""

from jobledger.core.jobs.evidence.untouched import UNTOUCHED
from jobledger.core.jobs.failures.rule import FailureRule, clue
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass

SEEN = (Source.POD, Source.CONTAINER, Source.KUBERNETES_EVENT)
"""Where Kubernetes speaks of Pods, and nobody else."""

PODS = (Source.POD, Source.CONTAINER, Source.KUBERNETES_EVENT, Source.RAY)
"""Where Pods, and what happens to them, are spoken of."""

REFUSALS = (Source.REFUSAL, Source.KUBERNETES_EVENT)
"""Where refusals are told."""

_CHECKED = r'denied the request: (?-i:[A-Z])\w{0,62}\.[\w.-]{1,253} "'
"""How a webhook answers that has checked an object of its own kind, as JobSet's has of names that
get too long: that is nobody's policy. Source: apimachinery, errors.NewInvalid."""

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
        advice="correct the manifest (if it is the name, make the job anew under another); a job "
        "that has not failed goes on by itself",
        tests=(clue(".", Source.MANIFEST),),
    ),
    FailureRule(
        name="quota",
        group=FailureClass.OTHER,
        before_running=True,
        because="a quota or a limit refused its Pods or objects",
        advice="raise the quota, or ask for less",
        tests=(
            clue(
                r"exceeded quota|forbidden: .{0,200}quota|(maximum|minimum) .{0,60} usage per",
                *REFUSALS,
                Source.MESSAGE,
            ),
        ),
    ),
    FailureRule(
        name="webhook-unavailable",
        group=FailureClass.OTHER,
        before_running=True,
        because="an admission webhook did not answer, and nothing can be made without it",
        advice="see whether the program that serves the webhook runs, and its certificate holds; "
        "`kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations` has them all",
        tests=(clue(r"failed calling webhook", *REFUSALS),),
    ),
    FailureRule(
        name="admission",
        group=FailureClass.OTHER,
        before_running=True,
        because="an admission webhook or policy refused its objects",
        advice="ask the owner of the policy; its name is in the message",
        tests=(
            clue(
                rf"admission webhook(?! .{{1,260}} {_CHECKED})|(?!{_CHECKED})denied the request"
                r"|PodSecurity|policy.{0,200}denied"
                r"|is forbidden: (?!User |error looking up|no PriorityClass|.{0,200}quota)",
                *REFUSALS,
            ),
        ),
    ),
    FailureRule(
        name="permission",
        group=FailureClass.OTHER,
        before_running=True,
        because="the controller may not create what the job needs",
        advice="compare the controller's role with the permissions in the docs",
        tests=(clue(r"is forbidden: User |cannot (create|delete|patch|get)", *REFUSALS),),
    ),
    FailureRule(
        name="invalid-object",
        group=FailureClass.OTHER,
        before_running=True,
        because="the API server would not take an object that it is made of",
        advice="correct what the message names (if it is the name, make the job anew under "
        "another); the job goes on by itself",
        tests=(clue(rf"\bis invalid: |{_CHECKED}", *REFUSALS),),
    ),
    FailureRule(
        name="queue-evicted",
        group=FailureClass.PREEMPTION,
        because="its queue took it back",
        advice="see what Kueue says of its Workload: time-outs, admission checks, stopped queues",
        tests=(clue(r"EvictedDueTo(?!Preempted)|Exceeded the PodsReady", Source.KUBERNETES_EVENT),),
    ),
    FailureRule(
        name="preempted",
        group=FailureClass.PREEMPTION,
        because="Kubernetes took a Pod away for one of higher priority",
        advice="do not count preemptions (retry policy), or raise the priority",
        # A program that schedules work of its own may speak of preemption too.
        tests=(
            clue(
                r"^\w{0,40}Preempt|preempting to accommodate|DRAIN(_REASON)?_PREEMPT"
                r"|\bnode\b.{0,60} (was|is|been|being) (\w{1,20} )?preempted"
                r"|node was killed by a spot preemption|evicted, because of preempt",
                *PODS,
            ),
        ),
    ),
    FailureRule(
        name="evicted",
        group=FailureClass.PREEMPTION,
        because="its node evicted a Pod for lack of memory or disk",
        advice="set requests (ephemeral-storage too) near what is really used",
        tests=(clue(r"^Evicted|\bpod (was |is )?evicted|node was low on resource", *SEEN),),
        telling=r"low on resource|exceed",
    ),
    FailureRule(
        name="out-of-memory",
        group=FailureClass.APPLICATION,
        because="a container used more memory than its limit and was killed",
        advice="raise the memory limit, or use less: smaller batches, fewer workers per node",
        tests=(clue(r"OOMKilled", *PODS, Source.LOG, Source.SUBMITTER),),
    ),
    FailureRule(
        name="node-refused",
        group=FailureClass.PREEMPTION,
        because="a node refused a Pod that had been placed on it",
        advice="look at the node: its device plugin, its taints, what it has left",
        tests=(clue(r"UnexpectedAdmissionError|\bOutOf[a-z]", Source.POD),),
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
                r"|node .{0,200}(died|is dead|marked dead)|NodeDiedError|node no longer exists"
                r"|imminent node shutdown|EvictionByEvictionAPI|node scale down",
                *PODS,
                Source.LOG,
            ),
        ),
        telling=r"scale down|imminent node shutdown",
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
        telling=r"failed to (pull|resolve|authorize|copy|do request)|Failed to apply default image",
    ),
    FailureRule(
        name="container-config",
        group=FailureClass.OTHER,
        before_running=True,
        because="a Pod or container could not be made: something that its template names is not "
        "there or does not work",
        advice="check what the Pod template mounts and refers to",
        tests=(
            clue(
                r"CreateContainerConfigError|CreateContainerError|RunContainerError|FailedMount"
                r"|FailedAttachVolume|StartError|HookError|FailedCreatePodSandBox"
                r"|serviceaccount .{0,200}not found|no PriorityClass with name",
                *PODS,
                Source.REFUSAL,
            ),
        ),
        telling=r"not found|couldn't find|error|timed out|FailedAttachVolume",
    ),
    FailureRule(
        name="crash-loop",
        reads_log=True,
        group=FailureClass.OTHER,
        before_running=True,
        general=True,
        because="a container ended again and again, or failed before the others could start",
        advice="read the end of that container's log",
        tests=(clue(r"CrashLoopBackOff|Init:Error|BackOff: Back-off restarting", *PODS),),
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
                r"|didn't match .{0,200}node (selector|affinity)|untolerated taint"
                r"|unbound immediate PersistentVolumeClaims",
                *PODS,
            ),
        ),
    ),
    FailureRule(
        name="not-taken-up",
        group=FailureClass.OTHER,
        before_running=True,
        because="nobody makes its Pods",
        advice="see whether the controller of such objects runs (KubeRay's operator, JobSet's, or "
        "Kubernetes' own), and whether it looks after this namespace",
        tests=(clue(UNTOUCHED, Source.SILENCE),),
    ),
    FailureRule(
        name="not-ready",
        group=FailureClass.OTHER,
        before_running=True,
        because="a Pod runs, and its probe says that it is not ready",
        advice="run what the probe runs in the container: the program, or the tool, may be missing",
        tests=(clue(r"Unhealthy: (Readiness|Startup) probe", Source.KUBERNETES_EVENT),),
    ),
)
