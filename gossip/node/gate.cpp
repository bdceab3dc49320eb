#include "gossip/node/gate.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

constexpr Duration kTransferPatience = std::chrono::seconds(30);

// From a namesake only messages that reveal the duplicate are admitted.
bool concerns_namesake(const Body& body) {
  return std::holds_alternative<Join>(body) || std::holds_alternative<Table>(body);
}

}  // namespace

const char* Gate::objection(const Header& header, const Received& received,
                            const Known& known) const {
  const Envelope& envelope = header.envelope;
  if (envelope.sender != received.from) return "sender";
  if (kind_of(header.body).plane != received.plane) return "plane";
  if (std::holds_alternative<Misdirected>(header.body)) return nullptr;
  if (envelope.cluster != cluster_) return "cluster";
  if (envelope.sender == self_) return concerns_namesake(header.body) ? nullptr : "own name";
  const std::optional<std::uint64_t> incarnation = known(envelope.sender);
  if (incarnation == envelope.incarnation) return nullptr;
  const bool is_later = !incarnation || *incarnation < envelope.incarnation;
  const Introduces least = is_later ? Introduces::later : Introduces::always;
  return kind_of(header.body).introduces >= least ? nullptr : "incarnation";
}

std::optional<Message> Gate::admit(Time now, const Received& received, const Known& known) {
  Result<Header> header = decode_header(received.header, records_.get());
  if (!header) {
    other_version_ = read_other_version(received.header);
    return count(header.error().text), std::nullopt;
  }
  if (const char* reason = objection(*header, received, known)) {
    count(reason, kind_of(header->body).name);
    return note_stray(*header), std::nullopt;
  }
  const std::optional<std::uint64_t> incarnation = known(header->envelope.sender);
  const std::size_t bytes = received.payload.size();
  const NodeId sender = header->envelope.sender;
  const std::string_view kind = kind_of(header->body).name;
  auto message = assembler_.add(now, std::move(*header), received.payload);
  if (!message) {
    if (message.error().text == "size") oversized_ = sender;
    return count(message.error().text, kind), std::nullopt;
  }
  received_bytes_ += bytes;
  if (!*message) return std::nullopt;
  if (!is_new(**message, incarnation) && !PLANTED(duplicate_applied))
    return count("repeated", kind), std::nullopt;
  return std::move(*message);
}

void Gate::note_stray(Header& header) {
  auto* join = std::get_if<Join>(&header.body);
  if (join && header.envelope.cluster != cluster_)
    stray_ = Stray{header.envelope.sender, std::move(*join)};
}

Gate::Window& Gate::window_of(const Message& message, std::optional<std::uint64_t> known) {
  const std::uint64_t incarnation = message.envelope.incarnation;
  const auto key = std::pair(message.envelope.sender, kind_of(message.body).plane);
  if (!windows_.contains(key) && windows_.size() >= kWindowsLimit) windows_.clear();
  std::vector<Window>& lives = windows_[key];
  const auto found = std::ranges::find(lives, incarnation, &Window::incarnation);
  if (found != lives.end()) {
    std::rotate(found, found + 1, lives.end());
    return lives.back();
  }
  if (lives.size() >= kLivesLimit)
    lives.erase(
        std::ranges::find_if(lives, [&](const Window& life) { return life.incarnation != known; }));
  return lives.emplace_back(Window{incarnation, 0, {}, 0, 0});
}

bool Gate::is_new(const Message& message, std::optional<std::uint64_t> known) {
  const Envelope& envelope = message.envelope;
  Window& window = window_of(message, known);
  if (window.highest > 0 && envelope.sequence > window.highest + kSequenceStep) return false;
  if (envelope.sequence > window.highest) {
    const std::uint64_t ahead = envelope.sequence - window.highest;
    window.seen = ahead < window.seen.size() ? window.seen << ahead : std::bitset<256>();
    window.highest = envelope.sequence;
  }
  const std::uint64_t back = window.highest - envelope.sequence;
  if (back >= window.seen.size()) return begins_anew(window, envelope);
  if (window.seen[back]) return false;
  window.seen.set(back);
  window.behind = 0;
  return true;
}

bool Gate::begins_anew(Window& window, const Envelope& envelope) {
  window.behind = envelope.sequence > window.last_behind ? window.behind + 1 : 0;
  window.last_behind = envelope.sequence;
  if (window.behind < kBehindLimit) return false;
  window = {envelope.incarnation, envelope.sequence, 1, 0, 0};
  return true;
}

void Gate::tick(Time now) {
  for (std::size_t n = assembler_.expire(now, kTransferPatience); n > 0; --n)
    count("incomplete", "vector");
}

void Gate::forget_strangers(std::size_t members, const Known& known) {
  const std::size_t limit = members + kStrangersLimit;
  if (windows_.size() > 2 * limit)
    std::erase_if(windows_, [&](const auto& item) { return !known(item.first.first); });
  if (has_own_records_ && records_->members() > limit)
    records_->keep([&](NodeId id) { return known(id).has_value(); });
}

void Gate::count(const std::string& reason, std::string_view kind) {
  if (!rejected_.contains(reason) && rejected_.size() >= kReasonsLimit) return;
  ++rejected_[reason];
  ++rejected_kinds_[reason].try_emplace(std::string(kind)).first->second;
}

}  // namespace starling::gossip
