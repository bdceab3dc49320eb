"""Corrections of steps: the client adds them after each step, where the daemon asks for it."""
import sys
import unittest

import numpy

from session_test import attached, starling, vector


class Shifts(unittest.TestCase):
    def test_a_correction_of_steps_is_added_after_each_step_where_the_daemon_asks(self):
        def script(daemon):
            trainer = daemon.accept()
            self.assertEqual((trainer.hello["steps"], trainer.hello["learning_rate"]),
                             ("linear", 0.5))
            trainer.welcome()
            trainer.write("w", [10, -10], "correction")
            trainer.step(2, shifts=True)
            self.assertEqual(trainer.done()["learning_rate"], 0.5)
            self.assertEqual(list(trainer.numbers("w")), [23, -16])
            trainer.step()
            self.assertEqual(trainer.done()["learning_rate"], 0.25)
            self.assertEqual(list(trainer.numbers("w")), [24, -15])
            trainer.end()
        daemon, swarm = attached(script, steps="linear", learning_rate=0.5)
        with daemon:
            for expected in ([12, -7], [23, -16], [24, -15]):
                if swarm.status.exchanges == 1:
                    swarm.learning_rate = 0.25
                swarm.tensors["w"] += 1
                swarm.step()
                self.assertEqual(swarm.tensors["w"].tolist(), expected)

    def test_a_step_that_the_loop_calls_left_out_is_not_corrected(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write("w", [10, -10], "correction")
            trainer.step(2, shifts=True)
            done = trainer.done()
            self.assertEqual((done["steps"], done["left_out"]), (1, 1))
            self.assertEqual(list(trainer.numbers("w")), [12, -7])
            trainer.end()
        daemon, swarm = attached(script, steps="sgd")
        with daemon:
            swarm.step(taken=False)
            swarm.tensors["w"] += 1
            swarm.step()

    def test_numbers_of_half_precision_are_not_corrected_after_steps(self):
        def script(daemon):
            trainer = daemon.accept()
            self.assertFalse(trainer.hello["shifts"])
            trainer.welcome()
            trainer.end()
        daemon, _ = attached(script, {"w": numpy.zeros(2, dtype="float16")})
        with daemon:
            daemon.finish()
        with self.assertRaisesRegex(ValueError, "expected 'sgd', 'linear' or None"):
            starling.attach(tensors=vector(1), steps="adam")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
