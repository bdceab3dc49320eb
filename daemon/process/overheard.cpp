#include "daemon/process/overheard.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

constexpr int kLookEvery_ms = 50;  // interval of checks whether the thread must end

void write_to_own(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void LastLine::end_line() {
  if (!trim(open_).empty()) last_ = trim(open_);
  open_.clear();
}

void LastLine::add(std::string_view bytes) {
  for (const char byte : bytes)
    if (byte == '\n' || byte == '\r')
      end_line();
    else if (open_.size() < kBytesLimit)
      open_ += byte;
}

std::string LastLine::text() const {
  std::string_view rest = trim(open_).empty() ? std::string_view(last_) : trim(open_);
  std::string safe;
  while (!rest.empty()) {
    const Utf8Character next = first_utf8_character(rest);
    const bool is_safe = next.point && !is_steering(*next.point);
    safe += is_safe ? rest.substr(0, next.bytes) : "?";
    rest.remove_prefix(next.bytes);
  }
  return safe;
}

Result<void> Overheard::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("no pipe: {}", std::strerror(errno));
  reads_ = OpenFile(ends[0]);
  writes_ = OpenFile(ends[1]);
  ::fcntl(reads_.number(), F_SETFL, O_NONBLOCK);
  thread_ = quiet_thread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd item{reads_.number(), POLLIN, 0};
      if (::poll(&item, 1, kLookEvery_ms) > 0) pass_on();
    }
    pass_on();
  });
  return {};
}

// Under the mutex, so that lines stay in order.
void Overheard::pass_on() {
  const std::lock_guard lock(mutex_);
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(reads_.number(), bytes, sizeof(bytes))) > 0;) {
    const std::string_view read(bytes, static_cast<std::size_t>(count));
    line_.add(read);
    write_to_own(read);
  }
}

std::string Overheard::take_last_line() {
  if (reads_) pass_on();
  const std::lock_guard lock(mutex_);
  std::string text = line_.text();
  line_ = {};
  return text;
}

}  // namespace starling::daemon
