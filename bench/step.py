# The peers of step.cpp: the same training steps in PyTorch on one thread. Float tensors lie in
# memory; a batch is the rows that a slice of a random permutation names.
#   gemm SIZE    GFLOP/s of one square product, which tells whether the BLAS is an optimised one
#   mlp BATCH | cnn BATCH | cnn-last BATCH | softmax BATCH | sparse-bag BATCH | sparse-dense BATCH | sparse-coo BATCH    samples/s
import statistics
import sys
import time

import torch
import torch.nn as nn

WINDOW = 0.5  # seconds
IMAGES, SIDE, PIXELS = 60000, 28, 784
ROWS, COLUMNS, ENTRIES = 32561, 123, 14


class Dense(nn.Module):
    """Logistic regression on rows made dense."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(COLUMNS, 1)

    def forward(self, columns):
        dense = torch.zeros(columns.shape[0], COLUMNS).scatter_(1, columns, 1.0)
        return self.linear(dense).squeeze(1)


class Bag(nn.Module):
    """Logistic regression as a sum of embeddings, one a column."""

    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(COLUMNS, 1, mode="sum")
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, columns):
        return self.bag(columns).squeeze(1) + self.bias


class Coo(nn.Module):
    """Logistic regression by a product with a sparse matrix."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(COLUMNS, 1))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, columns):
        count = columns.shape[0]
        rows = torch.arange(count).repeat_interleave(ENTRIES)
        places = torch.stack([rows, columns.reshape(-1)])
        matrix = torch.sparse_coo_tensor(places, torch.ones(count * ENTRIES), (count, COLUMNS))
        return torch.sparse.mm(matrix, self.weight).squeeze(1) + self.bias


def mlp():
    return nn.Sequential(nn.Linear(PIXELS, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))


class Cnn(nn.Module):
    """LeNet-5 with relu and max pooling; `last`: the channels of images lie last in memory."""

    def __init__(self, last=False):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        self.format = torch.channels_last if last else torch.contiguous_format
        self.to(memory_format=self.format)

    def forward(self, images):
        return self.layers(images.view(-1, 1, SIDE, SIDE).contiguous(memory_format=self.format))


def rate(model, loss, inputs, labels, batch):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    order, position = torch.randperm(len(inputs)), 0
    times = []
    begin = time.perf_counter()
    while len(times) < 50 or time.perf_counter() - begin < WINDOW:
        start = time.perf_counter()
        if position + batch > len(order):
            order, position = torch.randperm(len(inputs)), 0
        rows = order[position : position + batch]
        position += batch
        optimizer.zero_grad(set_to_none=True)
        loss(model(inputs[rows]), labels[rows]).backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    return batch / statistics.median(times)


def gflops(size):
    a, b = torch.randn(size, size), torch.randn(size, size)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - start)
    return 2 * size**3 / statistics.median(times) * 1e-9


def answer(request, value, unit):
    print('{"figure": "%s", "value": %.6g, "unit": "%s"}' % (request, value, unit), flush=True)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    images = torch.randint(0, 256, (IMAGES, PIXELS), dtype=torch.uint8).float() / 255
    digits = torch.randint(0, 10, (IMAGES,))
    width = COLUMNS // ENTRIES
    columns = torch.randint(0, width, (ROWS, ENTRIES)) + torch.arange(ENTRIES) * width
    classes = torch.randint(0, 2, (ROWS,)).float()
    cross_entropy, logistic = nn.CrossEntropyLoss(), nn.BCEWithLogitsLoss()
    tasks = {
        "mlp": (mlp, cross_entropy, images, digits),
        "cnn": (Cnn, cross_entropy, images, digits),
        "cnn-last": (lambda: Cnn(last=True), cross_entropy, images, digits),
        "softmax": (lambda: nn.Linear(PIXELS, 10), cross_entropy, images, digits),
        "sparse-bag": (Bag, logistic, columns, classes),
        "sparse-dense": (Dense, logistic, columns, classes),
        "sparse-coo": (Coo, logistic, columns, classes),
    }
    for line in sys.stdin:
        kind, batch = line.split()
        if kind == "gemm":
            answer(line.strip(), gflops(int(batch)), "GFLOP/s")
            continue
        make, loss, inputs, labels = tasks[kind]
        answer(line.strip(), rate(make(), loss, inputs, labels, int(batch)), "samples/s")


main()
