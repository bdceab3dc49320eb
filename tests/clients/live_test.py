#!/usr/bin/env python3
"""The Python package beside real nodes.

    live_test.py STARLING

Exit code 77, and a word, where there is no python3-numpy.
"""
import json
import os
import signal
import sys
import tempfile
import threading
import unittest
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / "clients" / "python")]
from nodes import program  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.watch import DEADLINE_S, eventually, needed  # noqa: E402

numpy = needed("numpy")

try:
    import torch
except ImportError:
    torch = None

import starling  # noqa: E402

program.use(sys.argv[1])
# Each node's own loss is c/2 |w - target|^2; the sum of both is smallest at MINIMUM, and plain steps
# of local SGD meet elsewhere.
TARGETS = ([1.0, 5.0], [3.0, -1.0])
CURVATURES = (1.0, 3.0)
MINIMUM = [2.5, 0.5]
RATE = 0.1


class Memory:
    """An object with a state."""

    def __init__(self, value):
        self.value = value

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


class Started(threading.Thread):
    """Does some work in a thread; result() waits for what it gives or raises."""

    def __init__(self, work, *arguments):
        super().__init__(daemon=True)
        self._work = lambda: work(*arguments)
        self._result = self._failure = None
        self.start()

    def run(self):
        try:
            self._result = self._work()
        except BaseException as failure:
            self._failure = failure

    def result(self):
        self.join(DEADLINE_S)
        assert not self.is_alive(), "the work does not end"
        if self._failure is not None:
            raise self._failure
        return self._result


def descend(swarm, target, curvature):
    """Gradient descent on this node's own loss until the run is over; the last parameters."""
    w = swarm.tensors["w"]
    while swarm.is_running:
        gradient = swarm.correct({"w": curvature * (w - target)})["w"]
        w -= RATE * gradient
        swarm.step(loss=0.5 * curvature * ((w - target) ** 2).sum())
    return w.tolist()


def function_of(target, curvature):
    """The same loss, of one sample or of several that are alike, for a daemon that takes the steps."""
    def loss_and_gradient(x, _, gradients):
        gradients["w"] += curvature * (x["w"] - target)
        return 0.5 * curvature * ((x["w"] - target) ** 2).sum()
    return loss_and_gradient


