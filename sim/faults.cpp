#include "sim/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace starling::sim {
namespace {

constexpr std::size_t kManyNodes = 10'000;
constexpr double kSecondsLimit = 1e6;

constexpr std::array<FaultRule, 24> kRules = {{
    {FaultKind::lose, "lose", 0, 0, 0, 1, true},
    {FaultKind::duplicate, "duplicate", 0, 0, 0, 1, true},
    {FaultKind::reorder, "reorder", 0, 0, 0, 1, true},
    {FaultKind::spike, "spike", 0, 0, 0, 1, true},
    {FaultKind::drop, "drop", 0, 0, 0, 1, true},
    {FaultKind::limit, "limit", 2, 2, 0.01, 10'000, true, "Mbit/s"},
    {FaultKind::clog, "clog", 2, 2, 0, 0, true},
    {FaultKind::cut, "cut", 2, 2, 0, 0, true},
    {FaultKind::part, "part", 1, kManyNodes, 0, 0, true},
    {FaultKind::pause, "pause", 1, 1, 0, 0, true},
    {FaultKind::slow, "slow", 1, 1, 1, 1000, true},
    {FaultKind::crash, "crash", 1, 1, 0, 0, true},
    {FaultKind::wipe, "wipe", 1, 1, 0, 0, true},
    {FaultKind::rewind, "rewind", 1, 1, 0, 0, true},
    {FaultKind::leave, "leave", 1, 1, 0, 0, true},
    {FaultKind::join, "join", 1, 1, 0, 0, false},
    {FaultKind::corrupt, "corrupt", 0, 0, 0, 1, true},
    {FaultKind::forge, "forge", 0, 0, 0, 1, true, {}, 0.1},
    {FaultKind::halt, "halt", 1, 1, 0, 0, true},
    {FaultKind::nat_reboot, "nat-reboot", 1, 1, 0, 0, true, {}, 0.4, true},
    {FaultKind::away, "away", 1, 1, 0, 0, true, {}, 0.4, true},
    {FaultKind::narrow, "narrow", 0, 0, 0.01, 10'000, true, "Mbit/s", 0.2},
    {FaultKind::hasten, "hasten", 0, 0, 1, 1000, true, {}, 0.2},
    {FaultKind::set, "set", 1, 1, 1, 10, false, {}, 0},
}};

constexpr std::pair<std::string_view, std::uint64_t FaultCounts::*> kCounts[] = {
    {"lost", &FaultCounts::lost},
    {"duplicated", &FaultCounts::duplicated},
    {"reordered", &FaultCounts::reordered},
    {"delayed", &FaultCounts::delayed},
    {"clogged", &FaultCounts::clogged},
    {"cut one way", &FaultCounts::cut_one_way},
    {"cut both ways", &FaultCounts::cut_both_ways},
    {"retransmitted", &FaultCounts::retransmitted},
    {"limited", &FaultCounts::limited},
    {"corrupted", &FaultCounts::corrupted},
    {"forged", &FaultCounts::forged},
    {"vanished", &FaultCounts::vanished},
    {"forgotten by a NAT", &FaultCounts::forgotten},
    {"crashed", &FaultCounts::crashed},
    {"restarted", &FaultCounts::restarted},
    {"left", &FaultCounts::left},
    {"joined", &FaultCounts::joined},
    {"halted", &FaultCounts::halted},
    {"paused", &FaultCounts::paused},
    {"slowed", &FaultCounts::slowed},
    {"disk lost", &FaultCounts::disk_lost},
    {"disk old", &FaultCounts::disk_old},
};

constexpr std::string_view kNodePrefix = "node-";

bool has_amount(const FaultRule& rule) {
  return rule.amount_most > 0;
}

// Words in the order they are read.
class Words {
 public:
  explicit Words(std::string_view text) : words_(split(text, ' ')) {}
  bool done() const { return next_ == words_.size(); }
  std::string peek() const { return done() ? "the end of the line" : words_[next_]; }
  std::string take() {
    const std::string word = peek();
    if (!done()) ++next_;
    return word;
  }
  Result<void> expect(std::string_view wanted) {
    if (const std::string word = take(); word != wanted)
      return fail("\"{}\": expected \"{}\"", word, wanted);
    return {};
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

Result<double> read_number(Words& words, std::string_view what, double least, double most) {
  const std::string word = words.take();
  const auto value = parse_number(word);
  if (!value || *value < least || *value > most)
    return fail("{} = \"{}\": expected a number from {} to {}", what, word, least, most);
  return *value;
}

Result<Duration> read_seconds(Words& words, std::string_view what) {
  TRY(const double value, read_number(words, what, 0, kSecondsLimit));
  TRY_DO(words.expect("s"));
  return std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(value));
}

Result<const FaultRule*> read_verb(Words& words) {
  const std::string word = words.take();
  const auto rule = std::ranges::find(kRules, word, &FaultRule::verb);
  if (rule != kRules.end()) return &*rule;
  std::vector<std::string_view> verbs;
  for (const FaultRule& known : kRules) verbs.push_back(known.verb);
  return fail("fault \"{}\": expected one of {}", word, fmt::join(verbs, ", "));
}

Result<std::vector<std::size_t>> read_nodes(Words& words, const FaultRule& rule,
                                            std::size_t limit) {
  std::vector<std::size_t> nodes;
  while (words.peek().starts_with(kNodePrefix)) {
    const std::string word = words.take();
    const auto number = parse_integer(word.substr(kNodePrefix.size()));
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= limit)
      return fail("\"{}\": expected a name from node-0 to node-{}", word, limit - 1);
    const auto node = static_cast<std::size_t>(*number);
    if (std::ranges::count(nodes, node) > 0) return fail("{} is named twice", word);
    nodes.push_back(node);
  }
  if (nodes.size() < rule.nodes_least || nodes.size() > rule.nodes_most)
    return fail("{} names {} nodes: expected {}", rule.verb, nodes.size(),
                rule.nodes_most == kManyNodes ? "at least one" : fmt::to_string(rule.nodes_most));
  return nodes;
}

std::string in_seconds(Duration duration) {
  return fmt::format("{} s", seconds(duration));
}

}  // namespace

std::span<const FaultRule> fault_rules() {
  return kRules;
}

const FaultRule& rule_of(FaultKind kind) {
  const auto rule = std::ranges::find(kRules, kind, &FaultRule::kind);
  ENSURE(rule != kRules.end(), "every kind of fault has a rule");
  return *rule;
}

std::string to_text(const Fault& fault) {
  const FaultRule& rule = rule_of(fault.kind);
  std::string text = fmt::format("at {}: {}", in_seconds(fault.at), rule.verb);
  for (std::size_t node : fault.nodes) text += fmt::format(" {}{}", kNodePrefix, node);
  if (has_amount(rule)) text += fmt::format(" {}", fault.amount);
  if (!rule.unit.empty()) text += fmt::format(" {}", rule.unit);
  if (rule.has_end) text += " for " + in_seconds(fault.duration);
  return text;
}

Result<Fault> parse_fault(std::string_view text, std::size_t nodes) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return fail("\"{}\": expected \"at SECONDS s: FAULT ...\"", text);
  Words when(text.substr(0, colon)), what(text.substr(colon + 1));
  Fault fault;
  TRY_DO(when.expect("at"));
  TRY(fault.at, read_seconds(when, "time"));
  if (!when.done()) return fail("\"{}\": expected nothing more before the colon", when.peek());
  TRY(const FaultRule* rule, read_verb(what));
  fault.kind = rule->kind;
  TRY(fault.nodes, read_nodes(what, *rule, nodes));
  if (has_amount(*rule)) {
    TRY(fault.amount, read_number(what, rule->verb, rule->amount_least, rule->amount_most));
    if (!rule->unit.empty()) TRY_DO(what.expect(rule->unit));
  }
  if (rule->has_end) {
    TRY_DO(what.expect("for"));
    TRY(fault.duration, read_seconds(what, "duration"));
  }
  if (!what.done()) return fail("\"{}\": expected the end of the line", what.peek());
  return fault;
}

FaultCounts& FaultCounts::operator+=(const FaultCounts& other) {
  for (const auto& [name, count] : kCounts) this->*count += other.*count;
  return *this;
}

std::vector<NamedCount> list(const FaultCounts& counts) {
  std::vector<NamedCount> named;
  for (const auto& [name, count] : kCounts) named.push_back({name, counts.*count});
  return named;
}

std::string to_text(const FaultCounts& counts) {
  std::string text;
  for (const NamedCount& count : list(counts))
    if (count.value > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.value, count.name);
  return text.empty() ? "none" : text;
}

}  // namespace starling::sim
