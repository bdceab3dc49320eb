"""DistributedDataParallel with the communication hooks of PyTorch that work over gloo.

bf16_compress_hook does not: DDP of PyTorch 1.13 takes it with NCCL only, and gloo's all_reduce
refuses bfloat16 ("Invalid scalar type").

PowerSGD needs all gradients in one bucket. Its hook waits for a second and a third all_reduce on
the threads of gloo, of which there are two: with two buckets both threads wait and the run hangs,
and with more the all_reduces of different buckets meet.
"""
import contextlib
from functools import partial

import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

RANKS = (2, 8)  # of the matrices that PowerSGD sends instead of a gradient: more bytes, less loss
WHOLE_STEPS = 2  # before PowerSGD begins, the least that it takes; they must not be timed
ONE_BUCKET_BYTES = 1 << 40


def power_sgd(rank):
    return powerSGD_hook.PowerSGDState(process_group=None, matrix_approximation_rank=rank,
                                       start_powerSGD_iter=WHOLE_STEPS)


HOOKS = {
    "fp16": (lambda: None, default_hooks.fp16_compress_hook),
    **{f"powersgd-{rank}": (partial(power_sgd, rank), powerSGD_hook.powerSGD_hook)
       for rank in RANKS},
}


@contextlib.contextmanager
def one_bucket():
    """DDP reads this constant when it is made; `bucket_cap_mb` is not for its first bucket."""
    usual = dist._DEFAULT_FIRST_BUCKET_BYTES
    dist._DEFAULT_FIRST_BUCKET_BYTES = ONE_BUCKET_BYTES
    yield
    dist._DEFAULT_FIRST_BUCKET_BYTES = usual


def distributed(model, hook="", **settings):
    """The model wrapped, with one of HOOKS or none. All processes must call it."""
    with one_bucket() if hook.startswith("powersgd") else contextlib.nullcontext():
        wrapped = DistributedDataParallel(model, **settings)
    if hook:
        make_state, function = HOOKS[hook]
        wrapped.register_comm_hook(make_state(), function)
    return wrapped
