// Chunks: what cutting a vector into chunks of the transport's size is worth. Two processes and
// plain ZeroMQ on loopback, one way, with and without CURVE.
//   whole BYTES ROUNDS | chunked BYTES ROUNDS | curve-whole … | curve-chunked …    GB/s
#include <zmq.h>

#include <array>
#include <zmq.hpp>

#include "bench/measure.h"
#include "bench/team.h"
#include "daemon/process/memory.h"
#include "gossip/wire/transfer.h"

namespace starling::bench {
namespace {

constexpr std::size_t kWarmUpRounds = 2;
constexpr int kQueue = 16;  // messages, as on the transport's bulk plane
constexpr std::byte kMark{42};

using Key = std::array<char, 41>;
using Url = std::array<char, 64>;
struct KeyPair {
  Key open{}, secret{};
};

struct Order {
  std::size_t bytes = 0;
  std::size_t rounds = 0;
  bool chunked = false;
  bool curve = false;
};

KeyPair key_pair() {
  KeyPair pair;
  ENSURE(zmq_curve_keypair(pair.open.data(), pair.secret.data()) == 0, "CURVE gives keys");
  return pair;
}

void set_options(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::sndhwm, kQueue);
  socket.set(zmq::sockopt::rcvhwm, kQueue);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::sndbuf, 4 << 20);
  socket.set(zmq::sockopt::rcvbuf, 4 << 20);
}

// The receiver tells where it listens and times; the sender waits for a word before each round.
class Receiver {
 public:
  Receiver(zmq::context_t& context, int parent, const Order& order)
      : data_(context, zmq::socket_type::pull), words_(context, zmq::socket_type::push) {
    const KeyPair keys = order.curve ? key_pair() : KeyPair{};
    set_options(data_);
    if (order.curve) {
      data_.set(zmq::sockopt::curve_server, true);
      data_.set(zmq::sockopt::curve_secretkey, std::string(keys.secret.data()));
    }
    data_.bind("tcp://127.0.0.1:*");
    words_.set(zmq::sockopt::linger, 0);
    words_.bind("tcp://127.0.0.1:*");
    write_value(parent, keys.open);
    for (const zmq::socket_t* socket : {&data_, &words_}) {
      Url url{};
      socket->get(zmq::sockopt::last_endpoint).copy(url.data(), url.size() - 1);
      write_value(parent, url);
    }
  }

  double run(const Order& order) {
    std::vector<double> times;
    // Chunks stay until the vector is whole, as in the transport.
    std::vector<zmq::message_t> parts;
    for (std::size_t i = 0; i < kWarmUpRounds + order.rounds; ++i) {
      parts.clear();
      const auto start = Clock::now();
      words_.send(zmq::message_t(), zmq::send_flags::none);
      for (std::size_t got = 0; got < order.bytes; got += parts.back().size())
        ENSURE(data_.recv(parts.emplace_back()), "a part comes");
      if (i >= kWarmUpRounds) times.push_back(seconds_since(start));
      for (const zmq::message_t& part : parts) verify(part);
    }
    words_.send(zmq::message_t(), zmq::send_flags::none);
    return median(std::move(times));
  }

 private:
  static void verify(const zmq::message_t& part) {
    const auto* bytes = static_cast<const std::byte*>(part.data());
    for (std::size_t i = 0; i < part.size(); i += 64)
      ENSURE(bytes[i] == kMark, "what came was sent");
  }

  zmq::socket_t data_, words_;
};

void receive(int parent) {
  daemon::keep_large_blocks();
  for (Order order; read_all(parent, &order, sizeof(order));) {
    zmq::context_t context;
    Receiver receiver(context, parent, order);
    write_value(parent, receiver.run(order));
    static_cast<void>(read_value<bool>(parent));  // the sender has heard the last word
  }
}

void send_rounds(zmq::socket_t& data, zmq::socket_t& words, const Order& order) {
  std::vector<std::byte> vector(order.bytes, kMark);
  const std::size_t step = order.chunked ? gossip::kChunkBytes : order.bytes;
  zmq::message_t word;
  for (std::size_t i = 0; i < kWarmUpRounds + order.rounds; ++i) {
    ENSURE(words.recv(word), "the receiver is there");
    for (std::size_t at = 0; at < order.bytes; at += step)
      data.send(
          zmq::message_t(vector.data() + at, std::min(step, order.bytes - at), [](void*, void*) {}),
          zmq::send_flags::none);
  }
  ENSURE(words.recv(word), "the receiver has everything");
}

void send(int parent) {
  daemon::keep_large_blocks();
  for (Order order; read_all(parent, &order, sizeof(order));) {
    zmq::context_t context;
    zmq::socket_t data(context, zmq::socket_type::push), words(context, zmq::socket_type::pull);
    set_options(data);
    const auto server = read_value<Key>(parent);
    if (order.curve) {
      const KeyPair own = key_pair();
      data.set(zmq::sockopt::curve_serverkey, std::string(server.data()));
      data.set(zmq::sockopt::curve_publickey, std::string(own.open.data()));
      data.set(zmq::sockopt::curve_secretkey, std::string(own.secret.data()));
    }
    data.connect(read_value<Url>(parent).data());
    words.connect(read_value<Url>(parent).data());
    send_rounds(data, words, order);
    write_value(parent, true);
  }
}

// The parent passes on what the receiver says about itself.
double run(const Team& team, const Order& order) {
  team.tell_all(order);
  const int receiver = team.descriptor(0), sender = team.descriptor(1);
  write_value(sender, read_value<Key>(receiver));
  for (int i = 0; i < 2; ++i) write_value(sender, read_value<Url>(receiver));
  const auto seconds = read_value<double>(receiver);
  write_value(receiver, read_value<bool>(sender));
  return seconds;
}

}  // namespace
}  // namespace starling::bench

int main() {
  using namespace starling::bench;
  const Team team(2,
                  [](std::size_t rank, int parent) { rank == 0 ? receive(parent) : send(parent); });
  serve([&](const std::string& request) {
    Words words(request);
    const std::string kind = words.word();
    Order order{.chunked = kind.ends_with("chunked"), .curve = kind.starts_with("curve")};
    order.bytes = words.number();
    order.rounds = words.number();
    ENSURE(!order.curve || zmq_has("curve") == 1, "this libzmq has CURVE");
    report(request, static_cast<double>(order.bytes) / run(team, order) * 1e-9, "GB/s");
  });
}
