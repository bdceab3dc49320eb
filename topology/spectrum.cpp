#include "topology/spectrum.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "base/prng.h"
#include "topology/matching.h"
#include "topology/sequence.h"
#include "topology/weights.h"

namespace starling::topology {
namespace {

using Eigen::VectorXd;

constexpr std::uint64_t kStartSeed = 42;
constexpr double kMultiplicationsLimit = 1e8;

// U(42, i) of the reference problem, in [-1, 1), less its mean.
VectorXd centred_start(int n) {
  VectorXd x(n);
  for (int i = 0; i < n; ++i) {
    const std::uint64_t bits = mix64((kStartSeed << 32) | static_cast<std::uint64_t>(i));
    x[i] = static_cast<double>(bits >> 11) * 0x1.0p-53 * 2 - 1;
  }
  x.array() -= x.mean();
  return x;
}

// x -> ((1 - share) I + share W - J) x, edge by edge. W keeps the mean, so that Jx may be
// subtracted before or after; after, rounding cannot bring it back.
class Deflated {
 public:
  explicit Deflated(const Graph& graph, double share = 1)
      : graph_(graph), weights_(metropolis_weights(graph)), share_(share) {}

  VectorXd operator*(const VectorXd& x) const {
    VectorXd y(x.size());
    const auto n = static_cast<std::size_t>(x.size());
    mix(graph_, weights_, {x.data(), n}, {y.data(), n});
    if (share_ != 1) y = share_ * y + (1 - share_) * x;
    y.array() -= y.mean();
    return y;
  }

 private:
  const Graph& graph_;
  Weights weights_;
  double share_;
};

// For a Schur form, which is triangular except for blocks of two rows on the diagonal. Each block
// has two conjugate eigenvalues.
double blocks_modulus(const Eigen::MatrixXd& schur) {
  double largest = 0;
  for (Eigen::Index k = 0; k < schur.rows(); ++k) {
    if (k + 1 == schur.rows() || schur(k + 1, k) == 0) {
      largest = std::max(largest, std::abs(schur(k, k)));
      continue;
    }
    const double product = schur(k, k) * schur(k + 1, k + 1) - schur(k, k + 1) * schur(k + 1, k);
    largest = std::max(largest, std::sqrt(std::abs(product)));
    ++k;
  }
  return largest;
}

// For a tridiagonal matrix.
double tridiagonal_modulus(const VectorXd& diagonal, const VectorXd& beside) {
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, beside, Eigen::EigenvaluesOnly);
  return solver.eigenvalues().cwiseAbs().maxCoeff();
}

// Reduces and solves in two steps: Eigen's solver for both also computes eigenvectors, and takes
// twice as long to compile.
double dense_modulus(const Graph& graph, double share) {
  const Weights weights = metropolis_weights(graph);
  const int n = graph.size();
  Eigen::MatrixXd deflated = Eigen::MatrixXd::Zero(n, n);
  for (int i = 0; i < n; ++i) {
    deflated(i, i) = share * weights.self[i];
    for (std::size_t k = 0; k < graph.in[i].size(); ++k)
      deflated(i, graph.in[i][k]) = share * weights.from[i][k];
  }
  deflated.array() -= 1.0 / n;
  deflated.diagonal().array() += 1 - share;
  if (!graph.is_directed()) {
    const Eigen::Tridiagonalization<Eigen::MatrixXd> reduced(deflated);
    return tridiagonal_modulus(reduced.diagonal(), reduced.subDiagonal());
  }
  const Eigen::HessenbergDecomposition<Eigen::MatrixXd> reduced(deflated);
  Eigen::RealSchur<Eigen::MatrixXd> solver(n);
  solver.computeFromHessenberg(reduced.matrixH(), Eigen::MatrixXd(), false);
  return blocks_modulus(solver.matrixT());
}

// Lanczos, for symmetric W: the extreme eigenvalues of the tridiagonal matrix approach those of W
// as 1/steps^2, where plain powers approach as 1/steps. Lost orthogonality only repeats
// eigenvalues, which does not touch the largest.
double lanczos_modulus(const Graph& graph, double share) {
  const Deflated deflated(graph, share);
  VectorXd before = VectorXd::Zero(graph.size()), here = centred_start(graph.size()).normalized();
  std::vector<double> diagonal, beside;
  for (int step = 0; step < kStepsLimit; ++step) {
    VectorXd next = deflated * here;
    diagonal.push_back(here.dot(next));
    next -= diagonal.back() * here;
    if (!beside.empty()) next -= beside.back() * before;
    const double length = next.norm();
    if (length < 1e-12 || step + 1 == kStepsLimit) break;
    beside.push_back(length);
    before = std::move(here);
    here = next / length;
  }
  return tridiagonal_modulus(VectorXd::Map(diagonal.data(), std::ssize(diagonal)),
                             VectorXd::Map(beside.data(), std::ssize(beside)));
}

// Powers, for any W: the mean growth over the second half of the steps. A single ratio would swing
// where the largest eigenvalues are a complex pair.
double power_modulus(const Graph& graph, double share) {
  const Deflated deflated(graph, share);
  VectorXd x = centred_start(graph.size()).normalized();
  double logarithm = 0;
  for (int step = 0; step < kStepsLimit; ++step) {
    x = deflated * x;
    const double length = x.norm();
    if (length < 1e-300) return 0;
    x /= length;
    if (step >= kStepsLimit / 2) logarithm += std::log(length);
  }
  return std::exp(logarithm / (kStepsLimit - kStepsLimit / 2));
}

// x -> ((1 - share) I + share W_t - J) x
void mix_round(const Sequence& sequence, std::uint64_t t, double share, VectorXd& x) {
  const VectorXd before = x;
  const auto round = sequence.round(t);
  for (std::size_t i = 0; i < round.size(); ++i)
    for (const Turn& turn : round[i])
      if (turn.in) {
        const auto own = static_cast<Eigen::Index>(i);
        x[own] += share * turn.weight * (before[turn.vertex] - before[own]);
      }
  x.array() -= x.mean();
}

}  // namespace

