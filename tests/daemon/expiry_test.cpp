#include "daemon/setup/expiry.h"

#include <doctest/doctest.h>

#include "base/utc.h"
#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::daemon;
using namespace starling::test;

namespace {

bool says_at(std::uint64_t now, const std::string& part) {
  auto certificate = certificate_draft("node-3", test_key(2));
  certificate.not_before = kToday;
  certificate.not_after = kToday + 365 * kDay;
  const auto text = expiry_warning(certificate, now);
  if (part.empty()) return !text.has_value();
  return text && text->find(part) != std::string::npos &&
         text->find("this node") != std::string::npos;
}

}  // namespace

TEST_CASE("The end of a certificate is named a week before and when it is past") {
  const std::uint64_t end = kToday + 365 * kDay;
  CHECK(says_at(kToday, ""));
  CHECK(says_at(end - kExpiryWarning, ""));
  for (const std::uint64_t now : {end - kExpiryWarning + 1, end - 1, end})
    CHECK(says_at(now, "ends at " + utc_text(end)));
  CHECK(says_at(end + 1, "ended at " + utc_text(end)));
  CHECK(says_at(end + kDay, "clock says " + utc_text(end + kDay)));
}

TEST_CASE("A clock before the beginning of a certificate is named with both times") {
  CHECK(says_at(kToday - 1, "begins at " + utc_text(kToday)));
  CHECK(says_at(kToday - kDay, "clock says " + utc_text(kToday - kDay)));
}

TEST_CASE("A key that authorizes itself has no end") {
  auto certificate = certificate_draft("node-3", test_key(2));
  certificate.not_before = 0;
  certificate.not_after = kLatestMoment;
  CHECK_FALSE(expiry_warning(certificate, kToday + 10'000 * kDay).has_value());
}
