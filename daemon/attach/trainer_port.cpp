#include "daemon/attach/trainer_port.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/process/log.h"

namespace starling::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kVisitorsLimit = 8;
// For the first record of whoever connects.
constexpr std::chrono::seconds kHelloPatience{5};
// For the steps under way when the run ends. Longer: the node leaves later. Shorter: a trainer of
// long steps does not get the last parameters.
constexpr std::chrono::seconds kEndPatience{2};
// Of visitors that are late.
constexpr int kLookEvery_ms = 500;

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket() {
  return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// Whether a process listens there.
bool is_answered(const sockaddr_un& address) {
  const int socket = new_socket();
  const bool answered =
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno == EAGAIN;
  ::close(socket);
  return answered;
}

bool bind_at(int socket, const sockaddr_un& address) {
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

// Only the user of this process may connect; the name is there before anybody can.
Result<int> listen_at(const std::string& path) {
  const auto address = address_of(path);
  if (!address)
    return fail("trainer.socket = \"{}\" has {} bytes; expected at most {}", path, path.size(),
                sizeof(sockaddr_un::sun_path) - 1);
  const int socket = new_socket();
  if (socket < 0) return fail("trainer.socket = \"{}\": {}", path, std::strerror(errno));
  bool is_bound = bind_at(socket, *address);
  if (!is_bound && errno == EADDRINUSE) {
    struct stat info {};
    const bool is_socket = ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
    if (!is_socket || is_answered(*address)) {
      ::close(socket);
      return fail("trainer.socket = \"{}\": {}", path,
                  is_socket ? "another daemon listens there" : "something else is there");
    }
    ::unlink(path.c_str());
    is_bound = bind_at(socket, *address);
  }
  if (!is_bound || ::chmod(path.c_str(), 0600) != 0 || ::listen(socket, 8) != 0) {
    const int reason = errno;
    ::close(socket);
    return fail("trainer.socket = \"{}\": {}", path, std::strerror(reason));
  }
  return socket;
}

// The process at the other end; nothing where it is of another user.
std::optional<pid_t> process_behind(int socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  if (credentials.uid != ::geteuid()) return std::nullopt;
  return credentials.pid;
}

}  // namespace

struct TrainerPort::Visitor {
  int socket;
  pid_t process;
  steady_clock::time_point until;
};

// A record as it came. Nothing: there is none yet; `ended`: there will be none.
struct TrainerPort::Heard {
  std::string text = {};
  int descriptor = -1;
  bool ended = false, nothing = false, too_long = false;
};

namespace {

// Closes all but the first.
int first_descriptor(const msghdr& message) {
  int first = -1;
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t k = 0; k < count; ++k) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + k * sizeof(int), sizeof(int));
      if (first < 0)
        first = descriptor;
      else
        ::close(descriptor);
    }
  }
  return first;
}

template <class Heard>
Heard hear(int socket) {
  Heard heard;
  heard.text.resize(kRecordBytesLimit);
  iovec place{heard.text.data(), heard.text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  heard.nothing = count < 0 && (errno == EAGAIN || errno == EINTR);
  heard.ended = count == 0 || (count < 0 && !heard.nothing);
  heard.text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (count < 0) return heard;
  heard.descriptor = first_descriptor(message);
  heard.too_long = (message.msg_flags & MSG_TRUNC) != 0;
  return heard;
}

}  // namespace

Result<std::unique_ptr<TrainerPort>> TrainerPort::open(const std::string& path,
                                                       TrainerTerms terms) {
  TRY(const int listener, listen_at(path));
  return std::unique_ptr<TrainerPort>(new TrainerPort(path, listener, std::move(terms)));
}

TrainerPort::TrainerPort(std::string path, int listener, TrainerTerms terms)
    : path_(std::move(path)), listener_(listener), terms_(std::move(terms)) {
  status_.socket = path_;
  thread_ = std::thread([this] { run(); });
}

TrainerPort::~TrainerPort() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.signal();
  thread_.join();
  for (const Visitor& visitor : visitors_) ::close(visitor.socket);
  if (socket_ >= 0) ::close(socket_);
  ::close(listener_);
  ::unlink(path_.c_str());
}

void TrainerPort::set_listener(std::function<void(bool)> listener) {
  const std::lock_guard lock(mutex_);
  on_change_ = std::move(listener);
}

// ---- those who wait

std::shared_ptr<const Attached> TrainerPort::await(milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return trainer_ || interrupted_; });
  return interrupted_ ? nullptr : trainer_;
}

std::optional<TrainerAnswer> TrainerPort::ask(const Attached& trainer, const Request& request) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return interrupted_ || trainer_.get() != &trainer; };
  if (is_over()) return std::nullopt;
  open_job_ = ++last_job_;
  answer_.reset();
  status_.state = TrainerStatus::State::training;
  if (!send(socket_, write_record(open_job_, request))) return std::nullopt;
  changed_.wait(lock, [&] { return answer_ || is_over(); });
  if (!answer_) return std::nullopt;
  open_job_ = 0;
  return std::exchange(answer_, std::nullopt);
}

