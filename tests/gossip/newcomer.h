// Newcomer: a node on its way to a model, its trainer answered by hand.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossip/members/terms.h"
#include "gossip/node/startup.h"
#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

namespace starling::test {

using namespace gossip;

struct Newcomer : Party {
  explicit Newcomer(const Options& given) : Party(given), startup(options, Time{}, life, share) {}

  // A member that agrees, unless it is to differ.
  void meet(const std::string& name, Phase phase, std::uint64_t round = 0, bool agrees = true) {
    Member member = sample_member(name);
    member.agreement = agreement_of(agreed(options)) + (agrees ? 0 : 1);
    member.phase = phase;
    member.round = round;
    member.control.host = "10.0.1." + name.substr(name.find('-') + 1);
    membership.receive(now, {}, Gossip{{{member}}}, outbox);
    said();
  }
  void set_ready(const std::string& name) {
    Member ready = *membership.roster().find(node_id(name));
    ++ready.version;
    ready.phase = Phase::training;
    membership.receive(now, {}, Gossip{{{ready}}}, outbox);
  }
  void tick_at(Time time) {
    now = time;
    startup.tick(now, membership, outbox);
  }
  // To the next deadline.
  void go_on() { tick_at(std::max(now, startup.deadline())); }
  void trained(std::string survey = {}, std::optional<std::string> problem = {}) {
    optim::Done done;
    done.workload.emplace().survey = std::move(survey);
    done.problem = std::move(problem);
    startup.trained(now, done, outbox);
  }
  void trained_strangely(const std::string& strangeness) {
    optim::Done done;
    done.workload.emplace().strangeness = strangeness;
    startup.trained(now, done, outbox);
  }
  void hear_snapshot(const std::string& from, std::uint64_t round) {
    const std::string model = "model";
    startup.receive(now, Snapshot{.round = round, .foundation = {}},
                    Payload::copy_of(std::as_bytes(std::span(model))),
                    Envelope{.sender = node_id(from)}, membership.roster(), outbox);
  }
  void hear_survey(const std::string& from, const std::string& of, const std::string& text) {
    const std::uint64_t incarnation = membership.roster().find(node_id(of))->incarnation;
    startup.receive(Surveys{{}, {{node_id(of), incarnation, text}}},
                    Envelope{.sender = node_id(from)}, membership.roster(), outbox);
  }
  // What was said and asked since the last call.
  struct Done {
    std::vector<optim::Job> jobs;
    std::vector<std::string> donors;  // by the host that was asked
    std::size_t surveys = 0;
  };
  Done done() {
    Done done;
    for (const Output& output : std::exchange(out, {})) {
      note(output);
      if (const auto* train = std::get_if<Train>(&output)) done.jobs.push_back(train->job);
      const auto* send = std::get_if<Send>(&output);
      if (send && std::holds_alternative<SnapshotRequest>(send->message.body))
        done.donors.push_back(controls.at(send->to).host);
      done.surveys += send && std::holds_alternative<Surveys>(send->message.body);
    }
    return done;
  }

  bool is_ready() const { return life.has_come_to<phases::Ready>(); }

  Time now{};
  Life life{Time{}};
  DataShare share{membership.roster().self()};
  Startup startup;
};

inline Options newcomer(std::size_t expect = 0) {
  Options options = party_options(9);
  options.expect = expect;
  return options;
}

}  // namespace starling::test
