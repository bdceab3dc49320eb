#!/usr/bin/env python3
"""The daemon takes the steps and asks a trainer for losses and gradients.

    serve_test.py

Exit code 77, and a word, where there is no python3-numpy; cases of torch are left out without it.
"""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))
from fake_daemon import FakeDaemon, needed  # noqa: E402

numpy = needed("numpy")
try:
    import torch
except ImportError:
    torch = None

import starling  # noqa: E402

POINTS = numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])


def distance(x, batch, gradients):
    """Half the squared distance of `w` to the points; its gradient is w minus their mean."""
    points = POINTS if batch is None else POINTS[batch]
    gradients["w"] += x["w"] - points.mean(axis=0)
    return 0.5 * ((x["w"] - points) ** 2).sum(axis=1).mean()


class Serving(unittest.TestCase):
    def test_losses_and_gradients_are_those_of_the_samples_asked_for(self):
        def script(daemon):
            trainer = daemon.accept()
            hello = trainer.hello
            self.assertEqual((hello["mode"], hello["samples"], hello["evaluates"]),
                             ("gradients", 3, True))
            self.assertEqual(hello["gradient"]["bytes"], hello["values"]["bytes"])
            self.assertGreaterEqual(hello["batch"]["bytes"], 12)
            trainer.welcome()
            for batch, gradient in (([], [-3, -5]), ([1], [-3, -4]), ([0, 2], [-3, -5.5])):
                trainer.write("w", [0, 0])
                trainer.write_batch(batch)
                trainer.job += 1
                trainer.say("gradient", job=trainer.job, round=1, batch=len(batch))
                done = trainer.done()
                self.assertEqual(list(trainer.numbers("w", "gradient")), gradient)
                self.assertEqual(done["samples"], len(batch) or 3)
            self.assertEqual(done["loss"], 0.5 * (5 + 106) / 2)
            trainer.job += 1
            trainer.say("evaluate", job=trainer.job, limit=0)
            self.assertEqual(trainer.done(), {"kind": "done", "job": 4, "accuracy": 0.5})
            trainer.end("enough")
        with FakeDaemon() as daemon:
            daemon.run(script)
            limits = []

            def evaluate(x, limit):
                limits.append(limit)
                return {"accuracy": 0.5, "loss": None}
            reason = starling.serve(distance, tensors={"w": numpy.zeros(2)}, samples=3,
                                    evaluate=evaluate, socket=daemon.path)
        self.assertEqual(reason, "enough")
        self.assertEqual(limits, [None])

    def test_a_gradient_that_is_not_finite_is_refused(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.say("gradient", job=0, round=1, batch=0)
            self.assertEqual(trainer.done()["refusal"], "the gradient of w is not finite")
            trainer.end()

        def broken(x, batch, gradients):
            gradients["w"][0] = numpy.nan
            return 1
        with FakeDaemon() as daemon:
            daemon.run(script)
            starling.serve(broken, tensors={"w": numpy.zeros(2)}, samples=3, socket=daemon.path)

    def test_an_exception_of_the_function_ends_the_session_and_passes_on(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.say("gradient", job=0, round=1, batch=0)
            trainer.hear_nothing_more()
        with FakeDaemon() as daemon:
            daemon.run(script)
            with self.assertRaises(ZeroDivisionError):
                starling.serve(lambda *_: 1 / 0, tensors={"w": numpy.zeros(2)}, samples=3,
                               socket=daemon.path)

    def test_more_samples_than_there_are_is_told(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.say("gradient", job=0, round=1, batch=4)
        with FakeDaemon() as daemon:
            daemon.run(script)
            with self.assertRaisesRegex(starling.Garbled, "4 samples of 3"):
                starling.serve(distance, tensors={"w": numpy.zeros(2)}, samples=3,
                               socket=daemon.path)

    @unittest.skipIf(torch is None, "python3-torch is not installed")
    def test_a_module_gives_the_gradients_of_its_backward(self):
        data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        for drops in (False, True):  # the loop may drop the gradients that alias the segment
            model = torch.nn.Linear(2, 1, bias=False)

            def loss_of(x, batch, gradients):
                if drops:
                    model.weight.grad = None
                loss = model(data if batch is None else data[batch]).mean()
                loss.backward()
                return loss

            def script(daemon):
                trainer = daemon.accept()
                trainer.welcome()
                trainer.write_batch([1])
                for batch, gradient in ((0, [2, 3]), (1, [3, 4])):
                    trainer.job += 1
                    trainer.write("weight", [1, 1])
                    trainer.say("gradient", job=trainer.job, round=1, batch=batch)
                    self.assertEqual(trainer.done()["loss"], sum(gradient))
                    self.assertEqual(list(trainer.numbers("weight", "gradient")), gradient)
                trainer.end()
            with self.subTest(drops=drops), FakeDaemon() as daemon:
                daemon.run(script)
                starling.serve(loss_of, model=model, samples=2, socket=daemon.path)


if __name__ == "__main__":
    unittest.main()