Metrics TrainerPort::metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_;
}

void TrainerPort::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
  }
  changed_.notify_all();
}

void TrainerPort::end(const std::string& reason,
                      const std::function<bool(const Attached&)>& write) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kEndPatience, [this] { return !trainer_ || !open_job_ || answer_; });
  if (!trainer_) return;
  const bool has_model = (!open_job_ || answer_) && write(*trainer_);
  send(socket_, write_end(reason, has_model));
  ended_ = true;
}

TrainerStatus TrainerPort::status() const {
  const std::lock_guard lock(mutex_);
  TrainerStatus status = status_;
  if (trainer_) status.steps = trainer_->segment.progress();
  return status;
}

bool TrainerPort::send(int socket, const std::string& record) const {
  return ::send(socket, record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(record.size());
}

// ---- the port's thread

void TrainerPort::run() {
  while (true) {
    std::vector<pollfd> items{{wake_.descriptor(), POLLIN, 0}, {listener_, POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      items.push_back({socket_, POLLIN, 0});  // below 0: passed over
    }
    for (const Visitor& visitor : visitors_) items.push_back({visitor.socket, POLLIN, 0});
    ::poll(items.data(), items.size(), kLookEvery_ms);
    wake_.clear();
    if (items[2].revents != 0) hear_trainer();
    for (std::size_t k = items.size(); k-- > 3;)
      if (items[k].revents != 0) hear_visitor(k - 3);
    drop_late_visitors();
    if (items[1].revents != 0) accept_one();
  }
}

void TrainerPort::accept_one() {
  const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return;
  const auto process = process_behind(socket);
  if (process && visitors_.size() < kVisitorsLimit)
    return visitors_.push_back({socket, *process, steady_clock::now() + kHelloPatience});
  send(socket, write_refusal(process ? "too many processes try to attach at once"
                                     : "the trainer runs as another user than the daemon"));
  ::close(socket);
}

void TrainerPort::drop_late_visitors() {
  const auto at = steady_clock::now();
  std::erase_if(visitors_, [&](const Visitor& visitor) {
    if (at < visitor.until) return false;
    send(visitor.socket, write_refusal("no hello came within 5 s"));
    ::close(visitor.socket);
    return true;
  });
}

void TrainerPort::hear_visitor(std::size_t place) {
  auto heard = hear<Heard>(visitors_[place].socket);
  if (heard.nothing) return;
  const Visitor visitor = visitors_[place];
  visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(place));
  if (!heard.ended) {
    const auto entered = let_in(visitor.socket, std::move(heard), visitor.process);
    if (entered) return;
    log::warning("a trainer (process {}) was refused: {}", visitor.process, entered.error().text);
    const std::lock_guard lock(mutex_);
    ++status_.refused;
    send(visitor.socket, write_refusal(entered.error().text));
  }
  ::close(visitor.socket);
}

Result<void> TrainerPort::check_terms(const Hello& hello) const {
  if (hello.mode == TrainerMode::gradients && hello.samples == 0)
    return fail("\"samples\" is 0; a trainer that serves gradients says how many it holds");
  if (hello.mode == TrainerMode::gradients) return {};
  const std::string& algorithm = terms_.welcome.algorithm;
  if (terms_.needs_gradients)
    return fail(
        "optim.algorithm = {} solves a problem of its own in each round; the trainer must "
        "serve gradients, or the run use dpsgd, ed or gt",
        algorithm);
  if (terms_.needs_correction && !hello.corrects)
    return fail(
        "optim.algorithm = {} adds a correction to the gradients, which this trainer does "
        "not; let it, or start all nodes with --optim.algorithm=dpsgd",
        algorithm);
  return {};
}

// The descriptor is the segment's from here on.
Result<std::shared_ptr<const Attached>> TrainerPort::make_attached(Hello hello,
                                                                   int descriptor) const {
  TRY(Segment segment, Segment::map(descriptor, hello.segment_bytes));
  if (hello.table.bytes > kTableBytesLimit)
    return fail("the table has {} bytes; expected at most {}", hello.table.bytes, kTableBytesLimit);
  TRY_DO(segment.check("table", hello.table));
  TRY_DO(segment.check("values", hello.values));
  const auto check_like_values = [&](const std::string& what, const Region& region) {
    if (region.bytes == hello.values.bytes) return segment.check(what, region);
    return Result<void>(fail("region \"{}\" has {} bytes and \"values\" has {}; expected the same",
                             what, region.bytes, hello.values.bytes));
  };
  const bool serves = hello.mode == TrainerMode::gradients;
  if (hello.corrects) TRY_DO(check_like_values("correction", hello.correction));
  if (hello.corrects || serves) TRY_DO(check_like_values("gradient", hello.gradient));
  if (serves) TRY_DO(segment.check("batch", hello.batch));
  // A copy: what is checked must not change behind the check.
  const std::span<const std::byte> bytes = segment.at(hello.table);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TRY(TensorTable table, TensorTable::parse(text, hello.values.bytes));
  segment.prepare(hello.values);
  return std::make_shared<const Attached>(std::move(hello), std::move(table), std::move(segment));
}

Result<void> TrainerPort::let_in(int socket, Heard heard, pid_t process) {
  int descriptor = heard.descriptor;
  const auto refuse = [&](std::string reason) {
    if (descriptor >= 0) ::close(descriptor);
    return tl::unexpected(Error{std::move(reason)});
  };
  if (heard.too_long) return refuse("a record has more than 65536 bytes");
  auto record = read_record(heard.text);
  if (!record) return refuse(record.error().text);
  auto* const hello = std::get_if<Hello>(&*record);
  if (!hello) return refuse("the first record is not of kind hello");
  if (descriptor < 0) return refuse("no segment came with hello");
  {
    const std::lock_guard lock(mutex_);
    if (trainer_)
      return refuse(fmt::format("{} has a trainer already (process {}); a node has one",
                                terms_.welcome.node, trainer_->process));
    if (interrupted_) return refuse("the run is over");
  }
  if (auto checked = check_terms(*hello); !checked) return refuse(checked.error().text);
  TRY(auto attached, make_attached(std::move(*hello), descriptor));
  const std::string schema = attached->table.schema();
  if (!schema_.empty() && schema != schema_)
    return fail("this trainer has another model than the node: {}",
                first_difference(schema_, schema));
  schema_ = schema;
  std::const_pointer_cast<Attached>(attached)->process = process;
  std::function<void(bool)> on_change;
  {
    const std::lock_guard lock(mutex_);
    send(socket, write_record(terms_.welcome));
    socket_ = socket;
    trainer_ = attached;
    open_job_ = 0;
    status_.state = TrainerStatus::State::exchanging;
    status_.reason.clear();
    status_.client = attached->hello.client;
    status_.mode = attached->hello.mode == TrainerMode::loop ? "loop" : "gradients";
    status_.process = process;
    const auto blocks = attached->table.blocks();
    status_.tensors =
        std::make_shared<const std::vector<optim::ParameterBlock>>(blocks.begin(), blocks.end());
    ++status_.attached;
    on_change = on_change_;
  }
  log::info("a trainer attached: process {}, {}, {} tensors, {} numbers", process,
            attached->hello.client, attached->table.tensors().size(), attached->table.dimension());
  changed_.notify_all();
  if (on_change) on_change(true);
  return {};
}

void TrainerPort::hear_trainer() {
  const auto heard = hear<Heard>(socket_);
  if (heard.descriptor >= 0) ::close(heard.descriptor);
  if (heard.nothing) return;
  if (heard.ended) return lose("its process ended");
  if (heard.too_long) return lose("it sent a record of more than 65536 bytes");
  const auto record = read_record(heard.text);
  if (!record) return lose(record.error().text);
  if (const auto* const answer = std::get_if<TrainerAnswer>(&*record)) return take(*answer);
  if (const auto* const metrics = std::get_if<Metrics>(&*record)) return take(*metrics);
  lose(std::holds_alternative<Goodbye>(*record) ? "" : "it said hello twice");
}

// An answer to a job that nobody waits for any more is passed over.
void TrainerPort::take(const TrainerAnswer& answer) {
  {
    const std::lock_guard lock(mutex_);
    if (answer.job != open_job_ || open_job_ == 0) return;
    answer_ = answer;
    ++status_.exchanges;
    status_.state = TrainerStatus::State::exchanging;
  }
  changed_.notify_all();
}

void TrainerPort::take(const Metrics& metrics) {
  const std::lock_guard lock(mutex_);
  if (metrics.loss) metrics_.loss = metrics.loss;
  if (metrics.accuracy) metrics_.accuracy = metrics.accuracy;
  if (metrics.rmse) metrics_.rmse = metrics.rmse;
}

// Without a reason it said goodbye. Behind the end of the run it may go as it likes.
void TrainerPort::lose(const std::string& reason) {
  std::function<void(bool)> on_change;
  pid_t process = 0;
  bool is_loss = false;
  {
    const std::lock_guard lock(mutex_);
    is_loss = !reason.empty() && !ended_;
    if (is_loss) send(socket_, write_refusal(reason));
    status_.steps = trainer_->segment.progress();
    process = trainer_->process;
    trainer_ = nullptr;
    ::close(std::exchange(socket_, -1));
    status_.state = is_loss ? TrainerStatus::State::lost : TrainerStatus::State::closed;
    status_.reason = is_loss ? reason : "";
    on_change = on_change_;
  }
  if (is_loss)
    log::warning("the trainer (process {}) is gone: {}", process, reason);
  else
    log::info("the trainer (process {}) has gone", process);
  changed_.notify_all();
  if (on_change) on_change(false);
}

}  // namespace starling::daemon
