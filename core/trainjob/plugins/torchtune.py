"""TorchTune: the recipe and configuration that follow from the runtime and the number of devices.

Source: Trainer v2.3, pkg/runtime/framework/plugins/torch/torchtune.go.
"""

from collections.abc import Iterator

from jobledger.core.trainjob.building.framework import Info
from jobledger.core.trainjob.building.pod_sets import PodSet
from jobledger.core.trainjob.building.processes import AUTO, gpus_of
from jobledger.core.trainjob.names import MASTER_PORT, NODE, master_address
from jobledger.core.values.documents import Manifest, items, number, text

COMMAND = ("tune", "run")
MANAGED = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
"""Keys of the configuration that belong to the runtime."""
MODELS = ("llama3_2/1B", "llama3_2/3B", "llama3_3/70B", "qwen2_5/1.5B")
LORA, QUANTIZED, DORA = "model.lora_attn_modules", "model.quantize_base", "model.use_dora"
SMALL = ("llama3_2/1B", "llama3_2/3B")
"""Models that TorchTune trains by QLoRA on one device only."""
_NAME_FIELDS = 3


def is_asked(trainer: Manifest) -> bool:
    """Return whether the trainer's command is TorchTune's."""
    return tuple(str(item) for item in items(trainer, "command")) == COMMAND


def model_of(runtime: str) -> str:
    """Return the model that a runtime's name stands for; empty if it names none."""
    fields = runtime.split("-")
    if len(fields) != _NAME_FIELDS:
        return ""
    return f"{fields[1].replace('.', '_')}/{fields[2].upper()}"


def problems(info: Info) -> Iterator[str]:
    """Yield what TorchTune cannot do with the job."""
    trainer = info.trainer or {}
    model = model_of(text(info.job, "spec", "runtimeRef", "name"))
    if model not in MODELS:
        yield f"model {model or 'of the runtime'} is not supported, must be one of {list(MODELS)}"
        return
    args = [str(item) for item in items(trainer, "args")]
    given = number(trainer, "numNodes")
    nodes = 1 if given is None else given  # upstream does not look at the runtime's here
    if nodes > 1 and model != "llama3_3/70B":
        yield f"multi-node fine-tuning is not supported for {model}"
    if nodes > 1 and (_is_lora(args) or _is_qlora(args)):
        yield "LoRA fine-tuning is not supported for multi-node training in TorchTune"
    if nodes == 1 and _is_qlora(args):
        yield from _qlora_problems(model, is_single=_is_single(info))
    for key in MANAGED:
        if any(item.split("=", 1)[0] == key for item in args):
            yield f"{key} must not be set in the args of the trainer"


def _qlora_problems(model: str, *, is_single: bool) -> Iterator[str]:
    if model.startswith("qwen"):
        yield f"QLoRA is not supported for {model} model"
    elif model in SMALL and not is_single:
        yield (
            "spec.trainer.numProcPerNode must be auto or 1, and spec.trainer.resourcesPerNode "
            f"must have one gpu, for {model} model when using QLoRA"
        )


def _is_single(info: Info) -> bool:
    """Return whether a node trains on one device."""
    return number(info.trainer or {}, "numProcPerNode") == 1 or gpus_of(info) == 1


def command(
    info: Info, pod_set: PodSet, trainer: Manifest, processes: str, gpus: int
) -> tuple[str, ...]:
    """Return the command of the container; the trainer's args follow it."""
    args = [str(item) for item in items(trainer, "args")]
    nodes = pod_set.count
    many = nodes > 1 or (processes == AUTO and gpus > 1)
    many = many or (processes.isdigit() and int(processes) > 1)
    endpoint = f"--rdzv_endpoint={master_address(info.name)}:{MASTER_PORT}"
    recipe, suffix = _recipe(nodes, single=processes == "1" or gpus == 1, args=args)
    config = f"{model_of(text(info.job, 'spec', 'runtimeRef', 'name'))}{suffix}"
    theirs = [str(item) for item in items(pod_set.container(NODE), "command")]
    kept = [item for item in theirs if item.split("=", 1)[0] in MANAGED]
    return (*COMMAND, *([endpoint] if many else []), recipe, "--config", config, *kept)


def _recipe(nodes: int, *, single: bool, args: list[str]) -> tuple[str, str]:
    if nodes > 1:
        return "full_finetune_distributed", "_full_multinode"
    if nodes == 0:
        return "full_finetune_distributed", "_full"
    where = "single_device" if single else "distributed"
    ending = "_single_device" if single else ""
    if _is_qlora(args):
        return f"lora_finetune_{where}", f"_qlora{ending}"
    if _is_lora(args):
        return f"lora_finetune_{where}", f"_lora{ending}"
    return f"full_finetune_{where}", f"_full{ending}"


def _is_lora(args: list[str]) -> bool:
    return any(LORA in item for item in args)


def _is_qlora(args: list[str]) -> bool:
    return _is_on(args, QUANTIZED) and not _is_on(args, DORA)


def _is_on(args: list[str], key: str) -> bool:
    """Return whether an argument sets a key to true, however Python would write it."""
    parts = (item.partition("=") for item in args)
    return any(key in name and value.strip().lower() == "true" for name, _, value in parts)
