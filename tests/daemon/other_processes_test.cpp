#include "daemon/process/other_processes.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "daemon/process/child_process.h"

using namespace starling::daemon;

TEST_CASE("The living members of a process group are named") {
  auto leader = ChildProcess::start({"/bin/sh", "-c", "sleep 600 & echo >&3; wait"}, "/dev/null");
  REQUIRE(leader.has_value());
  REQUIRE(leader->ready(std::chrono::seconds(60)).has_value());
  const auto members = living_members(leader->pid());
  CHECK(members.size() == 2);
  bool has_leader = false;
  for (const OtherProcess& member : members)
    if (member.process == leader->pid()) has_leader = member.name == "sh";
  CHECK(has_leader);
  ::kill(-leader->pid(), SIGKILL);
  CHECK(leader->wait(std::chrono::seconds(60)));
  while (!living_members(leader->pid()).empty()) std::this_thread::yield();
}

TEST_CASE("A variable of another process is what its program began with") {
  auto child = ChildProcess::start(
      {"/usr/bin/env", "STARLING_TEST=a=b", "/bin/sh", "-c", "echo >&3; sleep 600"}, "/dev/null");
  REQUIRE(child.has_value());
  REQUIRE(child->ready(std::chrono::seconds(60)).has_value());
  CHECK(variable_of(child->pid(), "STARLING_TEST") == "a=b");
  CHECK_FALSE(variable_of(child->pid(), "STARLING_TES").has_value());
  CHECK_FALSE(variable_of(0, "STARLING_TEST").has_value());
  ::kill(-child->pid(), SIGKILL);
}
