"""Failures that the program's own log, or Ray's message, explains."""

from tests.rules.forensics.corpus.cases import Case, program

TRACE = 'Traceback (most recent call last):\n  File "train.py", line 88, in <module>\n    main()\n'

PROGRAMS: tuple[Case, ...] = (
    program(
        "a key that the configuration lacks",
        "application",
        TRACE + "KeyError: 'learning_rate'\n",
        says="the program itself failed",
    ),
    program("an assertion of the program", "application", TRACE + "AssertionError: 3 != 4\n"),
    program("an exit code and nothing else", "application", "epoch 3\n", code=2),
    program(
        "an exit code, and a head that says what it makes of signals",
        "application",
        "2026-11-28 14:09:52,309\tINFO scripts.py:1269 -- Subprocesses exit with SIGTERM will be "
        "treated as graceful, thus NOT reported.\nepoch 3\n",
    ),
    program(
        "a module that is not in the image",
        "missing-module",
        TRACE + "ModuleNotFoundError: No module named 'flash_attn'\n",
    ),
    program(
        "a shared library of another version",
        "missing-module",
        TRACE + "ImportError: libcudart.so.12: cannot open shared object file\n",
    ),
    program(
        "a script that is not there",
        "missing-file",
        "python: can't open file '/home/ray/train.py': [Errno 2] No such file or directory\n",
        code=2,
    ),
    program("a command that is not there", "missing-file", "sh: torchrunn: not found\n", code=127),
    program(
        "a data set that is not mounted",
        "missing-file",
        TRACE + "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.parquet'\n",
    ),
    program(
        "a GPU that is too small",
        "gpu-out-of-memory",
        TRACE + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has "
        "a total capacity of 79.15 GiB of which 1.20 GiB is free.\n",
        says="a GPU had not enough memory",
    ),
    program(
        "JAX on a full GPU",
        "gpu-out-of-memory",
        "RESOURCE_EXHAUSTED: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
    ),
    program(
        "a GPU with a broken memory",
        "gpu-fault",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered\n",
    ),
    program(
        "an image without CUDA",
        "gpu-unavailable",
        TRACE + "AssertionError: Torch not compiled with CUDA enabled\n",
    ),
    program(
        "a file server that was started anew",
        "storage-failed",
        TRACE + "OSError: [Errno 116] Stale file handle: '/data/part-7'\n",
    ),
    program(
        "loaders without shared memory",
        "shared-memory",
        TRACE + "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.\n",
    ),
    program(
        "two versions of Python",
        "version-mismatch",
        TRACE + "RuntimeError: Version mismatch: The cluster was started with:\n    Ray: 2.49\n",
    ),
    program(
        "a placement group that never fits",
        "ray-resources",
        TRACE + "TimeoutError: Placement group creation timed out.\n",
    ),
    program(
        "a result larger than the object store",
        "object-store-full",
        TRACE + "ray.exceptions.ObjectStoreFullError: Failed to put object 00ff\n",
    ),
    program(
        "an image for another processor",
        "not-executable",
        "exec /usr/bin/python: exec format error\n",
    ),
    program(
        "an assertion on the device",
        "gpu-kernel",
        TRACE + "RuntimeError: CUDA error: device-side assert triggered\n",
    ),
    program(
        "a worker killed by Ray for its memory",
        "ray-out-of-memory",
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "Memory on the node (IP: 10.1.2.3) was 30.1GB / 32.0GB (0.94), which exceeds 0.95.\n",
    ),
    program(
        "a collective operation that hangs",
        "communication",
        "[rank3]:[E ProcessGroupNCCL.cpp:616] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=4182, OpType=ALLREDUCE) ran for 600012 milliseconds\n",
    ),
    program(
        "NCCL without a network",
        "communication",
        "torch.distributed.DistBackendError: NCCL error in: ncclSystemError: System call failed\n",
    ),
    program(
        "a rendezvous nobody came to",
        "communication",
        TRACE + "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n",
    ),
    program(
        "a full disk",
        "disk-full",
        TRACE + "OSError: [Errno 28] No space left on device: '/tmp/checkpoint-400'\n",
    ),
    program(
        "a bucket that it may not read",
        "storage-access",
        TRACE + "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling "
        "the GetObject operation: Access Denied\n",
    ),
    program(
        "no credentials at all",
        "storage-access",
        TRACE + "botocore.exceptions.NoCredentialsError: Unable to locate credentials\n",
    ),
    program(
        "a model behind a gate",
        "storage-access",
        TRACE + "huggingface_hub.errors.GatedRepoError: 401 Client Error. It is gated\n",
    ),
    program(
        "a loss that is no number",
        "diverged",
        "step 812: loss is nan, stopping\n" + TRACE + "SystemExit: 1\n",
    ),
    program(
        "a native library that crashes",
        "crash",
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f: <no Python frame>\n",
        code=139,
    ),
    program(
        "an actor that died",
        "worker-died",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
        "\tclass_name: RayTrainWorker\n",
    ),
    program(
        "a worker process that died",
        "worker-died",
        "ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing.\n",
    ),
    program(
        "an object whose owner died",
        "object-lost",
        "ray.exceptions.OwnerDiedError: Failed to retrieve object 00ffff, its owner has exited.\n",
    ),
    program(
        "a database that does not answer",
        "unreachable",
        TRACE + "urllib3.exceptions.MaxRetryError: Max retries exceeded with url: /api/mlflow\n",
    ),
    program(
        "a name that is not known",
        "unreachable",
        TRACE + "socket.gaierror: [Errno -3] Temporary failure in name resolution\n",
    ),
    program(
        "a requirement that pip cannot install",
        "runtime-env",
        "",
        message="runtime_env setup failed: Failed to set up runtime environment. ERROR: Could not "
        "find a version that satisfies the requirement vllm==99.0",
    ),
    program(
        "a supervisor that did not start",
        "dashboard-agent",
        "",
        message="Unexpected error occurred: The actor died because of an error raised in its "
        "creation task: job supervisor actor failed to start",
        code=None,
    ),
    program("killed by somebody", "killed", "epoch 7\n", code=137),
    program("killed by the kernel without a shell between", "killed", "epoch 7\n", code=-9),
    program("crashed without a shell between", "crash", "epoch 7\n", code=-11),
)
