"""The files of MNIST as tensors, for the examples beside this file."""
import gzip
from pathlib import Path

import torch

# Of a checkout, beside which the data lie.
DEFAULT_FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "mnist"


def images_and_labels(folder, prefix, *shape):
    """All images of `prefix`, train or t10k, each of that shape, with mean 0 and deviation 1."""
    def numbers(name, header):
        data = gzip.decompress((folder / name).read_bytes())
        return torch.frombuffer(bytearray(data), dtype=torch.uint8, offset=header)
    images = numbers(f"{prefix}-images-idx3-ubyte.gz", 16).view(-1, *shape)
    labels = numbers(f"{prefix}-labels-idx1-ubyte.gz", 8).long()
    return (images.float() / 255 - 0.1307) / 0.3081, labels
