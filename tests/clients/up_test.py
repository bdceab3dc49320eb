#!/usr/bin/env python3
"""What `starling up` says of the trainer that it starts, and how it ends.

    up_test.py STARLING

Exit code 77, and a word, where there is no python3-numpy.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))
from nodes.watch import DEADLINE_S, needed  # noqa: E402

needed("numpy")
PROGRAM = sys.argv[1]
ATTACH = "swarm = starling.attach(tensors={'w': numpy.zeros(2)})\n"


class Trainers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def up(self, trainer, *arguments):
        """What `starling up` says of one node with this trainer, and its exit code."""
        environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "clients" / "python")}
        result = subprocess.run(
            [PROGRAM, "up", "-n", "1", "--trainer", trainer, "--optim.algorithm=dpsgd",
             "--stop.rounds=200", f"--output={Path(self.folder) / 'model'}", *arguments],
            env=environment,
            text=True, timeout=DEADLINE_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.stdout, result.returncode

    def trained(self, script, *arguments):
        """The same with a trainer of these lines."""
        path = Path(self.folder) / "train.py"
        path.write_text("import numpy, starling\n" + script, encoding="utf-8")
        return self.up(f"{sys.executable} {path}", *arguments)

    def test_the_last_words_of_a_trainer_that_raises_are_shown_and_no_loss(self):
        said, code = self.trained("starling.attach(tensors={'w': numpy.zeros(2)})\n"
                                  "raise ValueError('no such column')\n")
        self.assertIn("node-0: its trainer wrote last:\n", said)
        self.assertIn("\n  | ValueError: no such column\n", said)
        self.assertIn("ended with exit code 1: ValueError: no such column; it is started again in 0.5 s", said)
        self.assertIn("5 times in a row with exit code 1 and without a step: ValueError", said)
        self.assertNotIn("0.0000", said)
        self.assertNotIn("0.00e+00", said)
        self.assertEqual(code, 1)

    def test_a_trainer_that_ends_before_the_goal_is_no_crash(self):
        said, code = self.trained(ATTACH + "for step in range(20): swarm.step()\n"
                                  "print('two epochs are over')\n")
        self.assertRegex(said, r"What the trainers print is in \S+/node-\*\.log until the end\.")
        told = re.search(r"node-0: the trainer finished by itself \(exit code 0\) after round (\d+), "
                         r"before stop.rounds = 200: this node leaves with its model", said)
        self.assertTrue(told, said)
        self.assertRegex(said, rf"\nnode-0 +{told[1]} ")
        self.assertIn("Goal not reached", said)
        self.assertIn("the trainers of all nodes finished by themselves", said)
        self.assertIn("The trainer of node-0 wrote last: two epochs are over", said)
        self.assertNotIn("started again", said)
        self.assertEqual(code, 3)

    def test_a_trainer_that_tells_no_loss_has_none(self):
        said, code = self.trained(ATTACH + "while swarm.step(): swarm.tensors['w'] += 1\n")
        self.assertNotIn("loss 0", said)
        self.assertRegex(said, r"\nnode-0 +200 +- ")
        self.assertIn(": in Python starling.load(FILE, model) puts them into a module of PyTorch", said)
        self.assertEqual(code, 0)

    def test_each_crash_of_a_trainer_is_told_with_its_number(self):
        count = Path(self.folder) / "count"
        said, code = self.trained("import pathlib\n"
                                  f"count = pathlib.Path({str(count)!r})\n"
                                  "count.write_text(count.read_text() + '.' if count.exists() else '.')\n" +
                                  ATTACH + "for step in range(15): swarm.step()\n"
                                  "if len(count.read_text()) < 3: raise ValueError('bad sample')\n"
                                  "while swarm.step(): pass\n")
        self.assertIn("ended with exit code 1: ValueError: bad sample; it is started again in 0.5 s", said)
        self.assertRegex(said, "ended for the 2nd time, with exit code 1: ValueError: bad sample; it is "
                               "started again in (0.5|1) s")
        self.assertEqual(code, 0)

    def test_a_trainer_that_fails_after_its_loop_ends_the_run_with_what_it_wrote(self):
        said, code = self.trained(ATTACH + "for step in range(9): swarm.step()\n"
                                  "open('/no/such/folder/model', 'w')\n", "--stop.rounds=100000000")
        self.assertIn("ended 5 times in a row with exit code 1: FileNotFoundError: [Errno 2] No such file or "
                      "directory: '/no/such/folder/model'; it is not started again", said)
        self.assertEqual(code, 1)

    def test_a_module_that_is_missing_ends_the_run_at_once(self):
        said, code = self.trained("import no_such_module\n")
        self.assertIn("ended with exit code 1 and never attached: ModuleNotFoundError: No module named "
                      "'no_such_module'; it is not started again", said)
        self.assertNotIn("it is started again", said)
        self.assertEqual(code, 1)

    def test_a_trainer_that_is_refused_again_ends_the_run_with_the_reason(self):
        said, code = self.trained("starling.attach(tensors={'w': numpy.zeros(2)})\n", "--optim.algorithm=gt")
        self.assertIn("the daemon refused it: optim.algorithm = gt adds a correction", said)
        self.assertEqual(code, 1)

    def test_a_loss_that_is_no_number_is_told_with_its_round_once(self):
        said, code = self.trained("with starling.attach(tensors={'w': numpy.zeros(2)}) as swarm:\n"
                                  "    while swarm.step(loss=float('nan')): pass\n", "--stop.rounds=12")
        self.assertIn("1 of 1 nodes lost steps at the end; node-0: the last steps were refused: "
                      "the trainer: the loss is nan after 1 steps in round 12.", said)
        self.assertEqual(code, 3)

    def test_a_trainer_that_never_attaches_is_told(self):
        said, code = self.up("true")
        self.assertIn('trainer.command "true" ended with exit code 0 and never attached', said)
        self.assertNotEqual(code, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