class LiveTest(unittest.TestCase):
    """Has nodes that end with the test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def node(self, name, *arguments):
        """One that waits for a trainer, with its data in a folder."""
        node = Node(name, "--model.kind=external", "--model.precision=f64",
                    f"--node.data-dir={Path(self.folder) / name}", *arguments)
        self.addCleanup(node.kill)
        return node.await_ready()

    def socket(self, name):
        return str(Path(self.folder) / name / "trainer.sock")


class Loops(LiveTest):
    def attach(self, name):
        return starling.attach(tensors={"w": numpy.zeros(2)}, corrects=True, wait=True,
                               steps="sgd", learning_rate=RATE, socket=self.socket(name),
                               timeout=DEADLINE_S)

    def test_two_loops_with_corrected_steps_meet_at_the_minimum_of_their_sum(self):
        settings = ["--optim.algorithm=ed", "--optim.local-steps=5", "--stop.rounds=300",
                    "--cluster.expect=2", f"--optim.learning-rate={RATE}", "--topology.kind=ring"]
        first = self.node("n0", *settings)
        self.node("n1", f"--join={first.addresses['control']}", *settings)

        def loop(name, target, curvature):
            return descend(self.attach(name), numpy.array(target), curvature)
        loops = [Started(loop, *case) for case in zip(("n0", "n1"), TARGETS, CURVATURES)]
        for one in loops:
            numpy.testing.assert_allclose(one.result(), MINIMUM, atol=1e-6)

    def walk(self, name, seed, stop):
        """Steps along gradients that are drawn with this seed, until `stop` is set."""
        generator = numpy.random.default_rng(seed)
        with self.attach(name) as swarm:
            while not stop.is_set():
                gradient = swarm.correct({"w": generator.normal(size=2)})["w"]
                swarm.tensors["w"] -= RATE * gradient
                swarm.step(loss=1)

    def walk_together(self, seeds, ask):
        """Two nodes whose loops have these seeds, until that has an answer of both: the answers."""
        settings = ["--cluster.expect=2", "--cluster.preset=local", "--optim.algorithm=gt"]
        first = self.node("n0", *settings)
        nodes = [first, self.node("n1", f"--join={first.addresses['control']}", *settings)]
        stop = threading.Event()
        loops = [Started(self.walk, name, seed, stop) for name, seed in zip(("n0", "n1"), seeds)]
        said = [eventually(lambda: ask(node.get("/v1/status")), "both come so far")
                for node in nodes]
        stop.set()
        for one in loops:
            one.result()
        return said

    def test_nodes_whose_trainers_take_the_same_batches_say_so(self):
        said = self.walk_together((1, 1), lambda status: " ".join(status["node"]["warnings"]))
        for warnings, other in zip(said, ("n1", "n0")):
            self.assertIn(f"{other}'s trainer takes the same steps", warnings)

    def test_trainers_with_seeds_of_their_own_raise_no_warning(self):
        said = self.walk_together(
            (1, 2), lambda status: status["run"]["round"] > 20 and str(status["node"]["reasons"]))
        self.assertNotIn("batches", "".join(said))

    @unittest.skipIf(torch is None, "python3-torch is not installed")
    def test_modules_with_a_momentum_meet_at_the_minimum_of_their_sum(self):
        settings = ["--optim.algorithm=ed", "--optim.local-steps=5", "--stop.rounds=120",
                    "--cluster.expect=4", "--topology.kind=ring", "--cluster.preset=local"]
        first = self.node("n0", *settings)
        for name in ("n1", "n2", "n3"):
            self.node(name, f"--join={first.addresses['control']}", *settings)

        def loop(name, target, curvature):
            model = torch.nn.Linear(2, 1, bias=False).to(torch.float64)
            model.weight.data.zero_()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
            swarm = starling.attach(model, optimizer, wait=True, socket=self.socket(name),
                                    timeout=DEADLINE_S)
            while swarm.is_running:
                optimizer.zero_grad()
                error = model.weight - torch.tensor([target], dtype=torch.float64)
                (0.5 * curvature * (error ** 2).sum()).backward()
                optimizer.step()
                swarm.step()
            return model.weight.flatten().tolist()
        loops = [Started(loop, *case)
                 for case in zip(("n0", "n1", "n2", "n3"), 2 * TARGETS, 2 * CURVATURES)]
        for one in loops:
            numpy.testing.assert_allclose(one.result(), MINIMUM, atol=1e-6)

    def test_adam_inside_is_refused_where_the_limit_would_be_biased(self):
        self.node("n0", "--optim.algorithm=ed", "--stop.rounds=100000000")
        with self.assertRaises(starling.Refused) as refused:
            starling.attach(tensors={"w": numpy.zeros(2)}, wait=True, socket=self.socket("n0"),
                            timeout=DEADLINE_S)
        self.assertRegex(str(refused.exception), "biased unless each step is linear .* "
                                                 "does not say what its steps are")

    def test_a_trainer_of_an_earlier_life_ends_and_what_it_left_behind_holds_no_port(self):
        script = Path(self.folder) / "train.py"
        script.write_text("import numpy, os, signal, starling\n"
                          "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                          "print(os.getpid(), file=open('pids', 'a'))\n"
                          "swarm = starling.attach(tensors={'w': numpy.zeros(2)}, wait=True)\n"
                          "while swarm.step(): pass\n", encoding="utf-8")
        trainer = (f"cd {self.folder} && {{ setsid sleep 600 & echo $! >left; PYTHONPATH="
                   f"{HERE.parents[2] / 'clients' / 'python'} exec {sys.executable} {script}; }}")
        settings = ["--stop.rounds=100000000", "--optim.algorithm=dpsgd", f"--trainer={trainer}"]

        def exchanges(node):
            return node.get("/v1/status")["trainer"]["exchanges"] > 0
        node = self.node("n0", *settings)
        eventually(lambda: exchanges(node), "the first life trains")
        node.kill()
        left = Path(self.folder) / "left"
        self.addCleanup(lambda: os.kill(int(left.read_text()), signal.SIGKILL))
        self.addCleanup(os.kill, int(left.read_text()), signal.SIGKILL)
        again = self.node("n0", f"--listen.http={node.addresses['http']}",
                          f"--listen.control={node.addresses['control']}", *settings)
        old, new = eventually(lambda: len(pids := (Path(self.folder) / "pids").read_text().split()) == 2
                              and [int(pid) for pid in pids], "the second trainer starts")
        eventually(lambda: exchanges(again), "the second life trains")
        self.addCleanup(os.kill, new, signal.SIGKILL)
        self.assertEqual(again.get("/v1/status")["trainer"]["process"], new)
        eventually(lambda: not Path(f"/proc/{old}/environ").exists() or
                   not Path(f"/proc/{old}/environ").read_bytes(), "the first trainer ends")
        self.assertNotIn("second trainer", str(again.get("/v1/status")["node"]["warnings"]))

    def test_a_loop_outlives_a_daemon_that_is_killed(self):
        settings = ["--optim.local-steps=2", "--stop.rounds=100000000"]
        node = self.node("n0", *settings)
        swarm = self.attach("n0")
        for _ in range(10):
            self.assertTrue(swarm.step())
        node.kill()
        restarted = Started(self.node, "n0", *settings)
        exchanges = swarm.status.exchanges
        while swarm.status.exchanges < exchanges + 10:
            swarm.tensors["w"][...] += 1
            self.assertTrue(swarm.step())
        restarted.result()
        swarm.close()

    def test_a_trainer_that_comes_back_finds_its_own_state_and_a_newcomers_a_copy(self):
        settings = ["--stop.rounds=100000000", "--trainer.share-state=true",
                    "--optim.algorithm=dpsgd"]
        first = self.node("n0", *settings)
        swarm, memory = self.attach_with_memory("n0", 7)
        self.count_on(swarm, 5)
        memory.value = "what came after it was saved"
        swarm._session.drop()  # as a crash would
        swarm.close()
        swarm, memory = self.attach_with_memory("n0", 0)
        self.assertEqual(memory.value, 7)
        self.assertGreaterEqual(swarm.tensors["count"][()], 5)
        going = threading.Event()
        rest = Started(lambda: self.count_on(swarm, 1, going))
        self.assertEqual(self.types_in_model(first), {"w": "F64", "count": "I64"})
        self.node("n1", f"--join={first.addresses['control']}", *settings)
        other, memory = self.attach_with_memory("n1", 0)
        self.assertEqual(memory.value, 0, "another node's memory is its own")
        self.assertGreaterEqual(other.tensors["count"][()], 5)
        going.set()
        other.close()
        rest.result()
        swarm.close()

    def test_a_node_that_comes_back_to_a_run_has_its_own_state_and_the_networks_round(self):
        settings = ["--stop.rounds=100000000", "--optim.algorithm=dpsgd"]
        first = self.node("n0", *settings)
        swarm, _ = self.attach_with_memory("n0", 1)
        going = threading.Event()
        rest = Started(lambda: self.count_on(swarm, 1, going))
        join = f"--join={first.addresses['control']}"
        second = self.node("n1", join, *settings)
        other, memory = self.attach_with_memory("n1", 7)
        self.count_on(other, 5)
        second.post("/v1/checkpoint")
        counting = threading.Event()
        steps = Started(lambda: self.count_on(other, 1, counting))
        saved = eventually(lambda: second.get("/v1/status")["checkpoint"].get("round"), "a checkpoint")
        counting.set()
        steps.result()
        second.kill()
        other.close()
        eventually(lambda: swarm.round > saved + 5, "the other goes on")
        self.node("n1", join, *settings)
        other, memory = self.attach_with_memory("n1", 0)
        self.assertEqual(memory.value, 7)
        self.assertGreater(other.round, saved)
        other.close()
        going.set()
        rest.result()
        swarm.close()

    def attach_with_memory(self, name, value):
        """A trainer with a counter that newcomers take over, and something to keep."""
        memory = Memory(value)
        tensors = {"w": numpy.zeros(2), "count": numpy.zeros((), dtype=numpy.int64)}
        return starling.attach(tensors=tensors, keep=[memory], wait=True, timeout=DEADLINE_S,
                               socket=str(Path(self.folder) / name / "trainer.sock")), memory

    def types_in_model(self, node):
        """Of the tensors in the file of the node's model, by name."""
        text = node.data("/v1/model")
        header = json.loads(text[8:8 + int.from_bytes(text[:8], "little")])
        return {name: row["dtype"] for name, row in header.items() if name != "__metadata__"}

    def count_on(self, swarm, steps, until=None):
        """At least so many steps, each of which is counted in a tensor."""
        while steps > 0 or (until is not None and not until.is_set()):
            swarm.tensors["count"][...] += 1
            self.assertTrue(swarm.step())
            steps -= 1

    def test_a_second_trainer_is_refused(self):
        node = self.node("n0", "--stop.rounds=100000000")
        with self.attach("n0") as swarm:
            self.assertTrue(swarm.step())
            with self.assertRaises(starling.Refused) as refused:
                self.attach("n0")
            self.assertTrue(swarm.step())
            eventually(lambda: "a second trainer" in str(node.get("/v1/events?follow=0")), "the event")
            self.assertIn("a second trainer", str(node.get("/v1/status")["node"]["warnings"]))
        self.assertIn("trainer", str(refused.exception))


