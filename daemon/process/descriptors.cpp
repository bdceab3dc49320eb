#include "daemon/process/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace starling::daemon {
namespace {

// The limit before it was raised; used only if it was raised.
rlimit started_with{};
bool is_raised = false;

}  // namespace

std::size_t descriptors_allowed() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(limit.rlim_cur);
}

// The descriptor of the listing itself is not counted.
Descriptors count_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  const auto used = error ? 0 : std::distance(begin(open), end(open)) - 1;
  return {static_cast<std::size_t>(std::max<std::ptrdiff_t>(used, 0)), descriptors_allowed()};
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  started_with = limit;
  limit.rlim_cur = limit.rlim_max;
  is_raised = ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void restore_descriptor_limit() {
  if (is_raised) ::setrlimit(RLIMIT_NOFILE, &started_with);
}

Result<DescriptorShares> share_out(std::size_t allowed) {
  const DescriptorShares most;
  if (allowed < kDescriptorsLeast)
    return fail(
        "{} open files are allowed; expected at least {}: raise the hard limit of the "
        "process (ulimit -Hn, LimitNOFILE=)",
        allowed, kDescriptorsLeast);
  return DescriptorShares{.sending = std::min(most.sending, allowed / 2),
                          .receiving = std::min(most.receiving, allowed / 4),
                          .http = std::min(most.http, allowed / 8)};
}

}  // namespace starling::daemon
