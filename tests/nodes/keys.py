"""Keys and tickets, made by the program's own commands."""
from pathlib import Path

from .program import starling


def cluster_key(folder):
    """The path of the cluster's secret key in the folder, which gets one if it has none."""
    path = Path(folder, "cluster.key")
    if not path.exists():
        starling("keygen", "cluster", "--out", path)
    return path


def ticket(key, name, path, joins):
    """Writes the ticket of a node that finds the others at these addresses."""
    starling("invite", name, "--cluster-key", key, "--ticket-file", path,
             *(f"--join={address}" for address in joins))
    return path
