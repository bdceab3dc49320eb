// EdgeLedger: which vectors the two ends of an edge average with each other, so that the mean of
// the network stays under loss, repetition and reordering. Each end numbers the vectors it offers
// on the edge 1, 2, ...; the k-th of one end is paired with the k-th of the other, and each end
// mixes every pair exactly once, early or late, s being the vectors and h the shares of pair k:
//   x_i += w (s_j - s_i) ,   x_j += w (s_i - s_j) ,   w = min(h_i, h_j) .
// What i gains is what j loses. A vector is kept until the other end has said that it has it and
// the pair is mixed. When an edge closes, each end says the number of its last vector; the pairs
// that both have offered are still mixed, and then the ledger is settled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/payload.h"

namespace starling::gossip {

class EdgeLedger {
 public:
  // Pairs that may wait for the other end's vector when one more is offered. Larger: rounds go on
  // longer over a slow or lossy edge, with older vectors and more memory.
  static constexpr std::size_t kLateLimit = 1;

  struct Vector {
    std::uint64_t round = 0;
    double share = 0;  // that the end which offers it allows; see Round
    double span = 0;   // of its steps since the one before; see optim::MixTerm
    Payload payload = {};
  };
  struct Pair {
    std::uint64_t index = 0;
    Vector own, theirs;

    double weight() const;
    double span() const;
  };

  // ---- one's own vectors
  // Whether the edge takes part in the next round: not while too many pairs wait.
  bool takes_part() const;
  // The least round of which the other half of the next pair can be: the other end offers one
  // vector a round at most. 0 where it has offered that already. A vector of an earlier round would
  // meet one of another round, and so would all that follow.
  std::uint64_t round_of_next() const;
  // Returns the vector's number. REQUIRES !is_closed().
  std::uint64_t offer(Vector own);
  // It was sent, for the first time or again, as number `order` of all that this end sends.
  // REQUIRES a vector that is still kept.
  void sent(std::uint64_t index, std::uint64_t order) { own_.at(index).order = order; }
  // The other end has all up to `index`, and those of the bits of `beyond` behind it, as
  // Round::beyond says. Returns whether that is news.
  bool acknowledge(std::uint64_t index, std::uint64_t beyond);
  // What it was last known to have: all up to this one.
  std::uint64_t acknowledged() const { return acknowledged_; }
  // The other end has seen what was sent as number `order`.
  void seen(std::uint64_t order) { seen_ = std::max(seen_, order); }
  // The highest order that the other end has seen.
  std::uint64_t seen() const { return seen_; }
  // Those that the other end lacks although it has seen something that was sent behind them.
  std::vector<std::uint64_t> lost() const;
  // The highest order of those that the other end may not have; 0 where it has all.
  std::uint64_t newest_unconfirmed() const;
  const Vector& own(std::uint64_t index) const { return own_.at(index).vector; }

  // ---- the other end's vectors
  // False when it is known already or numbered as no honest end would.
  bool receive(std::uint64_t index, Vector theirs);
  bool has(std::uint64_t index) const { return index <= received_ || beyond_.contains(index); }
  // The other end has offered all up to `index`.
  void announced(std::uint64_t index);
  std::uint64_t announced() const { return announced_; }
  // One that was offered has not come; it may be of a round that this end has not begun. Of a
  // closed edge only those that make a pair count.
  bool lacks() const { return (closed_ ? std::min(announced_, last_) : announced_) > received_; }
  // A later one came before it.
  bool has_gap() const { return newest_ > received_; }
  // All up to this one have come.
  std::uint64_t received() const { return received_; }
  // And of those behind it these, as Round::beyond.
  std::uint64_t beyond() const;

  // The pairs that are whole and were not taken yet, in order; they count as mixed.
  std::vector<Pair> take();
  bool has_pairs() const;
  // A pair lacks its other half.
  bool is_waiting() const;
  // The other end has offered one that this end has not answered.
  bool is_asked() const { return !theirs_.empty() && theirs_.rbegin()->first > last_; }

  // ---- the end of the edge
  // Nothing more is offered.
  void close();
  // The other end offers nothing after `last`. Closes this end too.
  void closed_at(std::uint64_t last);
  bool is_closed() const { return closed_; }
  // The number of the last vector offered.
  std::uint64_t last() const { return last_; }
  // Something is to be learned from the other end.
  bool is_open_question() const;
  // A pair before that of the last offer is not whole here, or its vector not known to be there.
  bool is_late() const { return !own_.empty() && own_.begin()->first < last_; }
  // Bytes of the vectors that the other end has not said to have.
  std::uint64_t unconfirmed_bytes() const;
  // Every pair that both ends offered is mixed here and its vector there.
  bool is_settled() const { return closed_ && their_last_ && own_.empty(); }

 private:
  struct Own {
    Vector vector;
    bool is_mixed = false;
    bool has_come = false;    // at the other end
    std::uint64_t order = 0;  // of its last sending; 0: not yet
  };

  std::size_t waiting() const;
  void forget_done();

  std::uint64_t last_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t seen_ = 0;
  std::map<std::uint64_t, Own> own_;  // until acknowledged and mixed
  std::uint64_t received_ = 0;
  std::set<std::uint64_t> beyond_;          // received out of order
  std::map<std::uint64_t, Vector> theirs_;  // until mixed
  std::uint64_t newest_ = 0;                // highest number received
  std::uint64_t announced_ = 0;             // highest number offered, as far as is known
  std::uint64_t newest_round_ = 0;          // of that
  bool closed_ = false;
  std::optional<std::uint64_t> their_last_;
};

}  // namespace starling::gossip
