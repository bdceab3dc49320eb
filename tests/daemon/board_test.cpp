#include "daemon/process/board.h"

#include <doctest/doctest.h>

#include <variant>
#include <vector>

using namespace starling;
using namespace starling::daemon;

namespace {

// What the node is told: to pause or to resume, or nothing.
enum class Told { nothing, pause, resume };
Told told(Board& board) {
  const std::vector<Command> commands = board.take_commands();
  if (commands.empty()) return Told::nothing;
  REQUIRE(commands.size() == 1);
  return std::holds_alternative<gossip::PauseCommand>(commands[0]) ? Told::pause : Told::resume;
}

}  // namespace

TEST_CASE("A node trains where its trainer is there and nobody wishes a pause") {
  for (const bool pauses_first : {true, false})
    for (const bool comes_first : {true, false}) {
      Board board;
      const auto pause = [&] { board.leave_command(gossip::PauseCommand{}); };
      CHECK(told(board) == Told::nothing);
      if (pauses_first) pause();
      board.set_trainer_here(false);
      if (!pauses_first) pause();
      CHECK(told(board) == Told::pause);
      if (comes_first)
        board.set_trainer_here(true);
      else
        board.leave_command(gossip::ResumeCommand{});
      CHECK(told(board) == Told::pause);
      if (comes_first)
        board.leave_command(gossip::ResumeCommand{});
      else
        board.set_trainer_here(true);
      CHECK(told(board) == Told::resume);
      CHECK(told(board) == Told::nothing);
    }
}

TEST_CASE("The trainer is heard of where no more commands are taken") {
  Board board;
  while (board.leave_command(gossip::LeaveCommand{})) {
  }
  board.set_trainer_here(false);
  const std::vector<Command> commands = board.take_commands();
  REQUIRE(commands.size() == kCommandsLimit + 1);
  CHECK(std::holds_alternative<gossip::PauseCommand>(commands.back()));
}
