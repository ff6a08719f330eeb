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
                r"running low on memory|killed due to memory pressure"
                r"|ray\.exceptions\.OutOfMemory",
                *TALK,
            ),
        ),
        telling=r"ray\.exceptions\.OutOfMemory",
    ),
    FailureRule(
        name="gpu-out-of-memory",
        group=FailureClass.APPLICATION,
        because="a GPU had not enough memory",
        advice="smaller batches, gradient checkpointing, or a larger GPU",
        tests=(
            clue(
                r"(CUDA|HIP) out of memory|CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY"
                r"|cuda.{0,200}alloc.{0,200}fail|CUBLAS_STATUS_ALLOC_FAILED"
                r"|RESOURCE_EXHAUSTED: Out of memory|OOM when allocating tensor"
                r"|No available memory for the cache blocks",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="gpu-unavailable",
        group=FailureClass.APPLICATION,
        because="the program found no GPU that it can use",
        advice="compare what the Pod asks for, the node's driver, and what the image is built for",
        tests=(
            clue(
                r"No CUDA GPUs are available|no CUDA-capable device|Found no NVIDIA driver"
                r"|not compiled with CUDA enabled|NVIDIA driver on your system is too old"
                r"|CUDA driver version is insufficient|no kernel image is available"
                r"|nvidia-container-cli: initialization error|no supported devices found for",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="gpu-kernel",
        group=FailureClass.APPLICATION,
        because="a kernel on a GPU was given values that it cannot work with",
        advice="run it once with CUDA_LAUNCH_BLOCKING=1, or on a CPU, to see which",
        tests=(
            clue(
                r"CUDA error: (device-side assert|an illegal)|\.cu:\d{1,6}: .{0,200}Assertion",
                *TALK,
            ),
        ),
        telling=r"Assertion .{0,200}failed",
    ),
    FailureRule(
        name="gpu-fault",
        group=FailureClass.APPLICATION,
        because="a GPU or its driver failed",
        advice="look at the node: XID errors in its kernel log say whether the card is faulty",
        tests=(
            clue(
                r"uncorrectable ECC|Xid\b|CUDA error: unspecified|GPU has fallen off"
                r"|CUDNN_STATUS_(NOT_INITIALIZED|INTERNAL_ERROR|EXECUTION_FAILED)",
                *TALK,
                Source.KUBERNETES_EVENT,
            ),
        ),
        telling=r"Xid\b|ECC",
    ),
    FailureRule(
        name="runtime-env",
        general=True,
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
                r"AccessDenied|ACCESS_DENIED|NoCredentialsError|Unable to locate credentials"
                r"|40[13] (Forbidden|Unauthorized|Client Error)|\(40[13]\) when calling"
                r"|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|does not have storage\."
                r"|AuthorizationPermissionMismatch|not authorized to perform|gated repo"
                r"|PermissionError: |Read-only file system",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="storage-failed",
        group=FailureClass.APPLICATION,
        because="its storage failed while it was used",
        advice="see what became of the file server or the disk; do not count such failures",
        tests=(
            clue(
                r"Stale (NFS )?file handle|Transport endpoint is not connected"
                r"|\[Errno 5\]|Input/output error",
                *TALK,
            ),
        ),
    ),
    FailureRule(
        name="shared-memory",
        group=FailureClass.APPLICATION,
        because="its shared memory (/dev/shm) was too small",
        advice="mount an emptyDir with medium Memory at /dev/shm, or use fewer loader workers",
        tests=(
            clue(
                r"out of shared memory|insufficient shared memory|killed by signal: Bus error"
                r"|/dev/shm.{0,200}(too small|No space left)|unable to (mmap|open shared memory)",
                *TALK,
            ),
        ),
        telling=r"killed by signal|No space left",
    ),
    FailureRule(
        name="version-mismatch",
        group=FailureClass.APPLICATION,
        because="the versions of Ray or Python do not fit each other",
        advice="use one image for the head, the workers and the submitter",
        tests=(
            clue(r"Version mismatch: The cluster|Changing the ray version is not allowed", *TALK),
        ),
    ),
    FailureRule(
        name="ray-resources",
        group=FailureClass.APPLICATION,
        because="the Ray cluster has less than the program asks for",
        advice="compare what its tasks and placement groups ask for with the worker groups",
        tests=(
            clue(
                r"Placement group creation timed out|No available node types can fulfill"
                r"|placement group .{0,80}(infeasible|cannot be (created|scheduled))"
                r"|TaskUnschedulableError|ActorUnschedulableError",
                *TALK,
            ),
        ),
        telling=r"Placement group creation|Unschedulable",
    ),
    FailureRule(
        name="communication",
        group=FailureClass.APPLICATION,
        because="the workers could not talk to each other",
        advice="check the network between the Pods, and whether a worker had died before",
        tests=(
            clue(
                r"\bNCCL\b.{0,200}(error|timeout|timed out|unhandled)|ncclSystemError"
                r"|ncclInternalError|NCCL WARN|Watchdog caught collective"
                r"|Gloo.{0,200}(timed? ?out|connect)|ProcessGroup\w{0,60} .{0,200}time"
                r"|Rendezvous(Timeout|Connection|Closed|StateError)|DistStoreError"
                r"|DistNetworkError|c10d.{0,200}(timeout|timed out|failed)"
                r"|gloo/transport/.{0,200}(error|closed|timed out)|HorovodInternalError"
                r"|CoordinationService|ORTE was unable to reliably start|\bssh: "
                r"|Permission denied \((publickey|password)|DEADLINE_EXCEEDED",
                *TALK,
            ),
        ),
        telling=r"Dist(Store|Network)Error|Rendezvous\w{0,20}Error|Watchdog|NCCL WARN",
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
                r"|exit 127\b|executable file not found|NoSuchKey|NoSuchBucket"
                r"|\(404\) when calling|404 Client Error",
                *TALK,
                Source.EXIT,
            ),
        ),
    ),
    FailureRule(
        name="not-executable",
        group=FailureClass.APPLICATION,
        because="its program may not be executed, or is built for another processor",
        advice="check the mode of the file, and for which platform the image is built",
        tests=(
            clue(
                r"exec:? .{0,200}permission denied|exec format error|exit 126\b",
                Source.CONTAINER,
                Source.RAY,
                Source.LOG,
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
                r"Segmentation fault|SIGSEGV|SIGABRT|SIGBUS|core dumped"
                r"|exit (139|134|135|-11|-6|-7)\b",
                *TALK,
                Source.EXIT,
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
        telling=r"supervisor actor|Unexpected error",
    ),
    FailureRule(
        name="worker-died",
        group=FailureClass.APPLICATION,
        because="a worker process or actor died",
        advice="the worker's own log says why; often it was killed for its memory",
        tests=(
            clue(
                r"ActorDiedError(?!: The actor died because of an error raised in its creation)"
                r"|ActorUnavailableError|WorkerCrashedError|RayActorError"
                r"|actor died unexpectedly|worker died|LocalRayletDiedError",
                *TALK,
            ),
        ),
        telling=r"(Actor|Worker|Raylet)\w{0,20}Error",
    ),
    FailureRule(
        name="object-store-full",
        group=FailureClass.APPLICATION,
        because="Ray's object store was full",
        advice="more memory for the object store, smaller blocks, or results written by the tasks",
        tests=(clue(r"ObjectStoreFullError", *TALK),),
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
                r"|502 Bad Gateway|503 Service|couldn't connect to|Failed to connect to"
                r"|Timed out while waiting for GCS|No route to host",
                Source.RAY,
                Source.LOG,
            ),
        ),
        telling=r"Max retries|(Failed|couldn't) .{0,10}connect to",
    ),
)
