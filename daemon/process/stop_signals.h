// stop_signals: Ctrl-C and SIGTERM stop a long-running command, SIGHUP reopens its log.
#pragma once

namespace starling::daemon {

// `handler` is called for SIGINT and SIGTERM from now on, and for SIGHUP if the terminal has
// closed, in a thread of its own. Any other SIGHUP opens anew, by name, the files that are standard
// output and standard error now: a log that was moved begins again. A SIGHUP that the parent
// process ignores (nohup) stays ignored. Call it once in a process, before there are other threads:
// the calling thread and those that it starts have the signals blocked. A handler on a computing
// thread would write its frame at the stack pointer, which kernels of oneDNN point into a buffer
// that the frame overflows; and an interrupted call of ZeroMQ fails.
void handle_stop_signals(void (*handler)(int));

}  // namespace starling::daemon
