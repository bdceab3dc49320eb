#!/usr/bin/env python3
"""A module of PyTorch beside a daemon: what aliases the segment, and what is copied.

    torch_test.py

Exit code 77, and a word, where there is no python3-torch.
"""
import unittest
import warnings
from unittest import mock

from torch_support import attached, linear, one_round, starling, take_step, torch

from starling import torch_slots  # noqa: E402
from starling.streams import Streams  # noqa: E402


class Aliases(unittest.TestCase):
    def test_the_network_reads_and_writes_the_parameters_themselves(self):
        def script(daemon):
            trainer = daemon.accept()
            self.assertEqual(list(trainer.numbers("weight")), [1, 2])
            trainer.welcome()
            trainer.write("weight", [10, 20])
            trainer.step()
            done = trainer.done()
            self.assertEqual(list(trainer.numbers("weight")), [9, 17])
            self.assertEqual(done["learning_rate"], 1.0)
            trainer.write("weight", [30, 40])
            trainer.end(model=True)
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        daemon, swarm = attached(script, model, optimizer)
        with daemon:
            self.assertEqual(model.weight.tolist(), [[10, 20]])
            take_step(model, optimizer)
            self.assertFalse(swarm.step(loss=torch.tensor(0.5)))
            self.assertEqual(model.weight.tolist(), [[30, 40]])
            self.assertEqual(swarm.status.copied_bytes, 0)
            self.assertEqual(swarm.end_reason, "enough rounds")

    def test_the_alias_survives_adam_and_load_state_dict_and_batch_norm(self):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        state = {name: value.clone() for name, value in model.state_dict().items()}
        optimizer = torch.optim.Adam(model.parameters())
        seen = {}

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            for _ in range(2):
                trainer.step(2)
                trainer.done()
                seen.update({row["name"]: list(trainer.numbers(row["name"]))
                             for row in trainer.table})
            trainer.end()
        daemon, swarm = attached(script, model, optimizer)
        with daemon:
            for batch in range(4):
                if batch == 2:
                    model.load_state_dict(state)
                optimizer.zero_grad()
                model(torch.randn(5, 3)).square().sum().backward()
                optimizer.step()
                swarm.step()
            self.assertEqual(swarm.status.copied_bytes, 0)
        for name, value in model.state_dict().items():
            self.assertEqual(seen[name], value.flatten().tolist(), name)
        self.assertEqual(seen["1.num_batches_tracked"], [2])

    def test_a_saved_model_holds_its_own_numbers_only(self):
        import io
        model = linear()
        daemon, swarm = attached(lambda daemon: one_round(daemon.accept()), model)
        with daemon:
            file = io.BytesIO()
            torch.save(model.state_dict(), file)
            self.assertLess(len(file.getvalue()), 2000)
            swarm.step()

    def test_parameters_that_are_not_contiguous_become_so(self):
        model = torch.nn.Linear(2, 2, bias=False)
        model.weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            seen.extend(trainer.numbers("weight"))
            one_round(trainer)
        daemon, swarm = attached(script, model)
        with daemon:
            self.assertTrue(model.weight.is_contiguous())
            swarm.step()
        self.assertEqual(seen, [1, 3, 2, 4])
        self.assertEqual(swarm.status.copied_bytes, 0)


