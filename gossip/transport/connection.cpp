#include "gossip/transport/connection.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace starling::gossip {

bool Connection::may_follow(State from, State to) {
  using enum State;
  constexpr std::pair<State, State> kSteps[] = {
      {dialling, open}, {dialling, broken}, {open, shut},  {open, lost},
      {open, broken},   {shut, broken},     {lost, broken}};
  return std::ranges::find(kSteps, std::pair(from, to)) != std::end(kSteps);
}

void Connection::become(State next) {
  ENSURE(may_follow(state, next), "a connection goes through its states in order");
  state = next;
}

}  // namespace starling::gossip
