#!/usr/bin/env python3
"""What a trainer keeps at its daemon and finds again.

    kept_test.py

Exit code 77, and a word, where there is no python3-torch.
"""
import json
import math
import mmap
import os
import random
import tempfile
import unittest

from torch_support import attached, starling, torch

import numpy
from starling.keeper import Keeper
from starling.kept import decode, encode


class Counter:
    """An object with a state of its own."""

    def __init__(self, count=0):
        self.count = count

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def there_and_back(tree):
    return decode(bytearray(b"".join(bytes(part) for part in encode(tree))))


def adam_after(steps):
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).square().sum().backward()
        optimizer.step()
    return model, optimizer


def warm_up(count):
    return min(1, (count + 1) / 4) * (1 + math.cos(math.pi * count / 40)) / 2


SCHEDULES = {
    "one cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=40),
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=40),
    "cosine with warm-up": lambda o: torch.optim.lr_scheduler.LambdaLR(o, warm_up),
    "plateau": lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=2)}


def step_schedule(optimizer, schedule):
    """At a measure that never falls."""
    optimizer.step()
    if isinstance(schedule, torch.optim.lr_scheduler.ReduceLROnPlateau):
        schedule.step(1.0)
    else:
        schedule.step()


def rates(optimizer):
    return [(group["lr"], group.get("betas")) for group in optimizer.param_groups]


def moments(optimizer):
    return [state["exp_avg"].tolist() for state in optimizer.state.values()]


class Bytes(unittest.TestCase):
    def test_plain_data_and_tensors_come_back_as_they_were(self):
        tree = {"a": [1, 2.5, "three", None, True], 4: (math.inf, -1), "b": {"nested": {}}}
        self.assertEqual(there_and_back(tree), tree)
        self.assertTrue(math.isnan(there_and_back([math.nan])[0]))
        for tensor in (torch.tensor(3.0), torch.zeros(0, 2), torch.arange(6).view(2, 3).t(),
                       torch.tensor([1.5, 2.5], dtype=torch.bfloat16), torch.tensor([True, False])):
            found, = there_and_back([tensor])
            self.assertTrue(torch.equal(found, tensor) and found.dtype == tensor.dtype, tensor)
        array = numpy.arange(4, dtype=numpy.int16)
        found, = there_and_back((array,))
        self.assertTrue(isinstance(found, numpy.ndarray) and (found == array).all())

    def test_the_file_of_a_model_is_loaded_by_name_and_what_does_not_fit_is_told(self):
        model = torch.nn.Linear(3, 2)
        rows = [("weight", "F32", [2, 3], 0, 24), ("bias", "F32", [2], 24, 32)]

        def file_of(rows, rest=b""):
            header = "{%s}" % ",".join('"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % row
                                       for row in rows)
            numbers = numpy.arange(8, dtype="<f4").tobytes()[:rows[-1][4]]
            file = tempfile.NamedTemporaryFile()
            file.write(len(header).to_bytes(8, "little") + header.encode() + numbers + rest)
            file.flush()
            return file
        with file_of(rows) as file:
            self.assertEqual(starling.load(file.name)["bias"].tolist(), [6, 7])
            self.assertEqual(starling.load(file.name, model), [])
            self.assertEqual(model.weight.flatten().tolist(), [0, 1, 2, 3, 4, 5])
            for other, words in ((torch.nn.Sequential(model), "the model lacks: bias, weight"),
                                 (torch.nn.Linear(2, 2), "weight has shape")):
                with self.assertRaisesRegex(ValueError, words):
                    starling.load(file.name, other)
        with file_of(rows[:1]) as file:
            self.assertEqual(starling.load(file.name, model), ["bias"])
        for wrong, words in ((rows + [rows[1]], "twice"), (rows[1:], "expected from 0 on")):
            with file_of(wrong) as file, self.assertRaisesRegex(ValueError, words):
                starling.load(file.name)
        with file_of(rows, b"more") as file, self.assertRaisesRegex(ValueError, "4 bytes at its end"):
            starling.load(file.name)

    def test_what_is_neither_is_named(self):
        with self.assertRaisesRegex(TypeError, r"state\['a'\]\[1\] is object"):
            encode({"a": [1, object()]})

    def test_bytes_that_are_no_state_are_refused_and_never_more_than_that(self):
        whole = b"".join(bytes(part) for part in encode({"m": torch.arange(40.0), "k": [1, "two"]}))
        chance = random.Random(7)
        for _ in range(3000):
            spoilt = bytearray(whole)
            for _ in range(chance.randrange(1, 4)):
                spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
            if chance.random() < 0.3:
                del spoilt[chance.randrange(len(spoilt)):]
            try:
                decode(spoilt)
            except ValueError:
                pass

    def test_a_tree_that_is_too_deep_or_a_tensor_that_is_too_large_is_refused(self):
        deep = "[" * 100_000 + "]" * 100_000
        for metadata, rows in ((deep, {}), ("0", {"0": {"dtype": "F32", "shape": [1 << 80],
                                                         "data_offsets": [0, 4]}})):
            header = {"__metadata__": {"format": "starling.kept 1", "tree": metadata}, **rows}
            text = json.dumps(header).encode()
            with self.assertRaises(ValueError):
                decode(bytearray(len(text).to_bytes(8, "little") + text + bytes(4)))

    def test_nothing_in_it_is_run(self):
        tree = bytes(encode({})[0]).replace(b'{\\"dict\\": []}', b'{\\"eval\\": []}')
        with self.assertRaises(ValueError):
            decode(bytearray(tree))


