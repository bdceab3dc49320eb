"""Nodes in processes of their own, for the tests of real processes, tests/acceptance and bench.

program.py     finds the program, runs its commands and reads their JSON
node.py        Node: one `starling run`; it is asked, stopped, killed and started again
fleet.py       Fleet: nodes that know the first; it ends them with its block
keys.py        keys and tickets, by the program's own commands
namespaces.py  Network: a namespace and a link of its own for each node, where root may make them
watch.py       waits for conditions with a deadline, and prints what a check found

Who makes a Node ends it (`kill` or `stop`); a Fleet and a Network end with their blocks. A process that does
not start, or a command that fails, is a program.Failure that holds its last words; a node that does not answer
is an OSError. No port is chosen here: each node reports its own.
"""
