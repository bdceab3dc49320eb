#include "sim/damage.h"

#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/wire/wire.h"

namespace starling::sim {
namespace {

using gossip::Header;

// The numbers of a header, one of which becomes another one.
class Fields {
 public:
  void add(std::uint64_t& field) {
    changes_.emplace_back([&field](Prng& prng) { field = another(prng, field); });
  }
  void add(std::uint32_t& field) {
    changes_.emplace_back(
        [&field](Prng& prng) { field = static_cast<std::uint32_t>(another(prng, field)); });
  }
  void add(NodeId& field) { add(field.value); }
  void add(bool& field) {
    changes_.emplace_back([&field](Prng&) { field = !field; });
  }
  void add(double& field) {
    changes_.emplace_back([&field](Prng& prng) { field = prng.uniform() * (1 + 2 * field); });
  }
  // The other values of a type that has so many.
  template <class E>
  void add(E& field, std::uint64_t values) {
    changes_.emplace_back([&field, values](Prng& prng) {
      field =
          static_cast<E>((static_cast<std::uint64_t>(field) + 1 + prng.below(values - 1)) % values);
    });
  }
  void change_one(Prng& prng) { changes_[prng.below(changes_.size())](prng); }

 private:
  // A flipped bit, or a number of any size.
  static std::uint64_t another(Prng& prng, std::uint64_t value) {
    if (prng.chance(0.5)) return value ^ std::uint64_t{1} << prng.below(64);
    return prng.next() >> prng.below(64);
  }

  std::vector<std::function<void(Prng&)>> changes_;
};

void list(Fields& fields, gossip::Member& member) {
  fields.add(member.id);
  fields.add(member.incarnation);
  fields.add(member.version);
  fields.add(member.phase, 4);
  fields.add(member.round);
  fields.add(member.loss);
  fields.add(member.agreement);
}

void list(Fields& fields, std::vector<gossip::Rumor>& rumors) {
  for (gossip::Rumor& rumor : rumors) {
    list(fields, rumor.member);
    fields.add(rumor.liveness, 4);
    fields.add(rumor.accuser);
  }
}

struct BodyFields {
  Fields& fields;

  void operator()(gossip::Join& join) { list(fields, join.self); }
  void operator()(gossip::Gossip& gossip) { list(fields, gossip.rumors); }
  void operator()(gossip::Table& table) {
    fields.add(table.asks);
    list(fields, table.rumors);
  }
  void operator()(gossip::Probe& probe) {
    fields.add(probe.kind, 4);
    fields.add(probe.number);
    fields.add(probe.subject);
    list(fields, probe.rumors);
  }
  void operator()(gossip::Hello& hello) {
    fields.add(hello.epoch);
    fields.add(hello.echo);
    fields.add(hello.schema);
    fields.add(hello.view);
    fields.add(hello.stamps.sent);
    fields.add(hello.stamps.echo);
    fields.add(hello.stamps.held);
  }
  void operator()(gossip::Bye& bye) { fields.add(bye.epoch); }
  void operator()(gossip::Surveys& message) {
    for (NodeId& id : message.held) fields.add(id);
    for (auto& [id, survey] : message.surveys) fields.add(id);
  }
  void operator()(gossip::SnapshotRequest& request) { list(fields, request.self); }
  void operator()(gossip::Snapshot& snapshot) { fields.add(snapshot.round); }
  void operator()(gossip::Misdirected& word) {
    fields.add(word.why, 2);
    fields.add(word.asks);
  }
  void operator()(gossip::Terms&) {}
  void operator()(gossip::Round& round) {
    for (std::uint64_t* number :
         {&round.epoch, &round.echo, &round.round, &round.index, &round.received, &round.beyond,
          &round.partial, &round.offered, &round.order, &round.seen, &round.sent})
      fields.add(*number);
    fields.add(round.share);
    fields.add(round.span);
    fields.add(round.closes);
    fields.add(round.asks);
    fields.add(round.rate);
  }
};

void change_one_field(Prng& prng, Header& header) {
  Fields fields;
  fields.add(header.envelope.incarnation);
  fields.add(header.envelope.sequence);
  fields.add(header.chunk.transfer);
  std::visit(BodyFields{fields}, header.body);
  fields.change_one(prng);
}

}  // namespace

Damage::Done Damage::meet(gossip::Frame& frame) {
  if (options_.corrupt > 0 && prng_.chance(options_.corrupt)) {
    corrupt(frame);
    ++counts_.corrupted;
    return Done::corrupted;
  }
  if (options_.forge > 0 && prng_.chance(options_.forge) && forge(frame)) {
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

bool Damage::forge(gossip::Frame& frame) {
  auto header = gossip::decode_header(std::as_bytes(std::span(frame.header)));
  if (!header) return false;
  change_one_field(prng_, *header);
  frame.header = gossip::encode_header(header->envelope, header->body, header->chunk);
  return true;
}

}  // namespace starling::sim