class Keeping(unittest.TestCase):
    def test_an_optimizer_goes_on_where_it_was(self):
        model, optimizer = adam_after(5)
        descriptor = Keeper([optimizer], [Counter(7)]).save()
        other_model, other = adam_after(0)
        counter = Counter()
        Keeper([other], [counter]).load(descriptor, own=True)
        os.close(descriptor)
        self.assertEqual(moments(other), moments(optimizer))
        self.assertEqual(counter.count, 7)
        other_model.load_state_dict(model.state_dict())
        for (net, steps) in ((model, optimizer), (other_model, other)):
            steps.zero_grad()
            net(torch.ones(4, 3)).square().sum().backward()
            steps.step()
        self.assertTrue(torch.equal(model.weight, other_model.weight))

    def test_of_a_donor_only_the_moments_are_taken(self):
        _, donor = adam_after(5)
        descriptor = Keeper([donor], [Counter(7)]).save()
        _, other = adam_after(0)
        other.param_groups[0]["lr"] = 0.5
        counter, numbers = Counter(), torch.get_rng_state()
        Keeper([other], [counter]).load(descriptor, own=False)
        os.close(descriptor)
        self.assertEqual(moments(other), moments(donor))
        self.assertEqual((other.param_groups[0]["lr"], counter.count), (0.5, 0))
        self.assertTrue(torch.equal(torch.get_rng_state(), numbers))

    def test_a_newcomer_takes_the_schedule_of_its_donor_and_steps_at_its_rate(self):
        for schedule in SCHEDULES.values():
            _, donor = adam_after(0)
            kept = schedule(donor)
            for _ in range(7):
                step_schedule(donor, kept)
            descriptor = Keeper([donor], [Counter(7), kept]).save()
            _, other = adam_after(0)
            counter, taken = Counter(), schedule(other)
            Keeper([other], [counter, taken]).load(descriptor, own=False)
            os.close(descriptor)
            self.assertEqual(counter.count, 0)
            for _ in range(20):
                self.assertEqual(rates(other), rates(donor))
                step_schedule(donor, kept)
                step_schedule(other, taken)

    def test_a_schedule_of_rounds_has_the_rate_of_the_others_whenever_a_trainer_begins(self):
        for name, schedule in SCHEDULES.items():
            if name == "plateau":  # follows a measure, and no count
                continue
            seen = {}
            for first in (1, 9):
                seen[first] = []

                def script(daemon, first=first):
                    trainer = daemon.accept()
                    trainer.welcome()
                    for number in range(first, 20):
                        trainer.step(round=number)
                        trainer.done()
                    trainer.end()
                model, optimizer = adam_after(0)
                scheduler = schedule(optimizer)
                daemon, swarm = attached(script, model, optimizer)
                with daemon:
                    while swarm.is_running:
                        swarm.schedule(scheduler)
                        seen[first].append((swarm.round, rates(optimizer)))
                        swarm.step()
            self.assertEqual(seen[1][8:], seen[9], name)

    def test_a_state_of_another_optimizer_is_refused(self):
        _, optimizer = adam_after(1)
        descriptor = Keeper([optimizer], []).save()
        other = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        with self.assertRaisesRegex(ValueError, "other parameters"):
            Keeper([other], []).load(descriptor, own=True)
        os.close(descriptor)

    def test_moments_that_do_not_fit_are_refused_and_leave_the_optimizer_as_it_was(self):
        for spoil in (lambda moment: moment["exp_avg"].new_zeros(7),
                      lambda moment: moment["exp_avg"] * math.nan):
            _, donor = adam_after(2)
            moment = donor.state[donor.param_groups[0]["params"][0]]
            moment["exp_avg"] = spoil(moment)
            descriptor = Keeper([donor], []).save()
            _, other = adam_after(1)
            before = moments(other)
            with self.assertRaisesRegex(ValueError, "exp_avg of parameter 0"):
                Keeper([other], []).load(descriptor, own=False)
            os.close(descriptor)
            self.assertEqual(moments(other), before)

    def test_a_state_of_other_things_than_an_optimizers_is_refused(self):
        _, other = adam_after(1)
        for tree in ([], {}, {"optimizers": 3}, {"optimizers": []}, {"optimizers": [3]},
                     {"optimizers": [{"param_groups": ["a"], "state": {}}]},
                     {"optimizers": [{**other.state_dict(), "state": {9: {"m": torch.zeros(1)}}}]},
                     {"optimizers": [{**other.state_dict(), "state": {0: "text"}}]}):
            keeper = Keeper([other], [])
            keeper._state = lambda tree=tree: tree
            descriptor = keeper.save()
            with self.assertRaises(ValueError):
                keeper.load(descriptor, own=False)
            os.close(descriptor)

    def test_a_file_in_memory_for_the_daemon_cannot_be_changed(self):
        descriptor = Keeper([], [Counter(1)]).save()
        with self.assertRaises(OSError):
            os.pwrite(descriptor, b"x", 0)
        with self.assertRaises(OSError):
            mmap.mmap(descriptor, 8)
        os.close(descriptor)

    def test_only_objects_with_a_state_can_be_kept(self):
        with self.assertRaisesRegex(TypeError, "holds int"):
            Keeper([], [3])


