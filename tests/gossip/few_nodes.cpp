#include "tests/gossip/few_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <stdexcept>

namespace starling::test {
namespace {

constexpr Duration kDelay = 10ms;      // of a message, one way
constexpr Duration kShortJob = 1ms;    // without a local step
constexpr Duration kLookout = 1500ms;  // for an answer to a probe
constexpr Duration kTickLeast = 1ms;   // between ticks that ask for another at once

// "node-2": 2.
std::size_t number_of(const std::string& name) {
  return std::stoul(name.substr(name.find('-') + 1));
}

Payload payload_of(std::size_t bytes) {
  const std::string text(bytes, 'v');
  return Payload::copy_of(std::as_bytes(std::span(text)));
}

optim::Done answer_to(const optim::Job& job, const CannedTrainer& trainer,
                      const optim::Needs& needs) {
  optim::Done done;
  done.round = job.round;
  if (job.shard || job.foundation || job.adopt) {
    optim::Workload workload;
    workload.payload_bytes = workload.snapshot_bytes = trainer.bytes;
    workload.schema_hash = stable_hash(trainer.schema);
    workload.schema = trainer.schema;
    (job.foundation ? workload.foundation : workload.survey) = trainer.survey;
    done.workload = std::move(workload);
  }
  done.is_offer = job.offer;
  const bool tells_each = needs.fanout == optim::Fanout::per_edge;
  if (job.offer && !tells_each) done.offer = payload_of(trainer.bytes);
  if (job.offer && tells_each)
    for (const std::uint64_t edge : job.edges)
      done.edge_offers.push_back({edge, payload_of(trainer.bytes)});
  if (job.snapshot) done.snapshot = payload_of(trainer.bytes);
  if (job.tally) done.tally = payload_of(trainer.bytes);
  if (job.seal) done.sealed = 7;
  done.stats.steps = job.local ? 1 : 0;
  done.stats.learning_rate = 0.1;
  if (job.evaluate) done.evaluation.emplace().round = job.round - 1;
  return done;
}

}  // namespace

Endpoint FewNodes::control_of(const std::string& name) {
  return {fmt::format("10.0.0.{}", number_of(name)), 7600};
}

void FewNodes::start(const std::string& name, gossip::Options options,
                     const CannedTrainer& trainer) {
  Participant& self = nodes_[name];
  if (self.core) throw std::runtime_error(name + " runs");
  options.name = name;
  options.control = control_of(name);
  options.http = {options.control.host, 7680};
  names_[options.control.host] = name;
  ++self.life;
  self.trainer = trainer;
  self.needs = options.needs;
  self.busy_until = now_;
  self.cutter = {};
  self.contacts.clear();
  self.core = std::make_unique<gossip::Node>(options, now_);
  step(name, gossip::Tick{});
}

void FewNodes::step(const std::string& name, gossip::Input input) {
  Participant& self = nodes_.at(name);
  if (!self.core) throw std::runtime_error(name + " does not run");
  gossip::Outputs outputs;
  self.core->step(now_, std::move(input), outputs);
  bool is_over = false;
  for (gossip::Output& output : outputs) {
    is_over |= std::holds_alternative<gossip::Stopped>(output);
    perform(name, output);
  }
  self.wake = std::max(self.core->deadline(), now_ + kTickLeast);
  watcher_.stepped(name);
  if (is_over) self.core.reset();
}

void FewNodes::run(Duration duration) {
  const Time end = now_ + duration;
  const auto is_awake = [](const auto& item) { return item.second.core != nullptr; };
  while (true) {
    const Time arrival = queue_.empty() ? kNever : queue_.begin()->first.first;
    auto first = nodes_.end();
    for (auto node = nodes_.begin(); node != nodes_.end(); ++node)
      if (is_awake(*node) && (first == nodes_.end() || node->second.wake < first->second.wake))
        first = node;
    const Time wake = first == nodes_.end() ? kNever : first->second.wake;
    if (std::min(arrival, wake) > end) break;
    now_ = std::min(arrival, wake);
    if (wake < arrival) {
      step(first->first, gossip::Tick{});
      continue;
    }
    auto event = queue_.extract(queue_.begin());
    std::visit([&](auto& what) { happen(what); }, event.mapped());
  }
  now_ = end;
}

void FewNodes::happen(Arrival& arrival) {
  if (!find(arrival.to)) return;
  step(arrival.to,
       gossip::Received{arrival.plane, node_id(arrival.from),
                        std::as_bytes(std::span(arrival.frame.header)), arrival.frame.payload});
}

void FewNodes::happen(Local& local) {
  if (find(local.node) && nodes_.at(local.node).life == local.life)
    step(local.node, std::move(*local.input));
}

void FewNodes::later(const std::string& name, Duration after, gossip::Input input) {
  put(now_ + after,
      Local{name, nodes_.at(name).life, std::make_shared<gossip::Input>(std::move(input))});
}

void FewNodes::perform(const std::string& name, gossip::Output& output) {
  std::string fate;
  if (const auto* job = std::get_if<gossip::Train>(&output)) train(name, job->job);
  auto& contacts = nodes_.at(name).contacts;
  if (const auto* reach = std::get_if<gossip::Reach>(&output))
    contacts[reach->node] = reach->contact;
  if (const auto* look = std::get_if<gossip::ConnectProbe>(&output)) fate = probe(name, *look);
  if (auto* send = std::get_if<gossip::Send>(&output))
    fate = carry(name, contacts.at(send->to).control, send->message, send->from);
  if (auto* introduce = std::get_if<gossip::Introduce>(&output))
    fate = carry(name, introduce->to, introduce->message);
  watcher_.saw_output(name, output, fate);
}

std::optional<Mishap::Kind> FewNodes::mishap_of(const std::string& from, const std::string& to,
                                                const gossip::Message& message) {
  const auto found = std::ranges::find_if(mishaps_, [&](const Mishap& mishap) {
    const bool is_kind = mishap.message == gossip::kind_of(message.body).name &&
                         (mishap.message != "vector" || !message.payload.empty());
    return is_kind && mishap.from == from && mishap.to == to;
  });
  if (found == mishaps_.end()) return std::nullopt;
  const Mishap::Kind kind = found->kind;
  mishaps_.erase(found);
  return kind;
}

std::string FewNodes::carry(const std::string& name, const Endpoint& at, gossip::Message& message,
                            std::size_t from) {
  const auto target = names_.find(at.host);
  if (target == names_.end()) return "nobody is there";
  const std::string& to = target->second;
  if (cuts_.contains(std::minmax(name, to))) return "cut off";
  if (lie_) lie_(name, message.body);
  const auto mishap = mishap_of(name, to, message);
  if (mishap == Mishap::Kind::drop) return "lost";
  const gossip::Plane plane = gossip::kind_of(message.body).plane;
  std::vector<gossip::Frame> frames = nodes_.at(name).cutter.cut(message, from).all();
  if (mishap == Mishap::Kind::interrupt) frames.resize(1);
  Time arrival = now_ + kDelay;
  std::string fate = mishap == Mishap::Kind::interrupt ? "only its beginning arrives" : "";
  if (const auto held = held_.find({name, to});
      plane == gossip::Plane::bulk && held != held_.end() && held->second > arrival) {
    arrival = held->second;
    fate = "is held up";
  }
  for (int k = 0; k < (mishap == Mishap::Kind::repeat ? 2 : 1); ++k)
    for (const gossip::Frame& frame : frames) put(arrival, Arrival{name, to, plane, frame});
  return mishap == Mishap::Kind::repeat ? "arrives twice" : fate;
}

// The system where nobody runs refuses; through a cut nothing comes back.
std::string FewNodes::probe(const std::string& name, const gossip::ConnectProbe& probe) {
  const Endpoint at = probe.of ? nodes_.at(name).contacts.at(*probe.of).control : probe.at;
  const auto target = names_.find(at.host);
  if (target == names_.end() || cuts_.contains(std::minmax(name, target->second))) {
    later(name, kLookout, gossip::Unanswered{probe.of, at});
    return "unanswered";
  }
  if (find(target->second)) return "accepted";
  later(name, 2 * kDelay, gossip::Refused{probe.of, at});
  return "refused";
}

void FewNodes::train(const std::string& name, const optim::Job& job) {
  Participant& self = nodes_.at(name);
  const Duration took = job.local ? self.trainer.step : job.shard ? self.trainer.data : kShortJob;
  self.busy_until = std::max(self.busy_until, now_) + took;
  later(name, self.busy_until - now_, gossip::Trained{answer_to(job, self.trainer, self.needs)});
}

const gossip::Node* FewNodes::find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second.core.get();
}

std::vector<std::string> FewNodes::running() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_)
    if (node.core) names.push_back(name);
  return names;
}

}  // namespace starling::test
