// Parts of several nodes with messages carried by hand, so that a test can lose any of them.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gossip/edges/links.h"
#include "gossip/members/membership.h"
#include "gossip/outbox.h"
#include "tests/gossip/certificates.h"

namespace starling::test {

using namespace std::chrono_literals;

inline gossip::Options party_options(int index, std::uint64_t incarnation = 1) {
  gossip::Options options;
  options.name = fmt::format("node-{}", index);
  const std::string host = fmt::format("10.0.0.{}", index);
  options.control = {host, 7600};
  options.http = {host, 7680};
  options.incarnation = incarnation;
  options.algorithm = "dpsgd";
  return options;
}

// Nobody can dial the node.
inline void hide(gossip::Options& options) {
  options.control = {"hidden-" + options.control.host, 0};
  options.http.port = 0;
}

// The same of a node with a key, test_key(10 + index), and a certificate of the cluster key
// test_key(1).
inline gossip::Options keyed_options(int index, std::uint64_t incarnation = 1) {
  gossip::Options options = party_options(index, incarnation);
  const KeyPair cluster = test_key(1);
  options.credentials = credentials_of(certificate_of(options.name, test_key(10 + index), cluster),
                                       test_key(10 + index), cluster);
  return options;
}

// A message, to a node or to a stranger.
struct Said {
  Endpoint at;  // the control address
  gossip::Message message;
  std::size_t from = 0;
  bool is_dialled = false;  // not over a connection of the other end
};

// Membership and Links of one node.
struct Party {
  explicit Party(const gossip::Options& given, Time now = Time{})
      : options(given),
        outbox(1, node_id(given.name), given.incarnation, given.credentials),
        membership(options, outbox.notary(), now),
        links(options) {
    outbox.begin(out);
  }

  // What it said, and where it probed, since the last call; probes are to be taken first. The
  // probes have the address in `at`.
  std::vector<gossip::ConnectProbe> probed() {
    std::vector<gossip::ConnectProbe> probes;
    for (const gossip::Output& output : out) {
      note(output);
      const auto* probe = std::get_if<gossip::ConnectProbe>(&output);
      if (probe) probes.push_back({probe->of, probe->of ? controls.at(*probe->of) : probe->at});
    }
    return probes;
  }
  std::vector<Said> said() {
    std::vector<Said> all;
    for (gossip::Output& output : std::exchange(out, {})) {
      note(output);
      if (auto* send = std::get_if<gossip::Send>(&output))
        all.push_back({controls.at(send->to), std::move(send->message), send->from});
      if (auto* introduce = std::get_if<gossip::Introduce>(&output))
        all.push_back({introduce->to, std::move(introduce->message), 0, !introduce->asker});
    }
    return all;
  }
  void note(const gossip::Output& output) {
    if (const auto* reach = std::get_if<gossip::Reach>(&output))
      controls[reach->node] = reach->contact.control;
  }
  void tick(Time now) {
    membership.awake(now);
    links.tick(now, outbox);
    membership.tick(now, outbox);
  }
  void hear(Time now, const gossip::Message& message) {
    if (message.envelope.sender == membership.roster().self())
      return membership.hear_namesake(now, message.body, outbox);
    // As the gate does.
    const auto known = membership.roster().incarnation_of(message.envelope.sender);
    if (known && message.envelope.incarnation < *known &&
        !std::holds_alternative<gossip::Join>(message.body) &&
        !std::holds_alternative<gossip::Probe>(message.body))
      return;
    membership.heard_from(now, message.envelope.sender, message.envelope.incarnation, outbox);
    std::visit(
        [&](const auto& body) {
          if constexpr (gossip::OfMembers<std::remove_cvref_t<decltype(body)>>)
            membership.receive(now, message.envelope, body, outbox);
        },
        message.body);
    if (const auto* hello = std::get_if<gossip::Hello>(&message.body))
      links.receive(now, message.envelope, *hello, membership.roster(), outbox);
    if (const auto* bye = std::get_if<gossip::Bye>(&message.body))
      links.receive(message.envelope, *bye, outbox);
    if (const auto* terms = std::get_if<gossip::Terms>(&message.body))
      links.receive(message.envelope, *terms);
  }
  gossip::Liveness liveness(Time now, const std::string& name) const {
    for (const gossip::MemberStatus& member : membership.roster().status(now))
      if (member.member->name == name) return member.liveness;
    throw std::runtime_error("not listed: " + name);
  }
  bool lists(Time now, const std::string& name) const {
    for (const gossip::MemberStatus& member : membership.roster().status(now))
      if (member.member->name == name) return true;
    return false;
  }

  gossip::Options options;
  std::map<NodeId, Endpoint> controls;  // as the node was told to reach others
  gossip::Outputs out;
  gossip::Outbox outbox;
  gossip::Membership membership;
  gossip::Links links;
};

}  // namespace starling::test