class Roles(unittest.TestCase):
    def test_parameters_are_averaged_and_statistics_and_counters_have_their_roles(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
        model.register_buffer("table", torch.ones(3))
        model.register_buffer("passing", torch.ones(3), persistent=False)
        rows = []

        def script(daemon):
            trainer = daemon.accept()
            rows.extend(trainer.table)
            one_round(trainer)
        daemon, swarm = attached(script, model, local=["table"])
        with daemon:
            swarm.step()
        names = [row["name"] for row in rows]
        self.assertEqual(names, list(model.state_dict()))
        roles = {row["name"]: (row["role"], row["dtype"]) for row in rows}
        self.assertEqual(roles["0.weight"], ("averaged", "f32"))
        self.assertEqual(roles["1.bias"], ("averaged", "f32"))
        self.assertEqual(roles["1.running_mean"], ("statistic", "f32"))
        self.assertEqual(roles["1.running_var"], ("statistic", "f32"))
        self.assertEqual(roles["1.num_batches_tracked"], ("donor", "i64"))
        self.assertEqual(roles["table"], ("local", "f32"))
        shapes = {row["name"]: row["shape"] for row in rows}
        self.assertEqual(shapes["0.weight"], [2, 1, 3, 3])
        self.assertEqual(shapes["1.num_batches_tracked"], [])

    def test_tied_weights_are_one_tensor(self):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inside = torch.nn.Linear(2, 2, bias=False)
                self.outside = torch.nn.Linear(2, 2, bias=False)
                self.outside.weight = self.inside.weight
                self.third = torch.nn.Linear(2, 2, bias=False)
                self.third.weight.data = self.inside.weight.data  # another Parameter
        rows = []

        def script(daemon):
            trainer = daemon.accept()
            rows.extend(trainer.table)
            trainer.welcome()
            trainer.write("inside.weight", [1, 2, 3, 4])
            trainer.step()
            trainer.done()
            trainer.end()
        model = Tied()
        daemon, swarm = attached(script, model)
        with daemon:
            self.assertEqual([row["name"] for row in rows], ["inside.weight"])
            for layer in (model.inside, model.outside, model.third):
                self.assertEqual(layer.weight.tolist(), [[1, 2], [3, 4]])
            self.assertIs(model.outside.weight, model.inside.weight)
            swarm.step()
        self.assertEqual(swarm.status.copied_bytes, 0)

    def test_memory_shared_in_two_shapes_is_refused(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 3, bias=False),
                                    torch.nn.Linear(3, 2, bias=False))
        model[1].weight.data = model[0].weight.data.t()
        with self.assertRaisesRegex(TypeError, "1.weight and 0.weight share memory"):
            starling.attach(model, socket="/nowhere")

    def test_a_name_that_no_tensor_has_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no tensor is called wieght; there are weight"):
            starling.attach(linear(), socket="/nowhere", local=["wieght"])


