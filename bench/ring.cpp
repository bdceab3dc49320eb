// Ring: what a round costs over the real transport. Processes on loopback send their vector to
// their neighbours and wait for the neighbours' vectors, in lockstep.
//   bench_ring PROCESSES [keys], then requests; with keys connections are encrypted
//   average BYTES ROUNDS    encode, cut, send, put together and mix; milliseconds a round
//   exchange BYTES ROUNDS   the same without encoding and mixing; GB/s each way of one process
//   give BYTES ROUNDS       only the first sends BYTES, the others answer with four; GB/s
//   ping BYTES ROUNDS       as exchange; the median time in which a control message of the first
//                           comes back from its neighbour meanwhile; milliseconds
//   ping-most BYTES ROUNDS  the same, of the slowest hundredth
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "base/utc.h"
#include "bench/measure.h"
#include "bench/team.h"
#include "daemon/process/memory.h"
#include "daemon/process/zmq_transport.h"
#include "gossip/wire/transfer.h"
#include "optim/codec/codec.h"
#include "optim/combine/mixer.h"

namespace starling::bench {
namespace {

constexpr std::size_t kProcessesLimit = 16;
constexpr std::size_t kWarmUpRounds = 3;

struct Order {
  std::size_t bytes = 0;
  std::size_t rounds = 0;
  bool averages = false;
  bool gives = false;
  double pings = 0;  // the share of pings that come back in the time that is told; 0: none is sent
};

using Ports = std::array<std::uint16_t, kProcessesLimit>;

Endpoint loopback(std::uint16_t port) {
  return {"127.0.0.1", port};
}

// Of a number above 0, the same for the same.
KeyPair key_of(std::size_t number) {
  Secret seed(kKeyBytes);
  seed.bytes()[0] = static_cast<std::byte>(number);
  return KeyPair(seed);
}

std::string name_of(std::size_t rank) {
  return fmt::format("rank-{}", rank);
}

KeyPair key_of_rank(std::size_t rank) {
  return key_of(rank + 2);
}

std::shared_ptr<gossip::Credentials> credentials_of(std::size_t rank) {
  const KeyPair cluster = key_of(1);
  auto certificate = gossip::sign_certificate(
      {.name = name_of(rank), .key = key_of_rank(rank).public_key(), .not_after = kLatestMoment},
      cluster);
  ENSURE(certificate, "a certificate can be signed");
  return std::make_shared<gossip::Credentials>(gossip::Credentials{
      key_of_rank(rank), *certificate, gossip::Authority(cluster.public_key(), {})});
}

class Process {
 public:
  Process(std::size_t rank, std::size_t size, bool has_keys)
      : rank_(rank), size_(size), has_keys_(has_keys) {
    auto transport =
        daemon::ZmqTransport::bind({.self = node_id(name_of(rank)),
                                    .listen = loopback(0),
                                    .credentials = has_keys ? credentials_of(rank) : nullptr});
    ENSURE(transport, "free ports can be had");
    transport_ = *std::move(transport);
  }

  std::uint16_t port() const { return transport_->endpoint().port; }
  void meet(const Ports& ports) {
    for (std::size_t other : {(rank_ + 1) % size_, (rank_ + size_ - 1) % size_}) {
      const auto key = has_keys_ ? curve_key(key_of_rank(other).public_key()) : std::nullopt;
      transport_->reach(node_id(name_of(other)),
                        gossip::Transport::Address{loopback(ports[other]), key});
      neighbors_.insert(node_id(name_of(other)));
    }
  }

  // Seconds of the median round, or of a ping.
  double run(const Order& order) {
    pings_.clear();
    if (order.pings > 0 && rank_ == 0) ping();
    assembler_.set_payload_limit(order.bytes);
    std::vector<float> x(order.gives && rank_ > 0 ? 1 : order.bytes / sizeof(float));
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = value(static_cast<float>(rank_), k);
    x_.emplace(x, pool_);
    if (!order.averages) sent_ = optim::encode(*optim::format_named("f32"), *x_, *pool_);
    expected_.resize(size_);
    std::iota(expected_.begin(), expected_.end(), 0.0);
    std::vector<double> times;
    for (std::size_t i = 0; i < kWarmUpRounds + order.rounds; ++i) {
      const auto start = Clock::now();
      round(order);
      if (i >= kWarmUpRounds) times.push_back(seconds_since(start));
      if (order.averages) expect_average();
      if (i == 0) verify(order);
    }
    verify(order);
    if (order.pings == 0 || rank_ > 0) return median(std::move(times));
    std::ranges::sort(pings_);
    ENSURE(!pings_.empty(), "a ping comes back");
    return pings_[static_cast<std::size_t>(order.pings * static_cast<double>(pings_.size() - 1))];
  }

 private:
  using Inbox = std::map<std::uint64_t, std::vector<optim::MixTerm>>;

  static float value(float own, std::size_t k) { return own + static_cast<float>(k % 7); }
  double weight() const { return 1.0 / static_cast<double>(1 + neighbors_.size()); }