class Wire(unittest.TestCase):
    def test_a_daemon_has_the_state_saved_and_loaded_between_two_steps(self):
        counter = Counter(3)
        seen = {}

        def script(daemon):
            trainer = daemon.accept()
            self.assertTrue(trainer.hello["saves"])
            trainer.welcome()
            record, descriptor = trainer.save()
            self.assertNotIn("refusal", record)
            trainer.step()
            trainer.done()
            self.assertNotIn("refusal", trainer.load(descriptor))
            with tempfile.TemporaryFile() as other:
                other.write(b"no state at all")
                other.flush()
                seen["refusal"] = trainer.load(other.fileno())["refusal"]
            os.close(descriptor)
            trainer.step()
            seen["count"] = counter.count
            trainer.done()
            trainer.end()
        tensors = {"x": torch.zeros(2)}
        daemon, swarm = attached(script, None, None, tensors=tensors, keep=[counter])
        with daemon:
            counter.count = 99
            self.assertTrue(swarm.step())
            self.assertFalse(swarm.step())
        self.assertEqual(seen["count"], 3)
        self.assertRegex(seen["refusal"], "header|kept")

    def test_a_state_that_cannot_be_saved_does_not_end_the_training(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            record, descriptor = trainer.save()
            self.assertIsNone(descriptor)
            self.assertRegex(record["refusal"], "is object")
            trainer.step()
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script, None, None, tensors={"x": torch.zeros(2)},
                                 keep=[Counter(object())])
        with daemon:
            self.assertFalse(swarm.step())

    def test_a_trainer_with_nothing_to_keep_says_so(self):
        def script(daemon):
            trainer = daemon.accept()
            self.assertFalse(trainer.hello["saves"])
            trainer.welcome()
            trainer.step()
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script, None, None, tensors={"x": torch.zeros(2)})
        with daemon:
            self.assertFalse(swarm.step())


if __name__ == "__main__":
    assert starling
    unittest.main()