class Copies(unittest.TestCase):
    def test_the_node_is_told_what_the_user_is_warned_of(self):
        notes = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.done()
            notes.extend(trainer.notes)
            trainer.end()
        model = linear()
        daemon, swarm = attached(script, model)
        with daemon, self.assertWarnsRegex(RuntimeWarning, "no longer lie in the memory"):
            model.weight.data = model.weight.data.clone()
            swarm.step()
        self.assertEqual(len([note for note in notes if "no longer lie" in note]), 1)

    def test_a_broken_alias_is_copied_and_told_once(self):
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            for given in (5, 7, 9):
                trainer.write("weight", [given, given])
                trainer.step()
                trainer.done()
                seen.append(list(trainer.numbers("weight")))
            trainer.end()
        model = linear()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        daemon, swarm = attached(script, model, optimizer)
        with daemon, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for number in range(3):
                if number == 1:
                    model.weight.data = model.weight.data.clone()
                take_step(model, optimizer)
                swarm.step()
        self.assertEqual(seen, [[4, 2], [6, 4], [8, 6]])
        self.assertEqual([str(one.message)[:18] for one in caught], ["1 tensors (weight,"])
        self.assertEqual(swarm.status.copied_bytes, 8 * 3)  # out, in, out

    def test_the_last_model_is_copied_into_a_broken_alias(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.done()
            trainer.write("weight", [30, 40])
            trainer.end(model=True)
        model = linear()
        daemon, swarm = attached(script, model)
        with daemon, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.weight.data = model.weight.data.clone()
            swarm.step()
        self.assertEqual(model.weight.tolist(), [[30, 40]])

    def test_a_parameter_that_is_replaced_is_found(self):
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.done()
            seen.extend(trainer.numbers("weight"))
            trainer.write("weight", [1, 1])
            trainer.step()
            trainer.done()
            trainer.end()
        model = linear()
        daemon, swarm = attached(script, model)
        with daemon, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.weight = torch.nn.Parameter(torch.tensor([[7.0, 8.0]]))
            swarm.step()
            self.assertEqual(model.weight.tolist(), [[1, 1]])
            swarm.step()
        self.assertEqual(seen, [7, 8])

    def test_half_precision_does_not_round_what_the_network_holds(self):
        given = [1 + 2 ** -20, 3 + 2 ** -19]
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            self.assertEqual(trainer.row("weight")["dtype"], "f32")
            trainer.welcome()
            trainer.write("weight", given)
            trainer.step()
            trainer.done()
            seen.append(list(trainer.numbers("weight")))
            trainer.step()
            trainer.done()
            seen.append(list(trainer.numbers("weight")))
            trainer.end()
        model = linear().to(torch.bfloat16)
        daemon, swarm = attached(script, model)
        with daemon, warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(model.weight.tolist(), [[1, 3]])
            swarm.step()
            model.weight.data.add_(0.5)
            swarm.step()
        self.assertEqual(seen, [given, [value + 0.5 for value in given]])

    def test_half_precision_is_added_tile_by_tile_in_the_order_of_rows(self):
        given = [k + 2 ** -18 for k in range(1, 7)]
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write("weight", given)
            trainer.step()
            trainer.done()
            seen.extend(trainer.numbers("weight"))
            trainer.end()
        model = torch.nn.Linear(2, 3, bias=False).to(torch.bfloat16)
        model.weight.data = model.weight.data.t().contiguous().t()
        daemon, swarm = attached(script, model)
        with daemon, mock.patch.object(torch_slots, "_TILE", 4):
            self.assertEqual(model.weight.tolist(), [[1, 2], [3, 4], [5, 6]])
            self.assertFalse(model.weight.is_contiguous())
            model.weight.data[2, 0] += 3
            swarm.step()
        self.assertEqual(seen, [*given[:4], given[4] + 3, given[5]])

    def test_half_precision_that_is_not_finite_is_refused(self):
        told = []
        model = linear().to(torch.float16)
        daemon, swarm = attached(lambda daemon: told.append(one_round(daemon.accept())), model)
        with daemon, self.assertWarnsRegex(RuntimeWarning, "not shared"):
            model.weight.data[0, 1] = float("inf")
            swarm.step()
        self.assertEqual(told[0]["refusal"], "weight is not finite after 1 steps")

    def test_a_sum_that_overflows_is_no_fault(self):
        told = []
        model = linear()
        daemon, swarm = attached(lambda daemon: told.append(one_round(daemon.accept())), model)
        with daemon:
            model.weight.data.fill_(3e38)
            swarm.step()
        self.assertNotIn("refusal", told[0])

    def test_the_stream_of_each_device_waits_once_for_all_copies_of_an_exchange(self):
        devices = {torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1)}
        made = {}

        def make(device):
            return made.setdefault(device, mock.MagicMock(name=str(device)))
        streams = Streams()
        with mock.patch.multiple(torch.cuda, Stream=make, current_stream=mock.DEFAULT,
                                 stream=mock.DEFAULT) as cuda:
            for _ in range(2):
                with streams.of(devices):
                    pass
                streams.finish()
                streams.join()
        self.assertEqual(set(made), {torch.device("cuda", 0), torch.device("cuda", 1)})
        for stream in made.values():
            self.assertEqual(stream.wait_stream.call_count, 2)
            self.assertEqual(stream.synchronize.call_count, 2)
            cuda["stream"].assert_any_call(stream)
        self.assertEqual(cuda["current_stream"].return_value.wait_stream.call_count, 4)

    def test_small_integers_travel_as_i64(self):
        model = linear()
        model.register_buffer("mask", torch.tensor([True, False]))
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            seen.append((trainer.row("mask")["dtype"], list(trainer.numbers("mask"))))
            trainer.welcome()
            trainer.write("mask", [0, 1])
            trainer.step()
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script, model)
        with daemon:
            self.assertEqual(model.mask.tolist(), [False, True])
            swarm.step()
        self.assertEqual(seen, [("i64", [1, 0])])


