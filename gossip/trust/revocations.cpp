#include "gossip/trust/revocations.h"

#include <algorithm>
#include <tuple>

#include "base/node_name.h"
#include "base/utc.h"
#include "gossip/trust/signed_record.h"

namespace starling::gossip {

template <class A>
void fields(A& a, Like<Revocations::Name> auto& x) {
  a.name(x.name, kNameBytesLimit);
  a.number(x.time, kLatestMoment);
}

template <class A>
void fields(A& a, Like<Revocations::Key> auto& x) {
  a.block(x.key.bytes);
  a.number(x.time, kLatestMoment);
}

template <class A>
void fields(A& a, Like<Revocations> auto& x) {
  a.block(x.cluster.bytes);
  a.number(x.number, kAnyNumber);
  a.list(x.names, kRevocationsLimit);
  a.list(x.keys, kRevocationsLimit);
}

namespace {

// Inserts the entry at its place, or raises the time of the one that is there.
template <class Entry, class Field>
void raise(std::vector<Entry>& entries, const Entry& entry, Field Entry::*field) {
  const auto place = std::ranges::lower_bound(entries, entry.*field, {}, field);
  if (place == entries.end() || (*place).*field != entry.*field)
    entries.insert(place, entry);
  else
    place->time = std::max(place->time, entry.time);
}

template <class Entry, class Field>
const Entry* find(const std::vector<Entry>& entries, const Field& wanted, Field Entry::*field) {
  const auto place = std::ranges::lower_bound(entries, wanted, {}, field);
  return place != entries.end() && (*place).*field == wanted ? &*place : nullptr;
}

template <class Entry, class Field>
bool is_ordered(const std::vector<Entry>& entries, Field Entry::*field) {
  return std::ranges::adjacent_find(entries, std::ranges::greater_equal{}, field) == entries.end();
}

}  // namespace

Result<Revocations> revoke(Revocations list, std::span<const Revocations::Name> names,
                           std::span<const Revocations::Key> keys, const KeyPair& by) {
  for (const Revocations::Name& name : names) raise(list.names, name, &Revocations::Name::name);
  for (const Revocations::Key& key : keys) raise(list.keys, key, &Revocations::Key::key);
  list.cluster = by.public_key();
  ++list.number;
  if (!is_within_record_limits(list))
    return fail(
        "a revocation list has at most {} names and {} keys; a name has at most {} bytes of {}",
        kRevocationsLimit, kRevocationsLimit, kNameBytesLimit, kNodeNameLaw);
  sign_record(list, by);
  return list;
}

std::optional<std::uint64_t> revoked_at(const Revocations& list, const Certificate& certificate) {
  if (const auto* key = find(list.keys, certificate.key, &Revocations::Key::key)) return key->time;
  const auto* name = find(list.names, certificate.name, &Revocations::Name::name);
  return name && certificate.not_before <= name->time ? std::optional(name->time) : std::nullopt;
}

bool supersedes(const Revocations& one, const Revocations& other) {
  return std::tie(one.number, one.signature) > std::tie(other.number, other.signature);
}

bool is_signed(const Revocations& list) {
  return is_record_signed(list, list.cluster);
}

std::string encode(const Revocations& list) {
  return encode_record(list);
}

Result<Revocations> decode_revocations(std::span<const std::byte> bytes) {
  TRY(Revocations list, decode_record<Revocations>(bytes));
  if (!is_ordered(list.names, &Revocations::Name::name) ||
      !is_ordered(list.keys, &Revocations::Key::key))
    return fail("a revocation list that is not in order");
  return list;
}

}  // namespace starling::gossip
