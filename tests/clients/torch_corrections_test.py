#!/usr/bin/env python3
"""Corrections of a module of PyTorch: what is added to its gradients, and what is told of them.

    torch_corrections_test.py

Exit code 77, and a word, where there is no python3-torch.
"""
import sys
import unittest
import warnings
from pathlib import Path

from torch_support import attached, linear, one_round, take_step, torch


class Corrections(unittest.TestCase):
    def corrected(self, optimizer_of, scheduler=None, steps=1):
        """The weight after `steps` corrected steps; the correction is (10, -10)."""
        def script(daemon):
            trainer = daemon.accept()
            self.assertTrue(trainer.hello["corrects"])
            trainer.welcome()
            trainer.write("weight", [10, -10], "correction")
            trainer.step(steps, corrects=True)
            trainer.done()
            trainer.end()
        model = linear()
        optimizer = optimizer_of(model.parameters())
        schedule = scheduler(optimizer) if scheduler else None
        daemon, swarm = attached(script, model, optimizer)
        with daemon:
            for _ in range(steps):
                take_step(model, optimizer)
                if schedule is not None:
                    schedule.step()
                swarm.step()
        return model.weight.flatten().tolist()

    def test_the_correction_is_added_to_the_gradient(self):
        self.assertEqual(self.corrected(lambda p: torch.optim.SGD(p, lr=1.0)), [1 - 11, 2 + 7])

    def test_the_mean_of_corrected_gradients_is_told_whatever_the_optimizer_does(self):
        for corrects, expected in ((True, [11, -7]), (False, [1, 3])):
            told = []

            def script(daemon, corrects=corrects, told=told):
                trainer = daemon.accept()
                trainer.welcome()
                trainer.write("weight", [10, -10], "correction")
                trainer.write("weight", [77, 77], "gradient")  # of an earlier round
                trainer.step(4, corrects=corrects, tracks=True)
                trainer.done()
                told.append(list(trainer.numbers("weight", "gradient")))
                trainer.end()
            model = linear()
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
            daemon, swarm = attached(script, model, optimizer)
            with daemon:
                for _ in range(4):
                    take_step(model, optimizer)
                    swarm.step()
            self.assertEqual(told, [expected])

    def shifted(self, model, optimizer, steps=2):
        """The hello, and the weight after steps that are corrected by (10, -10) each."""
        hellos = []

        def script(daemon):
            trainer = daemon.accept()
            hellos.append(trainer.hello)
            trainer.welcome()
            if trainer.hello["shifts"]:
                trainer.write("weight", [10, -10], "correction")
            trainer.step(steps, shifts=trainer.hello["shifts"])
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script, model, optimizer)
        with daemon:
            for _ in range(steps):
                take_step(model, optimizer)
                swarm.step()
            take_step(model, optimizer)  # after the end, without a correction
        return hellos[0], model.weight.flatten().tolist()

    def test_a_correction_of_steps_does_not_enter_the_momentum(self):
        model = linear()
        hello, weight = self.shifted(model, torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.5))
        # 1, 1.5 and 1.75 gradients of (1, 3)
        self.assertEqual(weight, [1 - 4.25 + 20, 2 - 3 * 4.25 - 20])
        self.assertEqual((hello["steps"], hello["optimizer"], hello["learning_rate"]),
                         ("linear", "SGD", 1.0))

    def test_a_step_that_is_left_out_is_not_corrected(self):
        """Three calls of step(): left out, as by a GradScaler at an overflow, taken, left out."""
        def left_out(model, optimizer):
            del model, optimizer

        def fused(model, optimizer):
            optimizer.found_inf = torch.ones(1)
            optimizer.grad_scale = torch.ones(1)
            before = model.weight.detach().clone()
            take_step(model, optimizer)
            model.weight.data.copy_(before)  # a fused kernel changes nothing
            del optimizer.found_inf, optimizer.grad_scale

        def said(model, optimizer):
            del model, optimizer
        for leave_out in (left_out, fused, said):
            for algorithm in ("shifts", "corrects"):
                told = []

                def script(daemon, algorithm=algorithm, told=told):
                    trainer = daemon.accept()
                    trainer.welcome()
                    trainer.write("weight", [10, -10], "correction")
                    trainer.step(3, **{algorithm: True}, tracks=algorithm == "corrects")
                    told.append(trainer.done())
                    told.append(list(trainer.numbers("weight", "gradient")))
                    trainer.end()
                model = linear()
                optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
                daemon, swarm = attached(script, model, optimizer)
                with daemon:
                    for is_taken in (False, True, False):
                        (take_step if is_taken else leave_out)(model, optimizer)
                        swarm.step(taken=is_taken if leave_out is said else None)
                self.assertEqual((told[0]["steps"], told[0].get("left_out")),
                                 (1, 2 if leave_out is said else None))
                self.assertEqual(model.weight.flatten().tolist(),
                                 [1 - 1 + 10, 2 - 3 - 10] if algorithm == "shifts" else
                                 [1 - 11, 2 + 7])
                if algorithm == "corrects":  # the sum over the steps taken, over the steps asked for
                    for one, other in zip(told[1], (11 / 3, -7 / 3)):
                        self.assertAlmostEqual(one, other, places=5)

    def test_each_tensor_is_corrected_as_often_as_its_own_optimizer_steps(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            for name in ("0.weight", "1.weight"):
                trainer.write(name, [10, -10], "correction")
            trainer.step(1, shifts=True)
            self.assertEqual(trainer.done()["steps"], 2)
            trainer.end()
        model = torch.nn.ModuleList([linear(), linear()])
        optimizers = [torch.optim.SGD(part.parameters(), lr=0.0) for part in model]
        daemon, swarm = attached(script, model, optimizers)
        with daemon:
            for _ in range(2):
                take_step(model[1], optimizers[1])
            swarm.step()
        self.assertEqual([part.weight.flatten().tolist() for part in model], [[1, 2], [21, -18]])

    def test_the_hello_says_what_is_known_of_the_steps(self):
        class Own(torch.optim.SGD):
            """Nobody knows what it does."""
        for optimizer_of, expected in ((torch.optim.SGD, "sgd"), (torch.optim.Adam, ""), (Own, "")):
            model = linear()
            hello, _ = self.shifted(model, optimizer_of(model.parameters(), lr=0.5))
            self.assertEqual((hello["steps"], hello["optimizer"], hello["learning_rate"]),
                             (expected, optimizer_of.__name__, 0.5))

    def test_a_model_of_half_precision_says_that_its_steps_are_not_corrected(self):
        model = linear().to(torch.bfloat16)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        told = []

        def script(daemon):
            trainer = daemon.accept()
            told.append(trainer.hello["shifts"])
            one_round(trainer)
        daemon, swarm = attached(script, model, optimizer)
        with daemon:
            swarm.step()
        self.assertEqual(told, [False])

    def test_adam_sees_the_corrected_gradient(self):
        reference = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        adam = torch.optim.Adam([reference], lr=0.1)
        for _ in range(3):
            reference.grad = torch.tensor([11.0, -7.0])
            adam.step()
        got = self.corrected(lambda p: torch.optim.Adam(p, lr=0.1), steps=3)
        self.assertEqual(got, reference.tolist())

    def test_a_correction_comes_before_the_momentum_and_the_matrix_sign_of_muon(self):
        """Muon for the matrix and SGD for the rest: each step is that along corrected gradients."""
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients/python/examples"))
        from muon import Muon

        def model_of():
            model = torch.nn.Linear(2, 2)
            model.load_state_dict({"weight": torch.eye(2), "bias": torch.zeros(2)})
            return model, [Muon([model.weight], lr=0.1), torch.optim.SGD([model.bias], lr=1.0)]

        def take_steps(model, optimizers, after, more=0.0):
            for _ in range(3):
                model(torch.tensor([[1.0, 3.0]])).sum().backward()
                model.weight.grad += more * torch.tensor([[10.0, -10.0], [0.0, 5.0]])
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad()
                after()
        told = []

        def script(daemon):
            trainer = daemon.accept()
            told.append((trainer.hello["steps"], trainer.hello["corrects"]))
            trainer.welcome()
            trainer.write("weight", [10, -10, 0, 5], "correction")
            trainer.step(3, corrects=True)
            trainer.done()
            trainer.end()
        model, optimizers = model_of()
        daemon, swarm = attached(script, model, optimizers)
        with daemon:
            take_steps(model, optimizers, swarm.step)
        reference, theirs = model_of()
        take_steps(reference, theirs, lambda: None, more=1.0)
        self.assertEqual(told, [("", True)])
        self.assertEqual(model.weight.tolist(), reference.weight.tolist())

    def test_it_is_added_once_under_a_schedule_made_before(self):
        def halved(optimizer):
            return torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = self.corrected(lambda p: torch.optim.SGD(p, lr=1.0), halved, steps=2)
        self.assertEqual(got, [1 - 11 - 5.5, 2 + 7 + 3.5])

    def test_it_is_added_once_under_a_schedule_made_after(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write("weight", [10, -10], "correction")
            trainer.step(2, corrects=True)
            trainer.done()
            trainer.end()
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        daemon, swarm = attached(script, model, optimizer)
        with daemon, warnings.catch_warnings():
            warnings.simplefilter("error")
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
            for _ in range(2):
                take_step(model, optimizer)
                schedule.step()
                swarm.step()
            take_step(model, optimizer)  # after the end, without a correction
        self.assertEqual(model.weight.tolist(), [[1 - 11 - 5.5 - 0.25, 2 + 7 + 3.5 - 0.75]])

    def test_a_closure_is_corrected_too(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write("weight", [10, -10], "correction")
            trainer.step(1, corrects=True)
            trainer.done()
            trainer.end()
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

        def closure():
            optimizer.zero_grad()
            loss = model(torch.tensor([[1.0, 3.0]])).sum()
            loss.backward()
            return loss
        daemon, swarm = attached(script, model, optimizer)
        with daemon:
            optimizer.step(closure)
            swarm.step()
        self.assertEqual(model.weight.tolist(), [[1 - 11, 2 + 7]])

    def test_a_round_without_correction_steps_as_ever_and_the_end_undoes_it(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.write("weight", [10, -10], "correction")
            one_round(trainer)
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        daemon, swarm = attached(script, model, optimizer)
        with daemon:
            self.assertIn("step", vars(optimizer))
            take_step(model, optimizer)
            swarm.step()
        self.assertEqual(model.weight.tolist(), [[0, -1]])
        self.assertNotIn("step", vars(optimizer))

    def test_an_optimizer_of_half_the_model_does_not_correct(self):
        model = torch.nn.Sequential(linear(), torch.nn.Linear(1, 1))
        told = []

        def script(daemon):
            trainer = daemon.accept()
            told.append(trainer.hello["corrects"])
            one_round(trainer)
        daemon, swarm = attached(script, model, torch.optim.SGD(model[0].parameters(), lr=1.0))
        with daemon:
            swarm.step()
        self.assertEqual(told, [False])


if __name__ == "__main__":
    unittest.main()
