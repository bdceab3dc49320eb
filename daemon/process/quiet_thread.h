// quiet_thread: a thread that no signal interrupts: it is created with all signals blocked. Its
// destructor requests it to stop, and joins it.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace starling::daemon {

template <class Act>
std::jthread quiet_thread(Act act) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread(std::move(act));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace starling::daemon
