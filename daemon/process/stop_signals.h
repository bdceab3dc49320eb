// Signals for all long-running commands: Ctrl-C and SIGTERM stop them, SIGHUP reopens their log.
#pragma once

namespace starling::daemon {

// `handler` is called for SIGINT and SIGTERM from now on, and for SIGHUP if the terminal has
// closed, in a thread of its own. Any other SIGHUP opens the files anew, by name, that standard
// output and standard error are now: a log that was moved begins again. A SIGHUP that the parent
// process ignores (nohup) stays ignored. To be called once in a process, and before there are other
// threads: the calling thread and those that it starts have the signals blocked. A handler on a
// thread that computes would write its frame where the stack pointer is, and the kernels of oneDNN
// point it into a buffer of theirs, which the frame overflows; an interrupted call of ZeroMQ fails.
void handle_stop_signals(void (*handler)(int));

}  // namespace starling::daemon
