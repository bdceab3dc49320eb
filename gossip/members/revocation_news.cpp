#include "gossip/members/revocation_news.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/utc.h"

namespace starling::gossip {
namespace {

// To how many members a node sends a new list. Larger: more bytes. Smaller: more get it late.
constexpr std::size_t kTold = 8;

}  // namespace

void RevocationNews::compare(NodeId member, std::uint64_t known, Outbox& out) {
  if (known < out.notary().revocations_number() && roster_.find(member))
    out.send(member, Revoked{out.notary().revocations()});
}

void RevocationNews::receive(Time now, const Revoked& news, Outbox& out) {
  const auto list = decode_revocations(std::as_bytes(std::span(news.list)));
  if (!list)
    out.notary().refuse("malformed");
  else if (out.notary().learn(*list))
    learn(now, *list, out);
}

// A revoked member may be sent the list, too.
void RevocationNews::learn(Time now, const Revocations& list, Outbox& out) {
  const Notary& notary = out.notary();
  out.put(KeepRevocations{list});
  if (const auto time = notary.revoked(roster_.own()))
    out.event(Event::Kind::problem, fmt::format("this node was revoked at {}", utc_text(*time)));
  std::vector<NodeId> others = roster_.present_others();
  for (std::size_t k = 0; k < std::min(kTold, others.size()); ++k) {
    std::swap(others[k], others[k + prng_.below(others.size() - k)]);
    out.send(others[k], Revoked{notary.revocations()});
  }
  const auto when = [&notary](const Member& member) { return notary.revoked(member); };
  law_.expel(now, when, out);
}

}  // namespace starling::gossip
