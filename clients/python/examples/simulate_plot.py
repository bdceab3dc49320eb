#!/usr/bin/env python3
"""How fast 16 nodes with data of their own agree, by topology: draws simulate.png."""
import matplotlib.pyplot as pyplot

import starling

for kind in ("ring", "torus", "complete"):
    run = starling.simulate(16, topology_kind=kind, data_source="reference", stop_rounds=200,
                            optim_algorithm="ed")
    pyplot.semilogy(run.round, run.distance_to_optimum, label=kind)
pyplot.xlabel("round")
pyplot.ylabel("distance to the optimum")
pyplot.legend()
pyplot.savefig("simulate.png")
