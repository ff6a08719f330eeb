"""Failure rules for what the program or Ray writes in messages and logs."""

from jobledger.core.jobs.failures.rule import FailureRule, clue
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass

TALK = (Source.RAY, Source.LOG, Source.SUBMITTER, Source.MESSAGE, Source.CONTAINER)
"""Where programs, and Ray, speak."""

OF_PROGRAMS: tuple[FailureRule, ...] = (
    FailureRule(
        name="ray-out-of-memory",
        group=FailureClass.APPLICATION,
        because="Ray killed a task because its node ran low on memory",
        advice="raise memory, or ask for more memory per task so that fewer run at once",
        tests=(
            clue(
                r"OutOfMemoryError.{0,200}(node|worker)|running low on memory"
                r"|memory pressure|ray\.exceptions\.OutOfMemory",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="gpu-out-of-memory",
        group=FailureClass.APPLICATION,
        because="a GPU had not enough memory",
        advice="smaller batches, gradient checkpointing, or a larger GPU",
        tests=(
            clue(
                r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY|cuda.{0,200}alloc.{0,200}fail", *TALK
            ),
        ),
    ),
    FailureRule(
        name="gpu-fault",
        group=FailureClass.APPLICATION,
        because="a GPU or its driver failed",
        advice="look at the node: XID errors in its kernel log say whether the card is faulty",
        tests=(
            clue(
                r"uncorrectable ECC|Xid\b|CUDA error: (device-side|unspecified|an illegal)"
                r"|no CUDA-capable device|CUDA driver version is insufficient|GPU has fallen off",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="runtime-env",
        group=FailureClass.APPLICATION,
        because="Ray could not set up the runtime environment",
        advice="see the error of pip or working_dir in the log; or bake it into the image",
        tests=(
            clue(
                r"RuntimeEnvSetupError|runtime_env setup|Failed to (set up|install) runtime", *TALK
            ),
        ),
    ),
    FailureRule(
        name="disk-full",
        group=FailureClass.APPLICATION,
        because="a disk was full",
        advice="more ephemeral storage, or write checkpoints elsewhere",
        tests=(clue(r"No space left on device|OutOfDiskError|disk quota exceeded", *TALK),),
    ),
    FailureRule(
        name="storage-access",
        group=FailureClass.APPLICATION,
        because="it was not allowed to read or write its storage",
        advice="check the credentials and the service account of the Pods",
        tests=(
            clue(
                r"AccessDenied|NoCredentialsError|Unable to locate credentials|403 Forbidden"
                r"|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|does not have storage\."
                r"|401 Client Error|gated repo",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="communication",
        group=FailureClass.APPLICATION,
        because="the workers could not talk to each other",
        advice="check the network between the Pods, and whether a worker had died before",
        tests=(
            clue(
                r"\bNCCL\b.{0,200}(error|timeout|timed out|unhandled)|ncclSystemError"
                r"|ncclInternalError|Watchdog caught collective|Gloo.{0,200}(timed? ?out|connect)"
                r"|ProcessGroup\w{0,60} .{0,200}time"
                r"|RendezvousTimeout|c10d.{0,200}(timeout|timed out|failed)",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="missing-module",
        group=FailureClass.APPLICATION,
        because="the program imports a module that is not there",
        advice="add it to the image or to the runtime environment",
        tests=(clue(r"ModuleNotFoundError|ImportError|No module named", *TALK),),
    ),
    FailureRule(
        name="missing-file",
        group=FailureClass.APPLICATION,
        because="the program, or a file that it reads, is not there",
        advice="check the entrypoint, the working directory and the mounts",
        tests=(
            clue(
                r"FileNotFoundError|can't open file|No such file or directory|command not found"
                r"|exit 127\b|executable file not found",
                *TALK,
                Source.EXIT,
            ),
        ),
    ),
    FailureRule(
        name="diverged",
        group=FailureClass.APPLICATION,
        because="the training diverged: its loss is no number",
        advice="a smaller learning rate, gradient clipping, or a look at the data",
        tests=(clue(r"loss (is|became|=) ?(nan|inf)|nan (loss|detected)|non-?finite", *TALK),),
    ),
    FailureRule(
        name="crash",
        group=FailureClass.APPLICATION,
        because="a process crashed",
        advice="look for a faulty native library; a core dump or faulthandler tells where",
        tests=(
            clue(
                r"Segmentation fault|SIGSEGV|SIGABRT|SIGBUS|core dumped|exit (139|134|135)\b",
                *TALK,
                Source.EXIT,
            ),
        ),
    ),
    FailureRule(
        name="worker-died",
        group=FailureClass.APPLICATION,
        because="a worker process or actor died",
        advice="the worker's own log says why; often it was killed for its memory",
        tests=(
            clue(
                r"ActorDiedError|ActorUnavailableError|WorkerCrashedError|RayActorError"
                r"|actor died unexpectedly|worker died|LocalRayletDiedError",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="object-lost",
        group=FailureClass.APPLICATION,
        because="Ray lost an object that was still needed",
        advice="see whether a node was lost; more object store memory, or checkpoints",
        tests=(clue(r"ObjectLostError|OwnerDiedError|ReferenceCountingAssertion", *TALK),),
    ),
    FailureRule(
        name="unreachable",
        group=FailureClass.APPLICATION,
        because="something that the program needs could not be reached",
        advice="check the address, the network policy and whether that service was up",
        tests=(
            clue(
                r"Connection(Refused|Reset|)Error|Connection refused|Name or service not known"
                r"|Temporary failure in name resolution|ReadTimeout|ConnectTimeout|Max retries"
                r"|502 Bad Gateway|503 Service",
                Source.RAY,
                Source.LOG,
            ),
        ),
    ),
    FailureRule(
        name="dashboard-agent",
        group=FailureClass.APPLICATION,
        because="the head's job agent did not start the entrypoint",
        advice="look at the head's dashboard log; a head short of memory is the usual cause",
        tests=(
            clue(r"job supervisor actor|JobSupervisor|agent.{0,200}(failed|not found)", Source.RAY),
        ),
    ),
)