class Servers(LiveTest):
    """Mode `gradients`."""

    def serve(self, name, function, samples=1, **options):
        """In a thread; the result is the parameters that the function was asked about last."""
        last = []

        def asked(x, batch, gradients):
            last[:] = x["w"].tolist()
            return function(x, batch, gradients)

        def work():
            starling.serve(asked, tensors={"w": numpy.zeros(2)}, samples=samples, wait=True,
                           socket=self.socket(name), timeout=DEADLINE_S, **options)
            return last
        return Started(work)

    def test_two_nodes_that_take_the_steps_meet_at_the_minimum_of_their_sum(self):
        settings = ["--optim.algorithm=ed", "--optim.batch-size=0", "--stop.rounds=300",
                    "--cluster.expect=2", f"--optim.learning-rate={RATE}", "--topology.kind=ring"]
        first = self.node("n0", *settings)
        self.node("n1", f"--join={first.addresses['control']}", *settings)
        servers = [self.serve(name, function_of(numpy.array(target), curvature))
                   for name, target, curvature in zip(("n0", "n1"), TARGETS, CURVATURES)]
        for server in servers:
            numpy.testing.assert_allclose(server.result(), MINIMUM, atol=1e-6)

    def test_a_batch_holds_numbers_of_samples_and_all_come_in_turn(self):
        batches, limits = [], []
        inner = function_of(numpy.zeros(2), 1)

        def function(x, batch, gradients):
            batches.append(batch.tolist())
            return inner(x, batch, gradients)

        def evaluate(x, limit):
            limits.append(limit)
            return {"loss": 0.25, "accuracy": 0.75}
        self.node("n0", "--optim.batch-size=2", "--stop.rounds=20")
        self.serve("n0", function, samples=6, evaluate=evaluate).result()
        self.assertEqual({len(batch) for batch in batches}, {2})
        for begin in range(0, 18, 3):  # three batches hold each of the samples once
            drawn = sorted(sum(batches[begin:begin + 3], []))
            self.assertEqual(drawn, [0, 1, 2, 3, 4, 5])
        self.assertTrue(limits)

    def test_a_node_whose_function_fails_rests_until_the_next_server_comes(self):
        def fails(*_):
            raise ZeroDivisionError
        node = self.node("n0", "--stop.rounds=100000000")
        with self.assertRaises(ZeroDivisionError):
            self.serve("n0", fails).result()
        eventually(lambda: node.get("/v1/status")["trainer"]["state"] == "lost", "it is lost")
        self.serve("n0", function_of(numpy.zeros(2), 1))
        eventually(lambda: node.get("/v1/status")["run"]["round"] > 3, "rounds go on")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