class Faults(unittest.TestCase):
    def test_a_loss_that_is_not_finite_is_refused(self):
        told = []
        daemon, swarm = attached(lambda daemon: told.append(one_round(daemon.accept())), linear())
        with daemon, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            swarm.step(loss=torch.tensor(float("nan")))
        self.assertEqual(told[0]["refusal"], "the loss is nan after 1 steps")
        self.assertNotIn("loss", told[0])

    def test_parameters_that_are_not_finite_are_refused_and_leave_nothing_in_adam(self):
        told = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            told.append(trainer.done())
            trainer.write("weight", [1, 2])
            trainer.step()
            told.append(trainer.done())
            trainer.end()
        model = linear()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        daemon, swarm = attached(script, model, optimizer)
        with daemon:
            model.weight.grad = torch.tensor([[float("nan"), 1.0]])
            optimizer.step()
            with self.assertWarnsRegex(RuntimeWarning, "not shared"):
                swarm.step(loss=1.0)
            take_step(model, optimizer)
            swarm.step(loss=1.0)
        self.assertEqual(told[0]["refusal"], "weight is not finite after 1 steps")
        self.assertNotIn("refusal", told[1])
        self.assertEqual([round(value, 5) for value in model.weight.flatten().tolist()], [0.9, 1.9])


class Shares(unittest.TestCase):
    def test_a_data_loader_gives_the_samples_of_this_place(self):
        data = torch.utils.data.TensorDataset(torch.arange(10.0).view(10, 1))
        loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)
        told = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step(6, place=1, nodes=2)
            told.append(trainer.done())
            trainer.end()
        daemon, swarm = attached(script, linear())
        seen = []
        with daemon:
            for batch, in swarm.batches(loader):
                seen.append(batch.flatten().tolist())
                swarm.step()
        # The last two of an epoch are one batch, of the nodes in turn.
        self.assertEqual([len(batch) for batch in seen], [2] * 6)
        self.assertEqual(told[0]["samples"], 12)


class Frozen(unittest.TestCase):
    """Parameters without requires_grad stay at their node."""

    def rows_of(self, model, **options):
        rows = []

        def script(daemon):
            trainer = daemon.accept()
            rows.extend(trainer.rows)
            trainer.welcome()
            trainer.step()
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script, model, **options)
        with daemon:
            swarm.step()
        return [row["name"] for row in rows if row["name"] != "starling.position"]

    def model(self, base=0.0):
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
        model[0].requires_grad_(False)
        torch.nn.init.constant_(model[0].weight, base)
        torch.nn.init.constant_(model[0].bias, base)
        return model

    def test_what_is_trained_is_exchanged_with_a_fingerprint_of_the_rest(self):
        rows = self.rows_of(self.model())
        self.assertEqual(rows[:2], ["1.weight", "1.bias"])
        self.assertRegex(rows[2], r"^starling\.frozen\.[0-9a-f]{8}$")
        self.assertEqual(rows, self.rows_of(self.model()))
        self.assertNotEqual(rows, self.rows_of(self.model(1.0)))

    def test_all_are_exchanged_on_demand_or_where_all_are_frozen(self):
        names = ["0.weight", "0.bias", "1.weight", "1.bias"]
        self.assertEqual(self.rows_of(self.model(), trainable_only=False), names)
        self.assertEqual(self.rows_of(self.model().requires_grad_(False)), names)
        self.assertIn("0.bias", self.rows_of(self.model(), roles={"0.bias": "averaged"}))

    def test_a_frozen_parameter_that_is_trained_later_ends_the_loop(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.hear_nothing_more()
        model = self.model()
        daemon, swarm = attached(script, model)
        with daemon:
            model.requires_grad_(True)
            with self.assertRaisesRegex(RuntimeError, "0.weight was frozen in attach"):
                swarm.step()
            swarm._session.drop()

    def test_adapters_of_two_trained_factors_are_warned_of(self):
        class Adapter(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lora_A = torch.nn.Parameter(torch.ones(1, 2))
                self.lora_B = torch.nn.Parameter(torch.zeros(2, 1))
        with self.assertWarnsRegex(RuntimeWarning, "not the mean of their products"):
            self.rows_of(Adapter())
        adapter = Adapter()
        adapter.lora_A.requires_grad_(False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(self.rows_of(adapter)[0], "lora_B")


if __name__ == "__main__":
    unittest.main()
