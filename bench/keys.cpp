// Keys: what a signature and a certificate cost.
//   sign, verify    of a certificate. Microseconds
//   judge           Authority::judge() of a certificate that is accepted. Microseconds
//   bytes           of an encoded certificate of a node with a name of six letters
//   record          bytes that the keys add to a member's record in a message
//   table           what a newcomer needs to take the table of 1,000 members that it knows nothing
//                   of. Milliseconds
//   table again     the same when it knows them
//   table unsigned  the same without keys, for the first time
#include "base/keys.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "bench/measure.h"
#include "gossip/members/membership.h"
#include "gossip/trust/authority.h"
#include "gossip/wire/archives.h"

namespace starling::bench {
namespace {

constexpr double kWindow = 0.2;  // seconds
constexpr int kMembers = 1000;

KeyPair key_of(int number) {
  Secret seed(kKeyBytes);
  seed.bytes()[0] = static_cast<std::byte>(number);
  seed.bytes()[1] = static_cast<std::byte>(number >> 8);
  return KeyPair(seed);
}

struct Bench {
  KeyPair cluster = key_of(1), node = key_of(2);
  gossip::Certificate draft = {.name = "node-3", .key = node.public_key(), .not_after = 10};
  gossip::Certificate certificate = *sign_certificate(draft, cluster);
  CurveKey proven = *curve_key(node.public_key());

  double sign_seconds() {
    return time_each(kWindow, [&] { certificate = *sign_certificate(draft, cluster); });
  }
  double verify_seconds() {
    return time_each(kWindow, [&] { ENSURE(is_signed(certificate), "it is signed"); });
  }
  double judge_seconds() {
    gossip::Authority authority(cluster.public_key(), {});
    return time_each(kWindow, [&] {
      ENSURE(!authority.judge(certificate, proven, 5), "the certificate is accepted");
    });
  }
};

gossip::Options options_of(int index, bool has_keys) {
  gossip::Options options;
  options.name = fmt::format("node-{}", index);
  options.control = {fmt::format("10.0.{}.{}", index / 250, index % 250), 7600};
  options.incarnation = 1'700'000'000'000;
  if (!has_keys) return options;
  const KeyPair cluster = key_of(1);
  KeyPair node = key_of(2 + index);
  gossip::Certificate draft{
      .name = options.name, .key = node.public_key(), .not_after = 4'000'000'000};
  options.credentials = std::make_shared<gossip::Credentials>(gossip::Credentials{
      std::move(node), *sign_certificate(std::move(draft), cluster), {cluster.public_key(), {}}});
  return options;
}

// A node that may be sent a table.
struct Node {
  explicit Node(const gossip::Options& given)
      : options(given),
        outbox(stable_hash(given.cluster), node_id(given.name), given.incarnation,
               given.credentials),
        membership(options, outbox.notary(), {}) {
    outbox.begin(out);
  }
  double seconds(const gossip::Table& table) {
    const auto start = Clock::now();
    membership.receive({}, gossip::Envelope{.sender = node_id("node-1")}, table, outbox);
    return seconds_since(start);
  }

  gossip::Options options;
  gossip::Outputs out;
  gossip::Outbox outbox;
  gossip::Membership membership;
};

// As its owner says it.
gossip::Rumor record_of(int index, bool has_keys) {
  Node node(options_of(index, has_keys));
  gossip::Body join = gossip::Join{node.membership.roster().own()};
  node.outbox.notary().sign(join);
  return {std::get<gossip::Join>(join).self};
}

std::size_t bytes_of(const gossip::Rumor& rumor) {
  gossip::Writer out;
  out.record(rumor);
  return out.take().size();
}

// `again`: when the newcomer has taken it once already.
double table_milliseconds(bool has_keys, bool again) {
  gossip::Table table;
  for (int k = 1; k <= kMembers; ++k) table.rumors.push_back(record_of(k, has_keys));
  std::vector<double> seconds;
  while (seconds.size() < 5) {
    Node newcomer(options_of(0, has_keys));
    if (again) newcomer.seconds(table);
    seconds.push_back(newcomer.seconds(table));
    ENSURE(newcomer.membership.roster().present().size() == kMembers + 1, "all are believed");
  }
  return median(seconds) * 1e3;
}

}  // namespace
}  // namespace starling::bench

int main() {
  using namespace starling::bench;
  Bench bench;
  serve([&bench](const std::string& request) {
    if (request == "sign") report(request, bench.sign_seconds() * 1e6, "us");
    if (request == "verify") report(request, bench.verify_seconds() * 1e6, "us");
    if (request == "judge") report(request, bench.judge_seconds() * 1e6, "us");
    if (request == "record")
      report(request,
             static_cast<double>(bytes_of(record_of(1, true)) - bytes_of(record_of(1, false))),
             "bytes");
    if (request == "table") report(request, table_milliseconds(true, false), "ms");
    if (request == "table again") report(request, table_milliseconds(true, true), "ms");
    if (request == "table unsigned") report(request, table_milliseconds(false, false), "ms");
    if (request == "bytes")
      report(request, static_cast<double>(encode(bench.certificate).size()), "bytes");
  });
}
