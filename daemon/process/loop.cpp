#include "daemon/process/loop.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "daemon/process/log.h"
#include "gossip/wire/connection_rules.h"

namespace starling::daemon {
namespace {

constexpr Duration kLongestSleep = std::chrono::milliseconds(500);
// Interval of checks for warnings. Longer: they are in the log later.
constexpr Duration kWarnEvery = std::chrono::milliseconds(250);
constexpr Duration kLookEvery = std::chrono::milliseconds(20);  // for changes without a wake-up

// Warnings about the trainer that are in no log yet.
std::vector<std::string> new_warnings_of(const TrainerStatus& trainer) {
  std::vector<std::string> warnings = trainer.notes;
  if (trainer.state == TrainerStatus::State::stalled)
    warnings.push_back(fmt::format("the trainer (process {}) stands still: {}",
                                   trainer.process.value_or(0), trainer.reason));
  return warnings;
}

// Warnings that the trainer's own threads have logged.
std::vector<std::string> logged_warnings_of(const TrainerStatus& trainer) {
  if (!trainer.pause.empty()) return {trainer.pause};
  // How a command ended is reported next.
  const bool is_told = trainer.is_done || (trainer.has_command && trainer.reason == kProcessEnded);
  if (trainer.state != TrainerStatus::State::lost || is_told) return {};
  return {fmt::format("the trainer (process {}) is gone: {}; the node rests until {}",
                      trainer.process.value_or(0), trainer.reason,
                      trainer.has_command ? "trainer.command attaches again"
                                          : "one attaches at " + trainer.socket)};
}

}  // namespace

Loop::Loop(LoopOptions options, gossip::Node& node, ZmqTransport& transport,
           TrainingThread& training, Board& board)
    : options_(std::move(options)),
      node_(node),
      transport_(transport),
      training_(training),
      board_(board),
      peers_(transport, transport.guard(), options_.names, board.trace()) {
  board_.set_wake([this] { wake_.signal(); });
  for (const SeedName& seed : options_.seeds) peers_.know(seed);
  notices_.take_new(now(), options_.warnings());
}

std::string Loop::run(bool stays) {
  const FrameHandler received = [this](gossip::Received frame) {
    if (!stopped_) feed(std::move(frame));
  };
  feed(gossip::Tick{});
  publish();
  while (!stopped_) {
    const Duration longest = peers_.is_waiting() ? kLookEvery : kLongestSleep;
    const Duration until = node_.deadline() == kNever ? longest : node_.deadline() - now();
    transport_.poll(std::clamp(until, Duration::zero(), longest), wakes(), received);
    take_all();
    if (stop_asked_ || (may_end_ && !stays)) feed(gossip::LeaveCommand{});
    if (!stopped_ && now() >= node_.deadline()) feed(gossip::Tick{});
    say_warnings();
    if (board_.is_wanted()) publish();
    if (board_.is_model_wanted()) training_.want_model();
    tell_service();
  }
  publish();
  board_.set_wake(nullptr);
  transport_.flush(gossip::kFlushPatience);
  return *stopped_;
}

std::array<int, 4> Loop::wakes() const {
  return {training_.descriptor(), wake_.descriptor(), options_.names.descriptor(),
          options_.disk ? options_.disk->descriptor() : wake_.descriptor()};
}

void Loop::take_all() {
  take_trained();
  peers_.take_findings([this](gossip::Input input) { feed(std::move(input)); });
  take_names();
  take_saved();
  take_commands();
}

void Loop::take_trained() {
  for (optim::Done& done : training_.take_done()) {
    if (done.workload && !done.workload->foundation.empty())
      board_.set_foundation(done.workload->foundation);
    if (options_.disk && done.workload && done.workload->saved_bytes > 0)
      options_.disk->expect(done.workload->saved_bytes);
    board_.trace().add(done);
    feed(gossip::Trained{std::move(done)});
  }
  if (auto parameters = training_.take_model())
    board_.publish_model(std::make_shared<const Model>(Model{*std::move(parameters)}));
}

void Loop::feed(gossip::Input input) {
  gossip::Outputs outputs;
  node_.step(now(), std::move(input), outputs);
  const auto perform = [this](auto& what) {
    if constexpr (requires { peers_.act(what); })
      peers_.act(what);
    else
      act(what);
  };
  for (gossip::Output& output : outputs) std::visit(perform, output);
}

void Loop::take_names() {
  for (HostNames::Finding& finding : options_.names.take_found()) {
    if (stopped_) return;
    if (finding.addresses)
      feed(gossip::Resolved{finding.at, *std::move(finding.addresses)});
    else
      feed(gossip::Resolved{finding.at, {}, finding.addresses.error().text});
  }
}

void Loop::take_saved() {
  if (!options_.disk) return;
  if (auto saved = options_.disk->take_saved(); saved && !stopped_) feed(*std::move(saved));
}

void Loop::tell(const gossip::Event& event) {
  board_.add(now(), event);
  if (event.kind != gossip::Event::Kind::problem) return log::info("{}", event.text);
  notices_.said(now(), event.text);
  log::warning("{}", event.text);
}

// Warnings of this process, besides those of the node.
std::vector<std::string> Loop::own_warnings() const {
  std::vector<std::string> warnings = options_.warnings();
  if (options_.trainer)
    std::ranges::move(new_warnings_of(options_.trainer()), std::back_inserter(warnings));
  std::ranges::move(transport_.guard().warnings(daemon::now()), std::back_inserter(warnings));
  return warnings;
}

void Loop::say_warnings() {
  const Time at = now();
  if (stopped_ || at < next_look_) return;
  next_look_ = at + kWarnEvery;
  std::vector<std::string> warnings = node_.warnings(at);
  std::ranges::move(own_warnings(), std::back_inserter(warnings));
  for (const std::string& text : notices_.take_new(at, warnings))
    tell({gossip::Event::Kind::problem, text});
}

void Loop::tell_service() {
  if (!options_.service) return;
  if (stopped_ || stop_asked_) options_.service->stops();
  const Time at = now();
  options_.service->turned(at, [this, at] { return service_line(node_.status(at)); });
}

void Loop::publish() {
  const Time at = now();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->identity = options_.identity;
  snapshot->now = at;
  snapshot->status = node_.status(at);
  snapshot->descriptors = count_descriptors();
  snapshot->cores = count_cores();
  snapshot->security = transport_.guard().status();
  std::vector<std::string> warnings;
  if (options_.trainer) {
    snapshot->trainer = options_.trainer();
    warnings = logged_warnings_of(*snapshot->trainer);
  }
  std::ranges::move(own_warnings(), std::back_inserter(warnings));
  std::ranges::copy(warnings, std::back_inserter(snapshot->status.reasons));
  std::ranges::copy(warnings, std::back_inserter(snapshot->status.warnings));
  for (const gossip::MemberStatus& member : snapshot->status.members)
    if (member.self) snapshot->identity.incarnation = member.member->incarnation;
  board_.publish(std::move(snapshot));
}

void Loop::take_commands() {
  wake_.clear();
  for (Command& command : board_.take_commands())
    if (!stopped_) std::visit([this](auto& what) { obey(what); }, command);
}

}  // namespace starling::daemon
