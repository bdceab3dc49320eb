#!/usr/bin/env python3
"""starling.simulate() beside the program.

    simulate_test.py STARLING
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "python"
sys.path.insert(0, str(CLIENT))
import starling  # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())


class Simulate(unittest.TestCase):
    def test_curves_are_lists_by_name(self):
        run = starling.simulate(3, program=PROGRAM, data_source="reference", stop_rounds=5,
                                **{"data.reference.n": 3})
        self.assertEqual(run.round, list(range(6)))
        self.assertEqual({len(getattr(run, name)) for name in ("loss", "rmse", "distance")}, {6})
        self.assertLess(run.distance_to_optimum[-1], run.distance_to_optimum[0])
        self.assertEqual(run.accuracy, [None] * 6)
        self.assertTrue(run.reached)
        self.assertEqual([node["name"] for node in run.nodes], ["node-0", "node-1", "node-2"])

    def test_a_goal_that_is_not_reached_is_no_error(self):
        run = starling.simulate(2, program=PROGRAM, data_source="reference", stop_rounds=3,
                                stop_loss=1e-9)
        self.assertFalse(run.reached)

    def test_a_simulation_is_shown_in_one_line(self):
        run = starling.simulate(3, program=PROGRAM, data_source="reference", stop_rounds=5)
        self.assertRegex(repr(run), r"^<Simulation of 3 nodes, round 5, goal reached \(5 rounds \(stop\.rounds\)\): "
                                    r"time_s [^,]+, loss [^,]+, .*distance [^,]+.*>$")

    def test_a_refusal_holds_the_words_of_the_program(self):
        with self.assertRaisesRegex(starling.Error, "optim.algorithm = \"sgd\": expected one of"):
            starling.simulate(2, program=PROGRAM, optim_algorithm="sgd")

    def test_without_a_program_it_says_how_to_get_one(self):
        with mock.patch.dict(os.environ, {"STARLING_PROGRAM": "/nowhere/starling"}):
            with self.assertRaisesRegex(starling.NotFound, "at /nowhere/starling: install"):
                starling.simulate(2)

    def test_the_example_draws(self):
        with tempfile.TemporaryDirectory() as folder:
            drawn = Path(folder) / "matplotlib"
            drawn.mkdir()
            (drawn / "__init__.py").write_text("")
            (drawn / "pyplot.py").write_text(
                "def __getattr__(name):\n"
                "    return lambda *given, **named: print(name, len(given[0]) if given else 0)\n")
            os.symlink(PROGRAM, Path(folder) / "starling")
            run = subprocess.run(
                [sys.executable, str(CLIENT / "examples" / "simulate_plot.py")], cwd=folder,
                env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}",
                     "PYTHONPATH": f"{folder}:{CLIENT}"}, capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout.count("semilogy 201"), 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
