#!/usr/bin/env python3
"""What training loops do, beside a daemon that corrects and tracks their gradients: each works, or is
refused by the name of what does not.

    loops_test.py

Exit code 77, and a word, where there is no python3-torch.
"""
import copy
import unittest
import warnings

from torch_support import attached, linear, starling, torch

CORRECTION = [10.0, -10.0]
GRADIENT = [1.0, 3.0]  # of one neuron and the input (1, 3)


def backward(model, scale=1.0):
    (scale * model(torch.tensor([[1.0, 3.0]])).sum()).backward()


class Loops(unittest.TestCase):
    def played(self, model, optimizer, loop, steps=2, name="weight", **options):
        """The weight as the daemon has it after `steps` steps from (1, 2), and the mean of the
        gradients; the correction is (10, -10)."""
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            self.assertTrue(trainer.hello["corrects"])
            trainer.welcome(algorithm="gt")
            trainer.write(name, CORRECTION, "correction")
            trainer.step(steps, corrects=True, tracks=True)
            trainer.done()
            seen.append((list(trainer.numbers(name)), list(trainer.numbers(name, "gradient"))))
            trainer.end()
        daemon, swarm = attached(script, model, optimizer, **options)
        with daemon:
            for _ in range(steps):
                loop()
                swarm.step()
        return seen[0]

    def expect(self, seen, gradient, rate=1.0, steps=2):
        corrected = [g + c for g, c in zip(gradient, CORRECTION)]
        for told, wanted in zip(seen, ([start - steps * rate * g
                                        for start, g in zip([1, 2], corrected)], corrected)):
            for one, other in zip(told, wanted):
                self.assertAlmostEqual(one, other, places=5)

    def test_gradients_of_several_batches_are_corrected_once(self):
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

        def loop():
            optimizer.zero_grad()
            for _ in range(4):
                backward(model, 0.25)
            optimizer.step()
        self.expect(self.played(model, optimizer, loop), GRADIENT)

    def test_mixed_precision_with_a_scaler_of_losses(self):
        """A GradScaler unscales in the optimizer's place; a fused optimizer within its step."""
        class Fused(torch.optim.SGD):
            grad_scale = torch.tensor(8.0)

            def step(self, closure=None):
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter.grad /= self.grad_scale
                return super().step(closure)
        for optimizer_class, unscales in ((torch.optim.SGD, True), (Fused, False)):
            model = linear()
            optimizer = optimizer_class(model.parameters(), lr=1.0)

            def loop(model=model, optimizer=optimizer, unscales=unscales):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = model(torch.tensor([[1.0, 3.0]])).float().sum()
                (8 * loss).backward()
                if unscales:
                    model.weight.grad /= 8
                optimizer.step()
            self.expect(self.played(model, optimizer, loop), GRADIENT)

    def test_clipping_acts_on_the_gradient_and_not_on_the_correction(self):
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

        def loop():
            optimizer.zero_grad()
            backward(model)
            torch.nn.utils.clip_grad_value_(model.parameters(), 2.0)
            optimizer.step()
        self.expect(self.played(model, optimizer, loop), [1.0, 2.0])

    def test_a_schedule_by_step(self):
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)

        def loop():
            optimizer.zero_grad()
            backward(model)
            optimizer.step()
            schedule.step()
        self.expect(self.played(model, optimizer, loop, keep=[schedule]), GRADIENT, rate=0.75)

    def test_two_optimizers_step_parameters_of_their_own(self):
        model = torch.nn.ModuleDict({"generator": linear(), "critic": linear()})
        first = torch.optim.SGD(model["generator"].parameters(), lr=1.0)
        second = torch.optim.SGD(model["critic"].parameters(), lr=0.5, momentum=0.9)

        def loop():
            for optimizer, part in ((first, "generator"), (second, "critic")):
                optimizer.zero_grad()
                backward(model[part])
                optimizer.step()
        self.expect(self.played(model, [first, second], loop, name="generator.weight"), GRADIENT)

    def test_a_module_that_is_parametrized(self):
        class Same(torch.nn.Module):
            def forward(self, weight):
                return 1.0 * weight
        model = linear()
        torch.nn.utils.parametrize.register_parametrization(model, "weight", Same())
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

        def loop():
            optimizer.zero_grad()
            backward(model)
            optimizer.step()
        self.expect(self.played(model, optimizer, loop, name="parametrizations.weight.original"),
                    GRADIENT)

    def test_a_module_that_is_wrapped_has_the_names_of_its_own(self):
        class OptimizedModule(torch.nn.Module):
            """As torch.compile() returns."""

            def __init__(self, module):
                super().__init__()
                self._orig_mod = module
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

        def loop():
            optimizer.zero_grad()
            backward(model)
            optimizer.step()
        for wrapped in (OptimizedModule(model), torch.nn.DataParallel(model)):
            model.weight.data = torch.tensor([[1.0, 2.0]])
            self.expect(self.played(wrapped, optimizer, loop), GRADIENT)

    def test_an_average_of_earlier_models_is_kept_at_home(self):
        model = torch.nn.Module()
        model.net = linear()
        model.ema = copy.deepcopy(model.net).requires_grad_(False)
        optimizer = torch.optim.SGD(model.net.parameters(), lr=1.0)

        def loop():
            optimizer.zero_grad()
            backward(model.net)
            optimizer.step()
            with torch.no_grad():
                model.ema.weight.lerp_(model.net.weight, 0.5)
        self.expect(self.played(model, optimizer, loop, name="net.weight", local=["ema.*"]),
                    GRADIENT)


class Refusals(unittest.TestCase):
    def refused(self, error, text, model, **options):
        with self.assertRaisesRegex(error, text):
            starling.attach(model, socket="/nowhere", **options)

    def test_what_cannot_be_exchanged_is_named(self):
        model = linear()
        model.register_buffer("phase", torch.zeros(2, dtype=torch.complex64))
        self.refused(TypeError, "tensor phase is torch.complex64", model)
        with self.assertRaises(starling.NotFound):
            starling.attach(model, socket="/nowhere", local=["pha*"])
        self.refused(ValueError, r"no tensor is called ema\.\*", linear(), local=["ema.*"])
        model = linear()
        model.register_buffer("sparse", torch.eye(2).to_sparse())
        self.refused(TypeError, "tensor sparse is torch.float32, torch.sparse_coo", model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch: lazy modules are new
            model = torch.nn.LazyLinear(3)
        self.refused(TypeError, "tensor weight has no shape yet", model)

    def test_a_model_that_grows_a_head_is_told(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.hear_nothing_more()
        model = torch.nn.Sequential(linear())
        daemon, swarm = attached(script, model)
        with daemon:
            model.add_module("head", torch.nn.Linear(1, 1))
            with self.assertRaisesRegex(RuntimeError, "3 tensors and had 1 in attach .new: head.bias"):
                swarm.step()
            swarm._session.drop()

    def test_buffers_of_every_type_of_numbers_travel(self):
        model = linear()
        kinds = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64,
                 torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
        for number, kind in enumerate(kinds):
            model.register_buffer(f"b{number}", torch.ones(2, dtype=kind))

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            for number in range(len(kinds)):
                trainer.write(f"b{number}", [0, 1])
            trainer.step()
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script, model)
        with daemon:
            for number, kind in enumerate(kinds):
                value = getattr(model, f"b{number}")
                self.assertEqual((value.dtype, value.tolist()), (kind, [0, 1]))
            swarm.step()


if __name__ == "__main__":
    unittest.main()
