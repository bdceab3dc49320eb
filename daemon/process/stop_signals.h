// Signals for all long-running commands: Ctrl-C and SIGTERM stop them, SIGHUP reopens their log.
#pragma once

namespace starling::daemon {

// `handler` is called for SIGINT and SIGTERM from now on, and for SIGHUP if the terminal has
// closed. It must be async-signal-safe. Any other SIGHUP opens the files anew, by name, that
// standard output and standard error are now: a log that was moved begins again. A SIGHUP that the
// parent process ignores (nohup) stays ignored. Waiting system calls are interrupted.
void handle_stop_signals(void (*handler)(int));

}  // namespace starling::daemon
