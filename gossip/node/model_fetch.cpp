#include "gossip/node/model_fetch.h"

#include <vector>

#include "gossip/node/parties.h"

namespace starling::gossip {
namespace {

// Since others tell a model that this node lacks, before it asks them and not its parent.
constexpr Duration kFetchAfter = std::chrono::seconds(1);
// Questions to a donor of the model before another is asked.
constexpr std::size_t kAsksMost = 4;

}  // namespace

void ModelFetch::tick(Time now, std::uint64_t told, bool is_patient,
                      const std::set<NodeId>& refused, Outbox& out) {
  if (told == 0) {
    told_at_ = kNever;
    return;
  }
  if (told_at_ == kNever) told_at_ = now, donor_.reset();
  if (is_patient && now < told_at_ + kFetchAfter) return;
  const Member* donor = donor_ ? around_.members.find(*donor_) : nullptr;
  const bool is_sound = donor && donor->sealed == told;
  if (is_sound && now < next_ask_) return;
  if (!is_sound || asks_ >= kAsksMost) choose(told, refused);
  if (!donor_) return;
  next_ask_ = now + kAskPause * options_.timing.retry;
  if (is_sending(around_.gate, *donor_, now, options_.timing)) return;
  ++asks_;
  out.send(*donor_, Tally{});
}

void ModelFetch::choose(std::uint64_t told, const std::set<NodeId>& refused) {
  std::vector<NodeId> near, far;
  const NodeId self = around_.members.self();
  const Parties parties(around_.members, options_.needs.liars);
  for (const Member* member : parties.here())
    if (member->id != self && member->sealed == told && !refused.contains(member->id) &&
        can_meet(around_.members.own(), *member))
      (around_.links.active(member->id) ? near : far).push_back(member->id);
  const std::vector<NodeId>& from = near.empty() ? far : near;
  asks_ = 0;
  donor_.reset();
  if (!from.empty()) donor_ = from[(self.value + donors_++) % from.size()];
}

}  // namespace starling::gossip
