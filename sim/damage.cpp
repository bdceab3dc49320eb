#include "sim/damage.h"

#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/wire/fields.h"

namespace starling::sim {
namespace {

using gossip::Header;

// An archive (see fields.h) of the numbers of a message, one of which becomes another one. What is
// text, bytes or an address stays.
class Forger {
 public:
  void number(std::uint64_t& x, std::uint64_t most) {
    changes_.emplace_back([&x, most](Prng& prng) { x = another(prng, x, most); });
  }
  void id(NodeId& x) { number(x.value, gossip::kAnyNumber); }
  void flag(bool& x) {
    changes_.emplace_back([&x](Prng&) { x = !x; });
  }
  void real(double& x) {
    changes_.emplace_back([&x](Prng& prng) { x = prng.uniform() * (1 + 2 * x); });
  }
  void amount(double& x, double) { real(x); }
  // Another of the values of an enum.
  template <class E>
  void choice(E& x, E last) {
    const auto most = static_cast<std::uint64_t>(last);
    changes_.emplace_back([&x, most](Prng& prng) {
      x = static_cast<E>((static_cast<std::uint64_t>(x) + 1 + prng.below(most)) % (most + 1));
    });
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
  // Which is immutable: a changed member takes its place.
  void record(gossip::Record& x) {
    gossip::Member& member = members_.emplace_back(*x);
    const std::size_t before = changes_.size();
    record(member);
    for (std::size_t k = before; k < changes_.size(); ++k)
      changes_[k] = [change = std::move(changes_[k]), &x, &member](Prng& prng) {
        change(prng);
        x = gossip::Record(member);
      };
  }
  void list(auto& records, std::size_t) {
    for (auto& x : records) record(x);
  }
  void rest(auto& records, std::size_t most) { list(records, most); }

  void change_one(Prng& prng) { changes_[prng.below(changes_.size())](prng); }

 private:
  // A flipped bit, a number of any size, or one of the largest that are read.
  static std::uint64_t another(Prng& prng, std::uint64_t value, std::uint64_t most) {
    if (prng.chance(0.25)) return most - prng.below(2);
    if (prng.chance(0.5)) return value ^ std::uint64_t{1} << prng.below(64);
    return prng.next() >> prng.below(64);
  }

  std::vector<std::function<void(Prng&)>> changes_;
  std::deque<gossip::Member> members_;
};

void change_one_field(Prng& prng, gossip::Header& header) {
  Forger forger;
  forger.number(header.envelope.incarnation, gossip::kIncarnationLimit - 1);
  forger.number(header.envelope.sequence, gossip::kAnyNumber);
  forger.number(header.chunk.transfer, gossip::kAnyNumber);
  std::visit([&forger](auto& body) { forger.record(body); }, header.body);
  forger.change_one(prng);
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
  const std::uint64_t at = prng_.below(frame.header.size() + frame.body.size());
  const auto flip = static_cast<std::uint8_t>(1 + prng_.below(255));
  if (at < frame.header.size()) {
    char& byte = frame.header[at];
    byte = static_cast<char>(static_cast<std::uint8_t>(byte) ^ flip);
    return;
  }
  std::vector<std::byte> bytes(frame.body.size());
  frame.body.copy_to(0, bytes);
  bytes[at - frame.header.size()] ^= std::byte{flip};
  frame.body = Payload::copy_of(bytes);
}

bool Damage::forge(gossip::Frame& frame, const Liar& change) {
  auto header = gossip::decode_header(std::as_bytes(std::span(frame.header)));
  if (!header || !change(*header)) return false;
  frame.header = gossip::encode_header(header->envelope, header->body, header->chunk);
  return true;
}

}  // namespace starling::sim
