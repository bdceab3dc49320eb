"""Nodes that know the first of them, which end with the block of their fleet."""
import os
import tempfile

from . import watch
from .namespaces import Place
from .node import Node
from .program import Failure


class Fleet:
    """Starts one node for each index, all at once when the first is there. `arguments` are of all nodes, where
    {node} is the index, or a function of it. On loopback, or in the namespaces of a Network. Each has a log in
    the folder, which is gone with the fleet, and with `keeps` a data-dir."""

    NAME, NODE = "node-{}", Node

    def __init__(self, indices, arguments=(), network=None, keeps=False, more=()):
        self.holder = tempfile.TemporaryDirectory(prefix="starling-fleet-")
        self.folder, self.arguments = self.holder.name, arguments
        self.network, self.keeps, self.nodes = network, keeps, []
        try:
            self.begin(list(indices), more)
        except BaseException:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def begin(self, indices, more):
        self.add(indices, more)

    def add(self, indices, more=()):
        """The new nodes, once their ports are open."""
        new = []
        for index in indices:
            new.append(self.make(index, more))
            self.nodes.append(new[-1])
            if len(self.nodes) == 1:
                new[0].await_ready()
        for node in new:
            if not node.addresses:
                node.await_ready()
        return new

    def make(self, index, more):
        own = self.arguments(index) if callable(self.arguments) else [
            str(word).replace("{node}", str(index)) for word in self.arguments]
        joins = [f"--join={seed}" for seed in self.seeds()]
        kept = [f"--node.data-dir={self.path(index)}"] if self.keeps else []
        return self.NODE(self.NAME.format(index), *joins, *kept, *own, *more, place=self.place(index),
                         log=f"{self.path(index)}.log", **self.how(index))

    def place(self, index):
        return self.network.place(index) if self.network else Place()

    def how(self, _):
        """What differs in how a node is run, for a fleet that says so."""
        return {}

    def path(self, index):
        return os.path.join(self.folder, self.NAME.format(index))

    def seeds(self):
        return [self.nodes[0].addresses["control"]] if self.nodes else []

    def kill(self):
        for node in self.nodes:
            node.process.kill()
        for node in self.nodes:
            node.process.wait()
        self.nodes = []
        self.holder.cleanup()

    # ---- questions

    def but(self, *nodes):
        return [node for node in self.nodes if node not in nodes]

    def all(self, resource="/v1/status", nodes=None):
        """What each says, {} of those that do not answer."""
        return list(watch.asking.map(lambda node: node.look(resource), self.nodes if nodes is None else nodes))

    def rounds(self, nodes=None):
        return [document.get("run", {}).get("round", 0) for document in self.all(nodes=nodes)]

    def deaths(self, nodes=None):
        return [text for node in nodes or self.nodes for text in node.died()]

    # ---- conditions

    def wait(self, condition, seconds, look_s=watch.LOOK_S):
        """Seconds until it held, or None. A node that ends meanwhile is a Failure."""
        def holds():
            if condition():
                return True
            for node in self.nodes:
                if node.process.poll() is not None:
                    raise Failure(f"{node.name} ended: {node.last_words()}")
            return False
        return watch.wait(holds, seconds, look_s)

    def until_all(self, nodes, claim, seconds, look_s=watch.LOOK_S):
        """Seconds until the claim about a node was true of each, or None. Each is asked only until it was."""
        open_nodes = list(nodes)

        def look():
            answers = list(watch.asking.map(claim, open_nodes))
            open_nodes[:] = [node for node, good in zip(open_nodes, answers) if not good]
            return not open_nodes
        return watch.wait(look, seconds, look_s)

    def settle(self, seconds=60, look_s=watch.LOOK_S):
        """Seconds until each counts all as alive, or None."""
        return self.until_all(self.nodes, lambda node: node.alive() == len(self.nodes), seconds, look_s)
