#!/usr/bin/env python3
"""swarm.batches(): which samples a node takes, and where it goes on.

    position_test.py

Exit code 77, and a word, where there is no python3-torch.
"""
import collections
import itertools
import random
import sys
import unittest
from pathlib import Path

from torch_support import attached, linear, starling, torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))
from starling.position import Position  # noqa: E402
from starling.shares import share_of  # noqa: E402


def loader_of(count, batch=3, **options):
    data = torch.utils.data.TensorDataset(torch.arange(count))
    return torch.utils.data.DataLoader(data, batch_size=batch, **options)


def drawn(loader, place, nodes, position, steps, whole=False):
    """The samples of so many batches, each with the epoch in which it was drawn."""
    share = share_of(loader, lambda: (place, nodes), position, 7, whole)
    return [(position.get()[0], number) for _, (batch,) in zip(range(steps), share)
            for number in batch.tolist()]


def sizes_of(loader, place, nodes, position, steps, whole):
    share = share_of(loader, lambda: (place, nodes), position, 7, whole)
    return [len(batch) for _, (batch,) in zip(range(steps), share)]


class Epochs(unittest.TestCase):
    def expect_each_once(self, seen, count, epochs):
        times = collections.Counter(seen)
        wanted = {(epoch, number): 1 for epoch in range(epochs) for number in range(count)}
        self.assertEqual({key: times[key] for key in times if key[0] < epochs}, wanted)

    def test_the_nodes_see_each_sample_once_in_each_epoch(self):
        for count, batch, nodes in ((10, 3, 2), (100, 7, 4), (12, 3, 4), (5, 4, 3), (6, 1, 6)):
            for shuffle in (False, True):
                with self.subTest(count=count, batch=batch, nodes=nodes, shuffle=shuffle):
                    loader = loader_of(count, batch, shuffle=shuffle)
                    self.expect_each_once(
                        [item for place in range(nodes)
                         for item in drawn(loader, place, nodes, Position(), 60)], count, 2)

    def test_a_shuffled_epoch_differs_from_the_next_and_is_the_same_at_all_nodes(self):
        loader = loader_of(40, 10, shuffle=True)
        torch.manual_seed(1)
        first = drawn(loader, 0, 1, Position(), 8)
        torch.manual_seed(2)
        self.assertEqual(first, drawn(loader, 0, 1, Position(), 8))
        epochs = [[number for at, number in first if at == epoch] for epoch in (0, 1)]
        self.assertNotEqual(*epochs)
        self.assertNotEqual(epochs[0], sorted(epochs[0]))

    def test_nodes_that_die_at_any_batch_and_come_back_repeat_and_skip_nothing(self):
        chance = random.Random(5)
        for workers in (0, 2):
            loader = loader_of(50, 4, shuffle=True, num_workers=workers)
            seen = []
            for place in range(3):
                position = Position()
                for _ in range(3 if workers else 30):  # their processes start each time
                    steps = chance.randint(2, 4) if workers else chance.randint(1, 5)
                    seen += drawn(loader, place, 3, position, steps)
            epochs = min(epoch for epoch, _ in seen[-1:])
            self.assertGreater(epochs, 0)
            self.expect_each_once(seen, 50, 1)

    def test_the_batch_of_the_whole_stays_as_nodes_come_and_go(self):
        loader, seen = loader_of(60, 12, shuffle=True), []
        positions = [Position() for _ in range(4)]
        for nodes, steps in ((2, 2), (4, 1), (3, 2)):
            begun = positions[0].get()  # a newcomer begins where its donor is
            for place in range(nodes):
                positions[place].set(*begun)
                batches = drawn(loader, place, nodes, positions[place], steps, whole=True)
                self.assertEqual(len(batches), steps * 12 // nodes)
                seen += batches
        self.expect_each_once(seen, 60, 1)
        with self.assertRaisesRegex(ValueError, "needs a DataLoader"):
            next(share_of([1, 2], lambda: (0, 1), Position(), whole=True))

    def test_no_batch_is_smaller_than_the_last_of_the_loader_or_a_share_of_the_whole(self):
        """The last batch of the loader holds 8, 2 or 3 samples: normalization over a batch needs
        two. A node joins in the middle of the first epoch, where its donor is."""
        for count, nodes, whole, drop_last in itertools.product((64, 66, 67), range(1, 6),
                                                                (False, True), (False, True)):
            with self.subTest(count=count, nodes=nodes, whole=whole, drop_last=drop_last):
                loader = loader_of(count, 8, drop_last=drop_last)
                positions = [Position() for _ in range(nodes + 1)]
                sizes = []
                for place, position in enumerate(positions[:nodes]):
                    sizes += sizes_of(loader, place, nodes, position, 1, whole)
                positions[nodes].set(*positions[0].get())
                for place, position in enumerate(positions):
                    sizes += sizes_of(loader, place, nodes + 1, position, 40, whole)
                self.assertGreaterEqual(min(sizes), 2)
                self.assertLessEqual(max(sizes), 8)

    def test_each_node_gets_batches_where_the_batch_of_the_whole_has_two_samples_for_a_few(self):
        loader = loader_of(60, 4, shuffle=True)
        seen = [drawn(loader, place, 5, Position(), 13, whole=True) for place in range(5)]
        self.expect_each_once(sum(seen, []), 60, 1)
        shares = [sum(epoch == 0 for epoch, _ in items) for items in seen]
        self.assertEqual(shares, [12] * 5)

    def test_what_is_left_of_an_epoch_is_dropped_where_the_loader_drops_it(self):
        loader = loader_of(10, 2, drop_last=True)
        self.assertEqual([number for epoch, number in drawn(loader, 1, 2, Position(), 6)
                          if epoch == 0], [2, 3, 6, 7])

    def test_fewer_samples_than_nodes_are_all_of_each_node(self):
        with self.assertWarnsRegex(RuntimeWarning, "holds no batch"):
            self.assertEqual(drawn(loader_of(2), 2, 3, Position(), 1), [(0, 0), (0, 1)])

    def test_a_change_of_the_nodes_between_two_steps_keeps_each_sample_once(self):
        """Where all nodes have come to the same step: two of three go on with the rest."""
        loader, seen, positions = loader_of(60, 5, shuffle=True), [], [Position() for _ in range(3)]
        for place, position in enumerate(positions):
            seen += drawn(loader, place, 3, position, 2)
        for place, position in enumerate(positions[:2]):
            seen += drawn(loader, place, 2, position, 3)
        self.expect_each_once(seen, 60, 1)

    def test_a_change_of_the_nodes_costs_only_what_lies_between_their_places(self):
        """Node 1 was away and is two steps late when node 2 leaves."""
        loader, seen = loader_of(90, 5), collections.Counter()
        positions = [Position() for _ in range(3)]
        for place, steps in enumerate((4, 2, 4)):
            seen.update(drawn(loader, place, 3, positions[place], steps))
        self.assertEqual([position.get()[1] for position in positions], [60, 30, 60])
        for place, steps in enumerate((3, 6)):
            seen.update(drawn(loader, place, 2, positions[place], steps))
        self.assertEqual([position.get() for position in positions[:2]], [(0, 90)] * 2)
        changed = {number for number in range(90) if seen[0, number] != 1}
        self.assertTrue(changed)
        self.assertLessEqual(changed, set(range(30, 60)))

    def test_batches_of_a_list_go_on_too(self):
        position = Position()
        batches = list("abcdefg")
        takes = [[batch for _, batch in zip(range(2), share_of(batches, lambda: (1, 2), position))]
                 for _ in range(3)]
        self.assertEqual(takes, [["b", "d"], ["f", "b"], ["d", "f"]])


class Attached(unittest.TestCase):
    def test_a_trainer_goes_on_at_the_place_that_its_parameters_have_seen(self):
        kept = []

        def first(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            for _ in range(2):
                trainer.step(2)
                trainer.done()
                kept.append(list(trainer.numbers("starling.position")))
            trainer.step(5)
            trainer.hear_nothing_more()

        def second(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write("starling.position", kept[-1])
            trainer.step(3)
            trainer.done()
            trainer.end()
        loader, seen = loader_of(20, 2, shuffle=True), []
        daemon, swarm = attached(first, linear())
        with daemon:
            for batch, in swarm.batches(loader):
                seen.append(batch.tolist())
                if len(seen) == 6:
                    swarm._session.drop()  # as a crash would
                    break
                swarm.step()
        self.assertEqual(kept, [[0, 4], [0, 8]])
        daemon, swarm = attached(second, linear())
        with daemon:
            for batch, in swarm.batches(loader):
                seen.append(batch.tolist())
                swarm.step()
        self.assertEqual(seen[6:8], seen[4:6])  # the parameters had not seen these two
        self.assertEqual(sorted(sum(seen[:4] + seen[6:9], [])), sorted(set(sum(seen, []))))


if __name__ == "__main__":
    unittest.main()
