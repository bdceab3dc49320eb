#include "sim/damage.h"

#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/wire/fields.h"

namespace starling::sim {
namespace {

using gossip::Header;

// An archive (see fields.h) that counts the numbers of a message, and changes the one at `place`.
// Text, bytes and addresses stay.
class Forger {
 public:
  static constexpr std::uint64_t kNowhere = gossip::kAnyNumber;

  Forger(Prng& prng, std::uint64_t place) : prng_(&prng), place_(place) {}

  std::uint64_t count() const { return count_; }

  void number(std::uint64_t& x, std::uint64_t most) {
    if (is_chosen()) x = another(x, most);
  }
  void id(NodeId& x) { number(x.value, gossip::kAnyNumber); }
  void flag(bool& x) {
    if (is_chosen()) x = !x;
  }
  void real(double& x) {
    if (is_chosen()) x = prng_->uniform() * (1 + 2 * x);
  }
  void amount(double& x, double) { real(x); }
  // Another of the values of an enum.
  template <class E>
  void choice(E& x, E last) {
    if (!is_chosen()) return;
    const auto most = static_cast<std::uint64_t>(last);
    x = static_cast<E>((static_cast<std::uint64_t>(x) + 1 + prng_->below(most)) % (most + 1));
  }
  void text(const std::string&, std::size_t) {}
  void name(const std::string&, std::size_t) {}
  void bytes(const std::string&, std::size_t) {}
  void floats(const std::vector<float>&, std::size_t) {}
  void endpoint(const Endpoint&) {}
  void words(std::vector<NodeId>& ids, std::size_t) {
    for (NodeId& x : ids) id(x);
  }
  void words(std::vector<std::uint64_t>& numbers, std::size_t) {
    for (std::uint64_t& x : numbers) number(x, gossip::kAnyNumber);
  }
  void record(auto& x) {
    using gossip::fields;
    fields(*this, x);
  }
  void record(gossip::Record& x) {
    x.change([this](gossip::Member& member) { record(member); });
  }
  void list(auto& records, std::size_t) {
    for (auto& x : records) record(x);
  }
  void rest(auto& records, std::size_t most) { list(records, most); }

 private:
  bool is_chosen() { return count_++ == place_; }
  // A flipped bit, a number of any size, or one of the largest that are read.
  std::uint64_t another(std::uint64_t value, std::uint64_t most) {
    if (prng_->chance(0.25)) return most - prng_->below(2);
    if (prng_->chance(0.5)) return value ^ std::uint64_t{1} << prng_->below(64);
    return prng_->next() >> prng_->below(64);
  }

  Prng* prng_;
  std::uint64_t place_, count_ = 0;
};

void change_one_field(Prng& prng, gossip::Header& header) {
  const auto walk = [&](Forger forger) {
    forger.number(header.envelope.incarnation, gossip::kIncarnationLimit - 1);
    forger.number(header.envelope.sequence, gossip::kAnyNumber);
    forger.number(header.chunk.transfer, gossip::kAnyNumber);
    std::visit([&forger](auto& body) { forger.record(body); }, header.body);
    return forger.count();
  };
  const std::uint64_t count = walk({prng, Forger::kNowhere});
  walk({prng, prng.below(count)});
}

}  // namespace

Damage::Done Damage::meet(gossip::Frame& frame) {
  if (options_.corrupt > 0 && prng_.chance(options_.corrupt)) {
    corrupt(frame);
    ++counts_.corrupted;
    return Done::corrupted;
  }
  const auto by_chance = [this](Header& header) { return change_one_field(prng_, header), true; };
  const bool is_forged =
      options_.forge > 0 && prng_.chance(options_.forge) && forge(frame, by_chance);
  if (is_forged || (liar_ && forge(frame, liar_))) {
    ++counts_.forged;
    return Done::forged;
  }
  return Done::nothing;
}

void Damage::corrupt(gossip::Frame& frame) {
  const std::uint64_t at = prng_.below(frame.header.size() + frame.payload.size());
  const auto flip = static_cast<std::uint8_t>(1 + prng_.below(255));
  if (at < frame.header.size()) {
    char& byte = frame.header[at];
    byte = static_cast<char>(static_cast<std::uint8_t>(byte) ^ flip);
    return;
  }
  std::vector<std::byte> bytes(frame.payload.size());
  frame.payload.copy_to(0, bytes);
  bytes[at - frame.header.size()] ^= std::byte{flip};
  frame.payload = Payload::copy_of(bytes);
}

bool Damage::forge(gossip::Frame& frame, const Liar& change) {
  auto header = gossip::decode_header(std::as_bytes(std::span(frame.header)));
  if (!header || !change(*header)) return false;
  frame.header = gossip::encode_header(header->envelope, header->body, header->chunk);
  return true;
}

}  // namespace starling::sim
