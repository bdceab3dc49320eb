# The peer of ring.cpp: the same round over torch.distributed with gloo, 4 processes on loopback.
# Each sends its vector to both neighbours, receives theirs and averages in place.
#   average BYTES ROUNDS    milliseconds a round
import os
import statistics
import sys
import tempfile
import time

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
import torch
import torch.distributed as dist

SIZE = 4
WARM_UP_ROUNDS = 3


def average(rank, count, rounds):
    left, right = (rank - 1) % SIZE, (rank + 1) % SIZE
    x = torch.full((count,), float(rank))
    a, b = torch.empty(count), torch.empty(count)
    times = []
    for i in range(WARM_UP_ROUNDS + rounds):
        start = time.perf_counter()
        work = [dist.isend(x, left), dist.isend(x, right), dist.irecv(a, left), dist.irecv(b, right)]
        for item in work:
            item.wait()
        x.add_(a).add_(b).mul_(1 / 3)
        if i == 0:
            expected = (left + rank + right) / 3
            assert abs(float(x[0]) - expected) < 1e-4 and abs(float(x[-1]) - expected) < 1e-4
        if i >= WARM_UP_ROUNDS:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        rank = next((r for r in range(1, SIZE) if os.fork() == 0), 0)
        work(rank, store)
        if rank != 0:
            os._exit(0)  # the folder is the parent's
        for _ in range(1, SIZE):
            os.wait()


def work(rank, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=SIZE)
    order = torch.zeros(2, dtype=torch.int64)
    while True:
        line = sys.stdin.readline() if rank == 0 else ""
        if rank == 0:
            words = line.split()
            order[0], order[1] = (int(words[1]), int(words[2])) if words else (0, 0)
        dist.broadcast(order, 0)
        if int(order[0]) == 0:
            return
        seconds = average(rank, int(order[0]) // 4, int(order[1]))
        if rank == 0:
            print('{"figure": "%s", "value": %.6g, "unit": "ms"}' % (line.strip(), seconds * 1e3), flush=True)


main()
