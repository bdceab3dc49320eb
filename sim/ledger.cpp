#include "sim/ledger.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace starling::sim {
namespace {

constexpr std::size_t kNumbersLimit = 4096;  // of a model whose every mix is done again
constexpr std::size_t kWeightsLimit = 10'000;
constexpr std::size_t kRoundsLimit = 64;
constexpr double kTolerance = 1e-9;       // relative, of doubles
constexpr double kFloatTolerance = 1e-4;  // of floats on the wire

const std::byte* address_of(const Payload& payload) {
  return payload.empty() ? nullptr : payload.pieces().front().bytes.data();
}

template <class S>
std::vector<double> numbers(const Payload& payload) {
  std::vector<S> raw(payload.size() / sizeof(S));
  payload.copy_to(0, std::as_writable_bytes(std::span(raw)));
  return {raw.begin(), raw.end()};
}

// Empty when it is no vector of that size.
std::vector<double> decode(const Payload& payload, std::size_t dimension) {
  if (payload.size() == dimension * sizeof(double)) return numbers<double>(payload);
  if (payload.size() == dimension * sizeof(float)) return numbers<float>(payload);
  return {};
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(sum);
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (double value : x) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace

Ledger::Book& Ledger::book_of(std::size_t node) {
  Book& book = books_[node];
  if (book.life != world_->life(node)) book = {world_->life(node), 0, {}};
  return book;
}

void Ledger::see(std::size_t node, const gossip::Send& send) {
  const auto* round = std::get_if<gossip::Round>(&send.message.body);
  if (!round) return;
  Book& book = book_of(node);
  if (round->round < book.offered_round)
    report_("rounds go forward", node,
            fmt::format("offers round {} after {}", round->round, book.offered_round));
  book.offered_round = round->round;
  if (const std::byte* address = address_of(send.message.payload))
    offers_[address] = {node, book.life, round->round};
}

void Ledger::see(std::size_t node, const gossip::Train& train) {
  const optim::Job& job = train.job;
  Book& book = book_of(node);
  book.expected.reset();
  if (!job.absorb) return;
  if (laws_.weights_symmetric)
    for (const optim::MixTerm& term : job.mix) compare_weights(node, book, term);
  // An algorithm that overlaps offers something other than its model.
  if (!world_->options().base.overlaps) book.expected = mixed(node, job);
}

// Both ends averaged with each other's vector of the same round.
void Ledger::compare_weights(std::size_t node, const Book& book, const optim::MixTerm& term) {
  const auto found = offers_.find(address_of(term.theirs));
  if (found == offers_.end() || found->second.round != book.offered_round) return;
  const Offer& theirs = found->second;
  const bool is_first = node < theirs.node;
  const Edge edge{theirs.round, is_first ? node : theirs.node, is_first ? theirs.node : node,
                  is_first ? book.life : theirs.life, is_first ? theirs.life : book.life};
  const auto [known, is_new] = weights_.try_emplace(edge, Side{node, term.weight});
  if (is_new) {
    if (weights_.size() > kWeightsLimit) weights_.erase(weights_.begin());
    return;
  }
  if (known->second.node == node) return;
  if (std::abs(known->second.weight - term.weight) > kTolerance)
    report_("weights are symmetric", node,
            fmt::format("gives {} to node-{} in round {} and gets {}", term.weight, theirs.node,
                        theirs.round, known->second.weight));
  weights_.erase(known);
}

// x + sum_j w_j (theirs_j - x)
std::optional<Ledger::Vector> Ledger::mixed(std::size_t node, const optim::Job& job) const {
  const Vector own = world_->trainer(node).parameters();
  if (own.empty() || own.size() > kNumbersLimit) return std::nullopt;
  Vector x = own;
  for (const optim::MixTerm& term : job.mix) {
    const Vector theirs = decode(term.theirs, own.size());
    if (theirs.empty()) continue;
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += term.weight * (theirs[k] - own[k]);
  }
  return x;
}

void Ledger::see(std::size_t node, const gossip::Progress& progress) {
  const bool learns = world_->learning_rate(node) > 0;
  Book& book = book_of(node);
  if (!learns && (book.expected || laws_.mean_stays)) {
    const Vector model = world_->trainer(node).parameters();
    if (book.expected) compare_model(node, *book.expected, model);
    if (laws_.mean_stays) compare_mean(node, progress.round, model);
  }
  book.expected.reset();
  if (learns) mean_.reset(), sums_.clear();
}

void Ledger::compare_model(std::size_t node, const Vector& expected, const Vector& model) {
  if (expected.size() != model.size()) return;
  const double off = distance(expected, model);
  if (off <= kFloatTolerance * (1 + norm(expected))) return;
  report_("a mix is what its weights say", node, fmt::format("it is off by {:.3g}", off));
}

// Of the models after one round of all nodes that run; the first such mean is the reference, anew
// whenever a node comes or goes.
void Ledger::compare_mean(std::size_t node, std::uint64_t round, const Vector& model) {
  const std::vector<std::size_t> running = world_->running();
  std::uint64_t lives = 0;
  for (std::size_t other : running) lives = mix64(lives ^ (other << 32 ^ world_->life(other)));
  if (lives != lives_) {
    lives_ = lives;
    mean_.reset();
    sums_.clear();
  }
  Sum& sum = sums_[round];
  sum.total.resize(model.size());
  for (std::size_t k = 0; k < model.size(); ++k) sum.total[k] += model[k];
  if (++sum.nodes == running.size()) {
    Vector mean = sum.total;
    for (double& value : mean) value /= static_cast<double>(running.size());
    if (!mean_) mean_ = mean;
    if (const double off = distance(mean, *mean_); off > kTolerance * (1 + norm(*mean_)))
      report_("the mean stays", node, fmt::format("it moved by {:.3g} in round {}", off, round));
    sums_.erase(round);
  }
  if (sums_.size() > kRoundsLimit) sums_.erase(sums_.begin());
}

}  // namespace starling::sim