  void round(const Order& order) {
    gossip::Round vector;
    vector.epoch = 1, vector.round = ++round_, vector.share = 0.25;
    if (order.averages) sent_ = optim::encode(*optim::format_named("f32"), *x_, *pool_);
    for (const NodeId peer : neighbors_) {
      const gossip::Message message{{0, NodeId{rank_}, 1, ++sequence_}, vector, sent_};
      transport_->send(peer, gossip::Plane::bulk, cutter_.cut(message));
    }
    std::vector<optim::MixTerm>& terms = inbox_[round_];
    while (terms.size() < neighbors_.size() || transport_->has_queued())
      transport_->poll(std::chrono::seconds(1), {}, [this](gossip::Received frame) {
        if (frame.plane == gossip::Plane::control)
          answer(frame.from);
        else
          receive(frame.header, std::move(frame.payload));
      });
    for (optim::MixTerm& term : terms) term.own = sent_;
    if (order.averages)
      ENSURE(optim::mix(*x_, sent_, terms, *optim::format_named("f32")).rejections.empty(),
             "every vector is mixed");
    else
      received_ = terms;
    inbox_.erase(round_);
  }

  void ping() {
    pinged_ = Clock::now();
    transport_->send(node_id(name_of(1)), gossip::Plane::control,
                     gossip::Frames(gossip::Frame{std::string(64, 'p'), {}}));
  }
  // The first has its ping back, and sends another; others send it back.
  void answer(NodeId from) {
    if (rank_ == 0) {
      pings_.push_back(seconds_since(pinged_));
      ping();
    } else {
      transport_->send(from, gossip::Plane::control,
                       gossip::Frames(gossip::Frame{std::string(64, 'p'), {}}));
    }
  }
  void receive(std::span<const std::byte> bytes, Payload body) {
    auto header = gossip::decode_header(bytes);
    ENSURE(header, "a header is sound");
    auto message = assembler_.add(Time{}, *std::move(header), std::move(body));
    ENSURE(message, "a chunk is the next one");
    if (!message->has_value()) return;
    const auto& round = std::get<gossip::Round>((*message)->body);
    inbox_[round.round].push_back(
        {(*message)->envelope.sender, weight(), std::move((*message)->payload)});
  }

  void expect_average() {
    std::vector<double> next(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      const std::set<std::size_t> group{i, (i + 1) % size_, (i + size_ - 1) % size_};
      for (std::size_t member : group) next[i] += expected_[member] * weight();
    }
    expected_ = std::move(next);
  }

  void verify(const Order& order) const {
    if (order.averages) {
      const std::span<const float> x = x_->values();
      for (std::size_t k = 0; k < x.size(); ++k)
        ENSURE(std::abs(x[k] - value(static_cast<float>(expected_[rank_]), k)) < 1e-3F,
               "the average is right");
      return;
    }
    for (const optim::MixTerm& term : received_) {
      std::vector<float> theirs(term.theirs.size() / sizeof(float));
      optim::decode<float>(*optim::format_named("f32"), term.theirs, theirs);
      for (std::size_t k = 0; k < theirs.size(); ++k)
        ENSURE(theirs[k] == value(static_cast<float>(term.peer.value), k), "what came was sent");
    }
  }

  std::size_t rank_, size_;
  bool has_keys_;
  std::unique_ptr<daemon::ZmqTransport> transport_;
  std::set<NodeId> neighbors_;
  gossip::Cutter cutter_;
  gossip::Assembler assembler_;
  std::shared_ptr<optim::BufferPool> pool_ = std::make_shared<optim::BufferPool>();
  std::uint64_t round_ = 0, sequence_ = 0;
  Inbox inbox_;
  std::vector<double> pings_;  // seconds
  Clock::time_point pinged_{};
  std::optional<optim::SharedVector<float>> x_;
  Payload sent_;
  std::vector<optim::MixTerm> received_;
  std::vector<double> expected_;  // the first number of every process
};

void work(std::size_t rank, std::size_t size, bool has_keys, int parent) {
  daemon::keep_large_blocks();
  Process process(rank, size, has_keys);
  write_value(parent, process.port());
  process.meet(read_value<Ports>(parent));
  for (Order order; read_all(parent, &order, sizeof(order));)
    write_value(parent, process.run(order));
}

double run(const Team& team, const Order& order) {
  team.tell_all(order);
  std::vector<double> times;
  for (std::size_t rank = 0; rank < team.size(); ++rank)
    times.push_back(read_value<double>(team.descriptor(rank)));
  return times.front();
}

}  // namespace
}  // namespace starling::bench

int main(int count, char** arguments) {
  using namespace starling::bench;
  const std::size_t size = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 4;
  ENSURE(size >= 2 && size <= kProcessesLimit, "a ring has 2 to 16 processes");
  const bool has_keys = count > 2 && std::string_view(arguments[2]) == "keys";
  const Team team(size, [&](std::size_t rank, int parent) { work(rank, size, has_keys, parent); });
  Ports ports{};
  for (std::size_t rank = 0; rank < size; ++rank)
    ports[rank] = read_value<std::uint16_t>(team.descriptor(rank));
  team.tell_all(ports);
  serve([&](const std::string& request) {
    Words words(request);
    const std::string what = words.word();
    Order order{.averages = what == "average", .gives = what == "give"};
    if (what.starts_with("ping")) order.pings = what == "ping" ? 0.5 : 0.99;
    order.bytes = words.number();
    order.rounds = words.number();
    const double seconds = run(team, order);
    if (order.averages || order.pings > 0)
      report(request, seconds * 1e3, "ms");
    else
      report(request, static_cast<double>(order.bytes) / seconds * 1e-9, "GB/s");
  });
}
