// Keys: what a signature and a certificate cost.
//   sign, verify    of a certificate. Microseconds
//   judge           Authority::judge() of a certificate that is accepted. Microseconds
//   bytes           of an encoded certificate of a node with a name of six letters
#include "base/keys.h"

#include "bench/measure.h"
#include "gossip/trust/authority.h"

namespace starling::bench {
namespace {

constexpr double kWindow = 0.2;  // seconds

KeyPair key_of(int number) {
  Secret seed(kKeyBytes);
  seed.bytes()[0] = static_cast<std::byte>(number);
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

}  // namespace
}  // namespace starling::bench

int main() {
  using namespace starling::bench;
  Bench bench;
  serve([&bench](const std::string& request) {
    if (request == "sign") report(request, bench.sign_seconds() * 1e6, "us");
    if (request == "verify") report(request, bench.verify_seconds() * 1e6, "us");
    if (request == "judge") report(request, bench.judge_seconds() * 1e6, "us");
    if (request == "bytes")
      report(request, static_cast<double>(encode(bench.certificate).size()), "bytes");
  });
}
