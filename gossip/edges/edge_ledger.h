// EdgeLedger: which vectors the two ends of an edge average with each other, so that the mean of
// the network stays under loss, repetition and reordering. Each end numbers the vectors it offers
// on the edge 1, 2, ...; the k-th vectors of both ends form pair k, and each end mixes every pair
// exactly once, early or late, s being the vectors and h the shares of pair k:
//   x_i += w (s_j - s_i) ,   x_j += w (s_i - s_j) ,   w = min(h_i, h_j) .
// What i gains is what j loses. A vector is kept until the peer has acknowledged it and the pair is
// mixed. When an edge closes, each end sends the number of its last vector; the pairs that both
// ends have offered are still mixed, and then the ledger is settled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gossip/edges/receive_window.h"
#include "gossip/edges/send_window.h"

namespace starling::gossip {

class EdgeLedger {
 public:
  struct Order {
    bool is_kept = false;       // no pair is mixed before those with lower numbers
    std::uint64_t a_round = 1;  // vectors of each end
  };
  EdgeLedger() = default;
  explicit EdgeLedger(Order order) : order_(order) {}

  // Pairs that may wait for the peer's vector when one more vector is offered. Larger: rounds go on
  // longer without a slow or lossy edge, with older vectors and more memory.
  static constexpr std::size_t kLateLimit = 1;

  struct Pair {
    std::uint64_t index = 0;
    EdgeVector own, theirs;

    double weight() const;
    double span() const;
    // The smaller of both ends; see Round::damping.
    double theta() const;
    // The lesser one that is told; see Round::reach.
    double reach() const;
  };

  // The vectors that this end has sent, and those that have come from the peer.
  const SendWindow& sent() const { return sent_; }
  SendWindow& sent() { return sent_; }
  const ReceiveWindow& received() const { return received_; }

  // ---- this end's vectors
  // Whether the edge takes a vector in the next round: not when it is closed or too many pairs
  // wait. A round that began ends: its second vector is taken where its first was.
  bool takes_part() const;
  // The least round that the peer's half of the next pair, the first of its round, can have; 0 if
  // that half was offered already. If this end offered in an earlier round, the halves of this pair
  // and of all later ones would be of different rounds.
  std::uint64_t round_of_next() const;
  // With two vectors a round: whether the second one of a round is next.
  bool owes_mean() const { return order_.a_round == 2 && sent_.last() % 2 == 1; }
  // With two vectors a round: that of the peer's first one, whose second this end waits for, as its
  // own is sent; 0: of none.
  std::uint64_t round_of_mean() const;
  // Returns the vector's number. REQUIRES !is_closed().
  std::uint64_t offer(EdgeVector own);
  // As SendWindow::acknowledge(). Forgets the vectors that are mixed as well.
  bool acknowledge(std::uint64_t index, std::uint64_t beyond);

  // ---- the peer's vectors
  // Returns false if the vector is known already, makes no pair, or has a number that no honest
  // peer uses.
  bool receive(std::uint64_t index, EdgeVector theirs);
  // The peer has offered all vectors up to `index`.
  void announced(std::uint64_t index) { received_.announced(index); }
  // A vector that the peer has offered has not come; it may be of a round that this end has not
  // begun. On a closed edge only vectors that make a pair count.
  bool lacks() const;

  // ---- pairs
  // Returns the whole pairs that were not taken yet, in order, and counts them as mixed.
  std::vector<Pair> take();
  bool has_pairs() const;
  // A vector of this end lacks the peer's half of its pair.
  bool is_waiting() const;
  // A vector of the peer lacks this end's half of its pair.
  bool is_asked() const { return !theirs_.empty() && theirs_.rbegin()->first > sent_.last(); }
  // A pair before that of the last offer is not mixed here, or this end's half of it not
  // acknowledged.
  bool is_late() const;

  // ---- the end of the edge
  // This end offers no more vectors.
  void close();
  // The peer offers no vector after `last`. Closes this end too.
  void closed_at(std::uint64_t last);
  bool is_closed() const { return closed_; }
  // This end still needs an acknowledgement, a vector or the last number from the peer.
  bool is_open_question() const;
  // The edge is closed at both ends, every pair that both offered is mixed here, and the peer has
  // this end's half of it.
  bool is_settled() const { return closed_ && their_last_ && sent_.kept().empty(); }

 private:
  std::size_t waiting() const;
  void forget_done();
  bool is_whole(std::uint64_t index) const;

  Order order_;
  std::uint64_t mixed_ = 0;  // the highest number of a pair that is mixed
  SendWindow sent_;
  ReceiveWindow received_;
  std::map<std::uint64_t, EdgeVector> theirs_;  // the peer's vectors until they are mixed
  std::uint64_t newest_round_ = 0;  // of the peer's vector with the highest number that has come
  bool closed_ = false;
  std::optional<std::uint64_t> their_last_;
};

}  // namespace starling::gossip
