#include "daemon/attach/trainer_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace starling::daemon {
namespace {

constexpr int kStateSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

bool write_all(int descriptor, const Payload& bytes) {
  for (const Payload::Piece& piece : bytes.pieces())
    for (std::span<const std::byte> left = piece.bytes; !left.empty();) {
      const ssize_t written = ::write(descriptor, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      left = left.subspan(static_cast<std::size_t>(written));
    }
  return true;
}

}  // namespace

Result<std::shared_ptr<const TrainerState>> TrainerState::receive(int descriptor,
                                                                  std::size_t limit) {
  const auto refuse = [&](std::string reason) {
    ::close(descriptor);
    return tl::unexpected(Error{std::move(reason)});
  };
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0) return refuse("its state is not a memory file (memfd_create)");
  if ((seals & kStateSeals) != kStateSeals)
    return refuse("its state is not sealed with F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE");
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || info.st_size < 0)
    return refuse("the size of its state is not known");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limit)
    return refuse(fmt::format("its state has {} bytes; expected at most {}", size, limit));
  return map(descriptor, size);
}

Result<std::shared_ptr<const TrainerState>> TrainerState::copy_of(const Payload& bytes) {
  const int descriptor = ::memfd_create("starling state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return fail("no memory file: {}", std::strerror(errno));
  if (!write_all(descriptor, bytes) || ::fcntl(descriptor, F_ADD_SEALS, kStateSeals) != 0) {
    const int reason = errno;
    ::close(descriptor);
    return fail("a memory file of {} bytes: {}", bytes.size(), std::strerror(reason));
  }
  return map(descriptor, bytes.size());
}

Result<std::shared_ptr<const TrainerState>> TrainerState::map(int descriptor, std::size_t size) {
  void* data = nullptr;
  if (size > 0) data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    const int reason = errno;
    ::close(descriptor);
    return fail("its state of {} bytes cannot be mapped: {}", size, std::strerror(reason));
  }
  return std::shared_ptr<const TrainerState>(
      new TrainerState(descriptor, static_cast<std::byte*>(data), size));
}

TrainerState::~TrainerState() {
  if (data_) ::munmap(data_, size_);
  ::close(descriptor_);
}

Payload TrainerState::bytes_of(std::shared_ptr<const TrainerState> state) {
  const std::span<const std::byte> bytes(state->data_, state->size_);
  return state->size_ == 0 ? Payload() : Payload(std::move(state), bytes);
}

}  // namespace starling::daemon
