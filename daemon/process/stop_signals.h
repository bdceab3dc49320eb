// Stop signals: Ctrl-C, SIGTERM and SIGHUP, as everything that runs for long takes them.
#pragma once

namespace starling::daemon {

// `handler` is called for each of them from now on; it must be async-signal-safe. A hangup that
// whoever started the program wants ignored (nohup) stays ignored. Calls of the system that wait
// are interrupted.
void handle_stop_signals(void (*handler)(int));

// From now on SIGHUP is ignored where no terminal can hang up, as in a service: there it asks to
// read the configuration again, and a node that took leave would not be started again.
void ignore_hangups_of_services();

}  // namespace starling::daemon
