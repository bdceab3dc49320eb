// EdgeLedger: which vectors the two ends of an edge average with each other, so that the mean of
// the network stays under loss, repetition and reordering. Each end numbers the vectors it offers
// on the edge 1, 2, ...; the k-th of one end is paired with the k-th of the other, and each end
// mixes every pair exactly once, early or late, s being the vectors and h the shares of pair k:
//   x_i += w (s_j - s_i) ,   x_j += w (s_i - s_j) ,   w = min(h_i, h_j) .
// What i gains is what j loses. A vector is kept until the other end has said that it has it and
// the pair is mixed. When an edge closes, each end says the number of its last vector; the pairs
// that both have offered are still mixed, and then the ledger is settled.
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
  // Pairs that may wait for the other end's vector when one more is offered. Larger: rounds go on
  // longer over a slow or lossy edge, with older vectors and more memory.
  static constexpr std::size_t kLateLimit = 1;

  struct Pair {
    std::uint64_t index = 0;
    EdgeVector own, theirs;

    double weight() const;
    double span() const;
  };

  // What this end has sent, and what has come of the other end.
  const SendWindow& sent() const { return sent_; }
  SendWindow& sent() { return sent_; }
  const ReceiveWindow& received() const { return received_; }

  // ---- one's own vectors
  // Whether the edge takes part in the next round: not while too many pairs wait.
  bool takes_part() const;
  // The least round of which the other half of the next pair can be: the other end offers one
  // vector a round at most. 0 where it has offered that already. A vector of an earlier round would
  // meet one of another round, and so would all that follow.
  std::uint64_t round_of_next() const;
  // Returns the vector's number. REQUIRES !is_closed().
  std::uint64_t offer(EdgeVector own);
  // As SendWindow::acknowledge(); what is mixed as well is forgotten.
  bool acknowledge(std::uint64_t index, std::uint64_t beyond);

  // ---- the other end's vectors
  // False when it is known already or numbered as no honest end would.
  bool receive(std::uint64_t index, EdgeVector theirs);
  // The other end has offered all up to `index`.
  void announced(std::uint64_t index) { received_.announced(index); }
  // One that was offered has not come; it may be of a round that this end has not begun. Of a
  // closed edge only those that make a pair count.
  bool lacks() const;

  // ---- pairs
  // Those that are whole and were not taken yet, in order; they count as mixed.
  std::vector<Pair> take();
  bool has_pairs() const;
  // A pair lacks its other half.
  bool is_waiting() const;
  // The other end has offered one that this end has not answered.
  bool is_asked() const { return !theirs_.empty() && theirs_.rbegin()->first > sent_.last(); }
  // A pair before that of the last offer is not whole here, or its vector not known to be there.
  bool is_late() const;

  // ---- the end of the edge
  // Nothing more is offered.
  void close();
  // The other end offers nothing after `last`. Closes this end too.
  void closed_at(std::uint64_t last);
  bool is_closed() const { return closed_; }
  // Something is to be learned from the other end.
  bool is_open_question() const;
  // Every pair that both ends offered is mixed here and its vector there.
  bool is_settled() const { return closed_ && their_last_ && sent_.kept().empty(); }

 private:
  std::size_t waiting() const;
  void forget_done();

  SendWindow sent_;
  ReceiveWindow received_;
  std::map<std::uint64_t, EdgeVector> theirs_;  // until mixed
  std::uint64_t newest_round_ = 0;              // of the highest number that has come
  bool closed_ = false;
  std::optional<std::uint64_t> their_last_;
};

}  // namespace starling::gossip
