#include "tests/gossip/wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gossip/status.h"

namespace starling::test {
namespace {

using namespace gossip;

// Tells vectors apart.
const std::byte* lies_at(const Payload& payload) {
  return payload.empty() ? nullptr : payload.pieces().front().bytes.data();
}

std::string_view name_of(Probe::Kind kind) {
  constexpr std::string_view kNames[] = {"ping", "ack", "request", "nack"};
  return kNames[static_cast<std::size_t>(kind)];
}

// " number=3"; nothing for 0.
std::string field(std::string_view label, std::uint64_t value) {
  return value == 0 ? "" : fmt::format(" {}={}", label, value);
}

// "node-2 alive training"
std::string text_of(const Rumor& rumor) {
  std::string text = fmt::format("{} {}", rumor.member->name, gossip::name(rumor.liveness));
  if (rumor.liveness == Liveness::alive)
    text += fmt::format(" {}", gossip::name(rumor.member->phase));
  return text;
}

// Each once.
std::string text_of(const std::vector<Rumor>& rumors) {
  std::vector<std::string> texts;
  for (const Rumor& rumor : rumors)
    if (std::string text = text_of(rumor); std::ranges::find(texts, text) == texts.end())
      texts.push_back(std::move(text));
  return texts.empty() ? "" : fmt::format(" [{}]", fmt::join(texts, "; "));
}

std::string flag(std::string_view label, bool is_set) {
  return is_set ? fmt::format(" {}", label) : "";
}

}  // namespace

std::string Wording::name(NodeId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? "somebody" : found->second;
}

std::string Wording::epoch(const std::string& of, const std::string& with, std::uint64_t value,
                           std::string_view label) {
  if (value == 0) return "";
  auto& known = epochs_[{of, with}];
  return field(label, known.try_emplace(value, known.size() + 1).first->second);
}

std::string Wording::of(const Probe& probe) const {
  const bool names_subject = probe.kind == Probe::Kind::request || probe.kind == Probe::Kind::nack;
  return fmt::format("{}{}{}", name_of(probe.kind),
                     names_subject ? " about " + name(probe.subject) : "", text_of(probe.rumors));
}

bool Wording::repeats_account(const Way& way, const Round& round, bool has_payload) {
  if (has_payload) accounts_[way].clear();
  const std::string said = fmt::format("{} {} {} {} {} {} {} {} {}", round.epoch, round.echo,
                                       round.round, round.received, round.beyond, round.partial,
                                       round.offered, round.asks, round.closes);
  return !accounts_[way].insert(said).second && !has_payload;
}

bool Wording::is_repetition(const std::string& from, const std::string& to,
                            const Message& message) {
  const Body& body = message.body;
  const auto* probe = std::get_if<Probe>(&body);
  const auto* gossip = std::get_if<Gossip>(&body);
  const auto* table = std::get_if<Table>(&body);
  if (const auto* round = std::get_if<Round>(&body))
    return repeats_account({from, to}, *round, !message.payload.empty());
  if (!probe && !gossip && !table) return false;
  bool is_news = table || (probe && probe->kind > Probe::Kind::ack);
  std::set<std::string>& told = dissemination_[{from, to}];
  for (const Rumor& rumor : probe ? probe->rumors : gossip ? gossip->rumors : table->rumors)
    is_news |= told.insert(fmt::format("{} {} {}", text_of(rumor), rumor.member->incarnation,
                                       rumor.member->version))
                   .second;
  return !is_news;
}

std::string Wording::of(const std::string& from, const std::string& to, const Round& round,
                        bool has_payload) {
  std::string text = has_payload ? "vector" : round.round > 0 ? "no vector" : "account";
  text += epoch(from, to, round.epoch, "epoch") + epoch(to, from, round.echo, "echo");
  text += field("round", round.round) +
          (round.share > 0 ? fmt::format(" share={:.4g}", round.share) : "");
  text += field("number", round.number) + field("received", round.received);
  text += field("beyond", round.beyond) + flag("in part", round.partial > 0);
  text += field("offered", round.offered) + field("order", round.order);
  text += field("seen", round.seen) + flag("asks", round.asks);
  return text + flag("closes", round.closes);
}

std::string Wording::of(const std::string& from, const std::string& to, const Message& message,
                        std::size_t first_byte) {
  const Body& body = message.body;
  const std::string kind(kind_of(body).name);
  if (const auto* join = std::get_if<Join>(&body))
    return kind + field("incarnation", join->self.incarnation);
  if (const auto* gossip = std::get_if<Gossip>(&body)) return kind + text_of(gossip->rumors);
  if (const auto* table = std::get_if<Table>(&body))
    return kind + text_of(table->rumors) + flag("asks", table->asks);
  if (const auto* probe = std::get_if<Probe>(&body)) return of(*probe);
  if (const auto* hello = std::get_if<Hello>(&body))
    return kind + epoch(from, to, hello->epoch, "epoch") + epoch(to, from, hello->echo, "echo");
  if (const auto* bye = std::get_if<Bye>(&body))
    return fmt::format("{}{} \"{}\"", kind, epoch(from, to, bye->epoch, "epoch"), bye->reason);
  if (const auto* round = std::get_if<Round>(&body)) {
    if (round->round >= offers_[from].round && !message.payload.empty())
      offers_[from].at = lies_at(message.payload);
    return of(from, to, *round, !message.payload.empty()) + flag("rest", first_byte > 0);
  }
  if (const auto* snapshot = std::get_if<Snapshot>(&body))
    return kind + field("round", snapshot->round);
  if (const auto* tally = std::get_if<Tally>(&body)) {
    constexpr std::array kKinds = {"call", "busy", "elsewhere", "part", "model"};
    return fmt::format("{} {}", kind, kKinds.at(static_cast<std::size_t>(tally->kind))) +
           field("epoch", tally->epoch) + field("models", tally->models) +
           field("round", tally->round);
  }
  if (const auto* surveys = std::get_if<Surveys>(&body))
    return kind + field("held", surveys->held.size()) + field("brings", surveys->surveys.size());
  return kind;
}

std::string Wording::of(const std::string& node, const optim::Job& job) {
  std::string text = "job" + field("round", job.round) + flag("adopt", job.adopt.has_value());
  text += flag("absorb", job.absorb);
  for (const optim::MixTerm& term : job.mix) {
    const bool is_late = !term.own.empty() && lies_at(term.own) != offers_[node].at;
    text += fmt::format(" {}*{:.4g}{}", name(term.peer), term.weight, is_late ? "(late)" : "");
  }
  if (job.offer) offers_[node] = {job.round, nullptr};
  if (job.tally) text += fmt::format(" tally={}", job.tally->size());
  text += flag("seal", job.seal.has_value());
  text += flag("snapshot", job.snapshot) + flag("evaluate", job.evaluate);
  text += flag("local", job.local) + flag("offer", job.offer);
  if (job.shard) text += field("shard-of", job.shard->members.size());
  if (job.foundation) text += field("foundation-of", job.foundation->size());
  return text;
}

}  // namespace starling::test
