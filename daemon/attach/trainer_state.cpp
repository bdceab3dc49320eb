#include "daemon/attach/trainer_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "daemon/process/whole_file.h"

namespace starling::daemon {
namespace {

constexpr int kStateSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

}  // namespace

Result<std::shared_ptr<const TrainerState>> TrainerState::receive(OpenFile file,
                                                                  std::size_t limit) {
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  if (seals < 0) return fail("its state is not a memory file (memfd_create)");
  if ((seals & kStateSeals) != kStateSeals)
    return fail("its state is not sealed with F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE");
  struct stat info {};
  if (::fstat(file.number(), &info) != 0 || info.st_size < 0)
    return fail("the size of its state is not known");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limit) return fail("its state has {} bytes; expected at most {}", size, limit);
  return map(std::move(file), size);
}

Result<std::shared_ptr<const TrainerState>> TrainerState::copy_of(const Payload& bytes) {
  OpenFile file(::memfd_create("starling state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail("no memory file: {}", std::strerror(errno));
  if (!write_all(file.number(), bytes) || ::fcntl(file.number(), F_ADD_SEALS, kStateSeals) != 0)
    return fail("a memory file of {} bytes: {}", bytes.size(), std::strerror(errno));
  return map(std::move(file), bytes.size());
}

Result<std::shared_ptr<const TrainerState>> TrainerState::map(OpenFile file, std::size_t size) {
  void* data = nullptr;
  if (size > 0) data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
  if (data == MAP_FAILED)
    return fail("its state of {} bytes cannot be mapped: {}", size, std::strerror(errno));
  return std::shared_ptr<const TrainerState>(
      new TrainerState(std::move(file), static_cast<std::byte*>(data), size));
}

TrainerState::~TrainerState() {
  if (data_) ::munmap(data_, size_);
}

Payload TrainerState::bytes_of(std::shared_ptr<const TrainerState> state) {
  const std::span<const std::byte> bytes(state->data_, state->size_);
  return state->size_ == 0 ? Payload() : Payload(std::move(state), bytes);
}

}  // namespace starling::daemon
