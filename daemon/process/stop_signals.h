// Stop signals for all long-running commands: Ctrl-C, SIGTERM and SIGHUP.
#pragma once

namespace starling::daemon {

// `handler` is called for each of them from now on; it must be async-signal-safe. A SIGHUP that the
// parent process ignores (nohup) stays ignored. Waiting system calls are interrupted.
void handle_stop_signals(void (*handler)(int));

// Ignores SIGHUP from now on if there is no terminal, as in a service: there it is a request to
// reload the configuration, and a node that left would not be restarted.
void ignore_hangups_of_services();

}  // namespace starling::daemon
