#include "tests/daemon/trainer_client.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace starling::testing {
namespace {

using nlohmann::json;

constexpr std::size_t kBatchLimit = 4096;
constexpr std::uint64_t kMagic = 0x3152524154535453;

std::size_t rounded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

json place_of(const daemon::Region& region) {
  return {{"offset", region.offset}, {"bytes", region.bytes}};
}

}  // namespace

TrainerClient::TrainerClient(const std::string& path, const TrainerPlan& plan) : plan_(plan) {
  if (plan_.table.empty())
    plan_.table = json::array({{{"name", "x"},
                                {"shape", {plan_.numbers}},
                                {"dtype", "f64"},
                                {"role", "averaged"},
                                {"offset", 0}}})
                      .dump();
  std::size_t place = 64;
  const auto make = [&place](std::size_t size) {
    return daemon::Region{std::exchange(place, place + rounded(size)), size};
  };
  const std::size_t bytes = plan_.numbers * sizeof(double);
  table_ = make(plan_.table.size());
  values_ = make(bytes), correction_ = make(bytes), gradient_ = make(bytes);
  batch_ = make(kBatchLimit * sizeof(std::uint32_t));
  bytes_ = place;
  file_ = ::memfd_create("trainer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ENSURE(file_ >= 0 && ::ftruncate(file_, static_cast<off_t>(bytes_)) == 0, "there is memory");
  if (plan_.sealed) ::fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  data_ = static_cast<std::byte*>(
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  if (plan_.with_magic) std::memcpy(data_, &kMagic, sizeof(kMagic));
  std::memcpy(data_ + table_.offset, plan_.table.data(), plan_.table.size());

  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ENSURE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
         "the port of the daemon listens");
}

TrainerClient::~TrainerClient() {
  ::close(socket_);
  ::close(file_);
  ::munmap(data_, bytes_);
}

void TrainerClient::say_hello() {
  json hello = {{"kind", "hello"},
                {"version", 1},
                {"client", "test"},
                {"mode", "loop"},
                {"samples", 10},
                {"corrects", true},
                {"segment", bytes_},
                {"table", place_of(table_)},
                {"values", place_of(values_)},
                {"correction", place_of(correction_)},
                {"gradient", place_of(gradient_)},
                {"batch", place_of(batch_)}};
  hello.update(plan_.hello);
  if (!plan_.with_segment) return send(hello);
  send_with(hello.dump(), file_);
}

void TrainerClient::send_file(const json& record, const std::string& bytes, bool sealed) {
  const int file = ::memfd_create("state of a test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ENSURE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
         "a memory file takes what is written");
  if (sealed) ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  send_with(record.dump(), file);
  ::close(file);
}

void TrainerClient::send_with(const std::string& text, int descriptor) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  ::sendmsg(socket_, &message, MSG_NOSIGNAL);
}

void TrainerClient::send_text(const std::string& text) {
  ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
}

json TrainerClient::receive() {
  std::string text(65'536, '\0');
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
  received_file_.clear();
  if (count <= 0) return nullptr;
  if (const cmsghdr* const head = CMSG_FIRSTHDR(&message)) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(head), sizeof(int));
    std::array<char, 4096> bytes{};
    for (ssize_t read = 0; (read = ::pread(file, bytes.data(), bytes.size(),
                                           static_cast<off_t>(received_file_.size()))) > 0;)
      received_file_.append(bytes.data(), static_cast<std::size_t>(read));
    ::close(file);
  }
  return json::parse(text.substr(0, static_cast<std::size_t>(count)), nullptr, false);
}

json TrainerClient::run(const std::function<json(const json& request)>& serve) {
  say_hello();
  while (true) {
    json record = receive();
    if (!record.is_object() || record["kind"] == "refused" || record["kind"] == "end")
      return record;
    if (record["kind"] == "welcome") continue;
    json done = serve(record);
    done["kind"] = "done";
    done["job"] = record["job"];
    send(done);
  }
}

std::span<std::uint32_t> TrainerClient::batch() {
  return {reinterpret_cast<std::uint32_t*>(data_ + batch_.offset), kBatchLimit};
}

bool TrainerClient::is_told_over() const {
  return std::atomic_ref(reinterpret_cast<std::uint64_t*>(data_)[2]).load() != 0;
}

std::span<double> TrainerClient::region(const daemon::Region& region) {
  return {reinterpret_cast<double*>(data_ + region.offset), plan_.numbers};
}

}  // namespace starling::testing
