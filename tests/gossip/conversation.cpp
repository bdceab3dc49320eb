#include "tests/gossip/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "base/settings.h"
#include "topology/options.h"

namespace starling::test {
namespace {

std::string text_of(const gossip::EdgeStatus& edge) {
  return std::string(name(edge.state)) + (edge.refusal.empty() ? "" : ": " + edge.refusal);
}

// Incarnations are the milliseconds of a node's clock, which shows this at the beginning.
constexpr std::int64_t kClock = 100'000;

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// "500ms", "-2.5s".
Duration duration_of(const std::string& text) {
  std::size_t end = 0;
  const double value = std::stod(text, &end);
  const std::string unit = text.substr(end);
  if (unit != "ms" && unit != "s") throw std::runtime_error("no duration: " + text);
  return from_seconds(unit == "s" ? value : value / 1e3);
}

// Of one of the `names`, as a setting has it.
template <class Enum>
Enum choice(const std::string& text, std::initializer_list<Enum> values) {
  for (const Enum value : values)
    if (name(value) == text) return value;
  throw std::runtime_error("not a choice: " + text);
}

topology::Kind kind_of(const std::string& text) {
  for (int k = 0; k <= static_cast<int>(topology::Kind::file); ++k)
    if (to_string(static_cast<topology::Kind>(k)) == text) return static_cast<topology::Kind>(k);
  throw std::runtime_error("no topology: " + text);
}

// As optim/options.cpp has them.
optim::Needs needs_of(const std::string& algorithm) {
  optim::Needs needs{.is_pairwise = algorithm == "adpsgd" || algorithm == "pairwise-ed",
                     .overlaps = algorithm == "dpsgd-pipelined"};
  if (algorithm == "ed" || algorithm == "gt" || algorithm == "pairwise-ed")
    needs.pairing = optim::Pairing::exactly_once;
  if (algorithm == "admm") needs.fanout = optim::Fanout::per_edge;
  return needs;
}

bool set_protocol(gossip::Options& options, const std::string& key, const std::string& value) {
  using gossip::Missing, gossip::schedule_named;
  if (key == "join")
    options.seeds = {FewNodes::control_of(value)};
  else if (key == "expect")
    options.expect = std::stoul(value);
  else if (key == "schedule")
    options.schedule = schedule_named(value);
  else if (key == "missing")
    options.missing = choice(value, {Missing::late, Missing::reuse, Missing::self});
  else if (key == "staleness")
    options.staleness = std::stoul(value);
  else if (key == "quorum")
    options.quorum = std::stod(value);
  else if (key == "algorithm")
    options.algorithm = value, options.needs = needs_of(value),
    options.terms = {{"optim.algorithm", value}};
  else if (key == "topology")
    options.topology.kind = kind_of(value);
  else if (key == "rounds")
    options.goal.rounds = std::stoul(value);
  else if (key == "cluster")
    options.cluster = value;
  else
    return false;
  return true;
}

bool set_trainer(CannedTrainer& trainer, const std::string& key, const std::string& value) {
  if (key == "step")
    trainer.step = duration_of(value);
  else if (key == "bytes")
    trainer.bytes = std::stoul(value);
  else if (key == "schema")
    trainer.schema = value;
  else if (key == "survey")
    trainer.survey = value;
  else
    return false;
  return true;
}

std::map<std::string, std::string> settings_of(const std::vector<std::string>& words,
                                               std::size_t first) {
  std::map<std::string, std::string> settings;
  for (std::size_t k = first; k < words.size(); ++k) {
    const std::size_t equals = words[k].find('=');
    if (equals == std::string::npos) throw std::runtime_error("no KEY=VALUE: " + words[k]);
    settings[words[k].substr(0, equals)] = words[k].substr(equals + 1);
  }
  return settings;
}

}  // namespace

Conversation::Conversation()
    : nodes_({.saw_output = [this](const std::string& node, const gossip::Output& output,
                                   const std::string& fate) { saw(node, output, fate); },
              .stepped = [this](const std::string& node) { compare(node); }}) {
  defaults_["algorithm"] = "dpsgd";
}

std::string Conversation::play(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  text_.clear();
  try {
    if (words.empty() || !(command(words) || command_on_network(words)))
      throw std::runtime_error("no command");
  } catch (const std::exception& problem) {
    throw std::runtime_error(fmt::format("\"{}\": {}", line, problem.what()));
  }
  tell_counts();
  return text_;
}

bool Conversation::command(const Words& words) {
  const std::string& verb = words.front();
  const std::size_t count = words.size();
  if (verb == "all") {
    for (const auto& [key, value] : settings_of(words, 1)) defaults_[key] = value;
  } else if (verb == "start" && count >= 2) {
    start(words[1], settings_of(words, 2));
  } else if (verb == "restart" && count >= 2) {
    Settings settings = settings_of(words, 2);
    Settings before = settings_.at(words[1]);
    before.erase("clock");
    settings.merge(before);
    start(words[1], settings);
  } else if ((verb == "run" || verb == "skip" || verb == "pass") && count == 2) {
    detail_ = verb == "run" ? Detail::all : verb == "skip" ? Detail::changes : Detail::none;
    nodes_.run(duration_of(words[1]));
    detail_ = Detail::all;
  } else if (verb == "kill" && count == 2) {
    nodes_.kill(words[1]);
  } else if (verb == "leave" && count == 2) {
    nodes_.step(words[1], gossip::LeaveCommand{});
  } else if (verb == "pause" && count == 2) {
    nodes_.step(words[1], gossip::PauseCommand{});
  } else if (verb == "resume" && count == 2) {
    nodes_.step(words[1], gossip::ResumeCommand{});
  } else if (verb == "join" && count == 3) {
    nodes_.step(words[1], gossip::JoinCommand{FewNodes::control_of(words[2])});
  } else if (verb == "status" && count == 1) {
    tell_status();
  } else {
    return false;
  }
  return true;
}

bool Conversation::command_on_network(const Words& words) {
  const std::string& verb = words.front();
  const std::size_t count = words.size();
  const auto is = [&](std::size_t k, std::string_view word) { return words.at(k) == word; };
  if (verb == "cut" && count == 3) {
    nodes_.cut(words[1], words[2]);
  } else if (verb == "heal" && count == 1) {
    nodes_.heal();
  } else if (verb == "hold" && count == 8 && is(1, "vectors") && is(2, "from") && is(4, "to")) {
    nodes_.hold(words[3], words[5], duration_of(words[7]));
  } else if (count == 7 && is(1, "next") && is(3, "from") && is(5, "to")) {
    using enum Mishap::Kind;
    const std::map<std::string, Mishap::Kind> kinds = {
        {"drop", drop}, {"repeat", repeat}, {"interrupt", interrupt}};
    nodes_.meddle({kinds.at(verb), words[2], words[4], words[6]});
  } else {
    return false;
  }
  return true;
}

void Conversation::start(const std::string& node, Settings settings) {
  settings_[node] = settings;
  settings.insert(defaults_.begin(), defaults_.end());
  gossip::Options options;
  CannedTrainer trainer;
  std::int64_t clock = kClock + milliseconds(nodes_.now().time_since_epoch());
  for (const auto& [key, value] : settings) {
    if (key == "clock")
      clock += milliseconds(duration_of(value));
    else if (!set_protocol(options, key, value) && !set_trainer(trainer, key, value))
      throw std::runtime_error("no setting: " + key);
  }
  options.incarnation = static_cast<std::uint64_t>(clock);
  wording_.meet(node);
  told_[node] = {};
  nodes_.start(node, options, trainer);
}

// ---------------------------------------------------------------- what happens

void Conversation::saw(const std::string& node, const gossip::Output& output,
                       const std::string& fate) {
  const std::string end = fate.empty() ? "" : fmt::format("  ({})", fate);
  const auto tell_message = [&](const std::string& to, const gossip::Message& message,
                                std::size_t from) {
    if (wording_.is_repetition(node, to, message)) return void(++counts_["repetitions"]);
    const std::string said = wording_.of(node, to, message, from);
    tell_detail("messages", fmt::format("{} -> {}  {}{}", node, to, said, end));
  };
  if (const auto* send = std::get_if<gossip::Send>(&output)) {
    tell_message(nodes_.name_of(node, send->to), send->message, send->from);
  } else if (const auto* introduce = std::get_if<gossip::Introduce>(&output)) {
    tell_message(nodes_.name_at(introduce->to), introduce->message, 0);
  } else if (const auto* train = std::get_if<gossip::Train>(&output)) {
    tell_detail("jobs", fmt::format("{}  {}", node, wording_.of(node, train->job)));
  } else if (const auto* probe = std::get_if<gossip::ConnectProbe>(&output)) {
    const std::string at = probe->of ? nodes_.name_of(node, *probe->of) : nodes_.name_at(probe->at);
    tell_detail("looks", fmt::format("{}  looks whether {} listens{}", node, at, end));
  } else if (const auto* hangup = std::get_if<gossip::Hangup>(&output)) {
    tell_detail("hangups",
                fmt::format("{}  hangs up on {}", node, nodes_.name_of(node, hangup->from)));
  } else if (const auto* event = std::get_if<gossip::Event>(&output)) {
    tell(fmt::format("{}  event: {}", node, event->text));
  } else if (const auto* stopped = std::get_if<gossip::Stopped>(&output)) {
    tell(fmt::format("{}  stopped{}", node, stopped->error.empty() ? "" : ": " + stopped->error));
  }
}

void Conversation::compare(const std::string& node) {
  const gossip::Status status = nodes_.find(node)->status(nodes_.now());
  Told& told = told_[node];
  const auto change = [&](std::string& before, std::string_view now, const std::string& of) {
    if (before != now) tell(fmt::format("{}  {}: {}", node, of, now));
    before = now;
  };
  change(told.state, name(status.state), "state");
  std::erase_if(told.edges, [&](const auto& item) {
    const bool is_gone = std::ranges::find(status.edges, item.first, &gossip::EdgeStatus::name) ==
                         status.edges.end();
    if (is_gone) tell(fmt::format("{}  edge to {}: gone", node, item.first));
    return is_gone;
  });
  for (const gossip::EdgeStatus& edge : status.edges) {
    Edge& before = told.edges[edge.name];
    change(before.state, text_of(edge), "edge to " + edge.name);
    for (const auto& [reason, count] : edge.rejected)
      if (before.rejected[reason] < count)
        tell(fmt::format("{}  does not use what {} sent: {}", node, edge.name, reason));
    before.rejected = edge.rejected;
  }
  for (const auto& [reason, kinds] : status.rejected_kinds)
    for (const auto& [kind, count] : kinds)
      if (told.rejected[reason][kind] < count) {
        told.rejected[reason][kind] = count;
        tell(fmt::format("{}  refuses a {}: {}", node, kind, reason));
      }
}

void Conversation::tell(const std::string& text) {
  if (detail_ == Detail::none) return;
  text_ += fmt::format("{:>6}  {}\n", milliseconds(nodes_.now().time_since_epoch()), text);
}

void Conversation::tell_detail(std::string_view kind, const std::string& text) {
  if (detail_ == Detail::all) return tell(text);
  ++counts_[std::string(kind)];
}

void Conversation::tell_counts() {
  std::string text;
  for (const auto& [kind, count] : counts_)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  if (!text.empty()) text_ += fmt::format("        ({})\n", text);
  counts_.clear();
}

void Conversation::tell_status() {
  for (const std::string& node : nodes_.running()) {
    const gossip::Status status = nodes_.find(node)->status(nodes_.now());
    std::string text = fmt::format("{}  {}, round {}", node, name(status.state), status.run.round);
    for (const gossip::EdgeStatus& edge : status.edges)
      text += fmt::format(", {} {} weight {:.4g}", edge.name, text_of(edge), edge.weight);
    for (const gossip::MemberStatus& member : status.members)
      if (member.liveness != gossip::Liveness::alive)
        text += fmt::format(", {} {}", member.member->name, name(member.liveness));
    if (status.unsettled_edges > 0) text += fmt::format(", {} unsettled", status.unsettled_edges);
    if (status.late_edges > 0) text += fmt::format(", {} late", status.late_edges);
    tell(text);
    for (const std::string& warning : status.warnings) tell(node + "  warns: " + warning);
  }
}

}  // namespace starling::test
