// A thread that no signal interrupts: signals belong to the main thread, and a new thread inherits
// the mask of its maker. Its destructor asks it to stop, and joins it.
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
