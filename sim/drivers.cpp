#include "sim/drivers.h"

#include <algorithm>

#include "gossip/wire/connection_rules.h"

namespace starling::sim {

Drivers::Drivers(Network& network, std::size_t nodes, const Time& now, const Post& post)
    : network_(&network),
      now_(&now),
      post_(post),
      wires_(network, nodes, now,
             [this](Time at, Wires::Event event) {
               std::visit([&](auto& what) { post_(at, std::move(what)); }, event);
             }),
      processes_(nodes) {}

void Drivers::begin(std::size_t node, NodeId id, std::uint64_t life, const Endpoint& control,
                    bool is_hidden) {
  end(node);
  wires_.begin(node, control, is_hidden);
  processes_[node] = {std::make_unique<Driver>(wires_, node, id, *now_), life};
}

bool Drivers::end_if_idle(std::size_t node) {
  if (processes_[node].driver->has_queued()) return false;
  end(node);
  return true;
}

// ---------------------------------------------------------------- what nodes ask for

void Drivers::act(std::size_t node, gossip::Output& output) {
  Driver& driver = *processes_[node].driver;
  if (const auto* reach = std::get_if<gossip::Reach>(&output))
    driver.reach(*now_, *reach);
  else if (auto* sending = std::get_if<gossip::Send>(&output))
    send(node, *sending);
  else if (auto* introduction = std::get_if<gossip::Introduce>(&output))
    introduce(node, *introduction);
  else if (const auto* hangup = std::get_if<gossip::Hangup>(&output))
    driver.hang_up(*now_, *hangup);
  else if (const auto* abandon = std::get_if<gossip::Abandon>(&output))
    driver.abandon(*now_, *abandon);
  else if (const auto* asked = std::get_if<gossip::ConnectProbe>(&output))
    probe(node, *asked);
}

Parcel& Drivers::shown(Parcel& parcel) const {
  for (const Interceptor& interceptor : interceptors_) interceptor(parcel);
  return parcel;
}

void Drivers::send(std::size_t node, gossip::Send& send) {
  Driver& driver = *processes_[node].driver;
  const auto to = driver.find(send.to);
  if (!to) return;
  Parcel parcel{
      {node, *to, gossip::kind_of(send.message.body).plane}, std::move(send.message), send.from};
  driver.send(*now_, send.to, std::move(shown(parcel)));
}

void Drivers::introduce(std::size_t node, gossip::Introduce& introduce) {
  const auto to = wires_.find(introduce.to);
  if (!to) return;
  Parcel parcel{{node, *to, gossip::Plane::control}, std::move(introduce.message), 0};
  processes_[node].driver->introduce(*now_, introduce, std::move(shown(parcel)));
}

void Drivers::probe(std::size_t node, const gossip::ConnectProbe& probe) {
  const Process& process = processes_[node];
  const auto of = probe.of ? process.driver->find(*probe.of) : wires_.find(probe.at);
  const Endpoint at = !probe.of ? probe.at : of ? wires_.address(*of) : Endpoint{};
  if (of && at.port != 0)
    post_(*now_, Knock{node, process.life, probe.of, at, *now_ + gossip::kConnectPatience});
}

void Drivers::send_more(std::size_t node) {
  Driver* const driver = processes_[node].driver.get();
  if (driver && driver->has_queued()) driver->look(*now_);
}

// ---------------------------------------------------------------- what comes

void Drivers::notify(std::size_t node, const Wires::Notice& notice) {
  wires_.notify(notice);
  processes_[node].driver->follow(*now_);
}

std::optional<gossip::Received> Drivers::hear(std::size_t node, const Wires::Delivery& delivery) {
  return processes_[node].driver->hear(*now_, wires_.read(delivery));
}

// Where no process runs the system refuses, and for one that is paused it accepts. Where the way
// there or back is cut, or a NAT is before the node, nothing is heard.
std::optional<gossip::Input> Drivers::knock(Knock& knock) {
  const auto to = wires_.find(knock.at);
  const bool is_cut = network_->is_cut(knock.node, *to) || network_->is_cut(*to, knock.node) ||
                      wires_.is_hidden(*to);
  if (knock.is_refused) return gossip::Refused{knock.of, knock.at};
  if (!is_cut && processes_[*to].driver) return std::nullopt;
  if (!is_cut) {
    knock.is_refused = true;
    post_(*now_ + 2 * network_->delay(knock.node, *to), knock);
  } else if (*now_ < knock.until) {
    post_(std::min(*now_ + gossip::kConnectTryEvery, knock.until), knock);
  } else {
    return gossip::Unanswered{knock.of, knock.at};
  }
  return std::nullopt;
}

}  // namespace starling::sim