double periodic_modulus(const Sequence& sequence, double share) {
  constexpr double kRounding = 1e-12;
  const auto period = static_cast<std::uint64_t>(sequence.period());
  const auto n = static_cast<int>(sequence.round(0).size());
  if (n < 2) return 0;
  VectorXd x = centred_start(n).normalized();
  double logarithm = 0;
  for (std::uint64_t t = 0; t < kPeriodsDone * period; ++t) {
    mix_round(sequence, t, share, x);
    const double length = x.norm();
    if (length < kRounding) return 0;
    x /= length;
    if (t >= kPeriodsDone / 2 * period) logarithm += std::log(length);
  }
  return std::exp(logarithm / static_cast<double>(kPeriodsDone / 2 * period));
}

double second_modulus(const Graph& graph, double share) {
  if (graph.size() < 2) return 0;
  if (!graph.is_connected()) return 1;
  const double modulus = graph.size() <= kDenseNodesLimit ? dense_modulus(graph, share)
                         : graph.is_directed()            ? power_modulus(graph, share)
                                                          : lanczos_modulus(graph, share);
  // Rounding leaves so much of a zero.
  return modulus < 1e-9 ? 0 : std::min(modulus, 1.0);
}

double matching_modulus(const Graph& graph, double share, int most) {
  if (graph.size() < 2) return 0;
  if (!graph.is_connected()) return 1;
  const int n = graph.size();
  const double moved = 2 * share - share * share;
  // I - E[W] on the complete graph is (I - J) n / 2 times how often an edge is drawn.
  if (graph.degrees().mean == n - 1)
    return std::sqrt(1 - moved * 0.5 * n * std::min(most, n / 2) / (0.5 * n * (n - 1)));
  Eigen::MatrixXd mean = Eigen::MatrixXd::Identity(n, n).array() - 1.0 / n;
  for (int t = 0; t < kMatchingsDrawn; ++t) {
    const std::vector<int> partners =
        matching(graph, kStartSeed, static_cast<std::uint64_t>(t), most);
    for (int i = 0; i < n; ++i) {
      const int j = partners[i];
      if (j < 0) continue;
      mean(i, i) -= moved / (2 * kMatchingsDrawn);
      mean(i, j) += moved / (2 * kMatchingsDrawn);
    }
  }
  const Eigen::Tridiagonalization<Eigen::MatrixXd> reduced(mean);
  return std::sqrt(tridiagonal_modulus(reduced.diagonal(), reduced.subDiagonal()));
}

std::optional<std::uint64_t> rounds_to_consensus(const Graph& graph, double second_modulus) {
  if (!graph.is_connected()) return std::nullopt;
  if (graph.size() < 2) return 0;
  const Deflated deflated(graph);
  VectorXd error = centred_start(graph.size());
  const double goal = kConsensusReduction * error.norm();
  const double cost = graph.size() * (1 + graph.degrees().mean);
  const auto limit = static_cast<std::uint64_t>(kMultiplicationsLimit / cost);
  std::uint64_t round = 0;
  for (; round < limit && error.norm() > goal; ++round) error = deflated * error;
  if (error.norm() <= goal) return round;
  if (second_modulus >= 1) return std::nullopt;
  const double rest = std::log(goal / error.norm()) / std::log(second_modulus);
  return round + static_cast<std::uint64_t>(std::ceil(rest));
}

std::optional<std::uint64_t> rounds_to_consensus(const Sequence& sequence, int n) {
  VectorXd error = centred_start(n);
  const double goal = kConsensusReduction * error.norm();
  for (std::uint64_t t = 0; t <= kSequenceRoundsLimit; ++t) {
    if (error.norm() <= goal) return t;
    mix_round(sequence, t, 1, error);
  }
  return std::nullopt;
}

}  // namespace starling::topology
