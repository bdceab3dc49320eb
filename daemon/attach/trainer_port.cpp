#include "daemon/attach/trainer_port.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/attach/record_socket.h"
#include "daemon/attach/trainer_model.h"
#include "daemon/process/clock.h"
#include "daemon/process/log.h"
#include "daemon/process/other_processes.h"
#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Connections without a hello so far; a further one evicts the first.
constexpr std::size_t kVisitorsLimit = 8;
// For the first record of a connection.
constexpr std::chrono::seconds kHelloPatience{5};
// For the steps under way when the run ends. Longer: the node leaves later. Shorter: a trainer of
// long steps does not get the last parameters.
constexpr std::chrono::seconds kEndPatience{2};
// For a trainer that has counted no step yet.
constexpr char kStepAdvice[] =
    ": call swarm.step(loss=...) after each optimizer.step(), unless the first step takes that "
    "long";
// Of visitors that are late.
constexpr int kTrainerLookEvery_ms = 500;

std::shared_ptr<const std::vector<std::byte>> donated_by(const Attached& trainer) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for_each_donated(trainer, [&](std::span<const std::byte> tensor) {
    bytes->insert(bytes->end(), tensor.begin(), tensor.end());
  });
  return bytes;
}

void turn_away(const OpenFile& socket, const std::string& reason) {
  send_record(socket.number(), write_refusal(reason));
}

// If two regions shared bytes, a write to one would change the other after its check.
Result<void> check_apart(const Hello& hello) {
  std::vector<std::pair<std::string_view, Region>> regions = {{"table", hello.table},
                                                              {"values", hello.values},
                                                              {"correction", hello.correction},
                                                              {"gradient", hello.gradient},
                                                              {"batch", hello.batch}};
  std::erase_if(regions, [](const auto& item) { return item.second.bytes == 0; });
  std::ranges::sort(regions, {}, [](const auto& item) { return item.second.offset; });
  for (std::size_t k = 1; k < regions.size(); ++k)
    if (regions[k].second.offset - regions[k - 1].second.offset < regions[k - 1].second.bytes)
      return fail("regions \"{}\" and \"{}\" overlap", regions[k - 1].first, regions[k].first);
  return {};
}

Result<std::shared_ptr<const Attached>> make_attached(Hello hello, const OpenFile& file,
                                                      pid_t process) {
  TRY(Segment segment, Segment::map(file, hello.segment_bytes));
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
  if (hello.corrects || hello.shifts) TRY_DO(check_like_values("correction", hello.correction));
  if (hello.corrects || serves) TRY_DO(check_like_values("gradient", hello.gradient));
  if (serves) TRY_DO(segment.check("batch", hello.batch));
  TRY_DO(check_apart(hello));
  // A copy: the table must not change after the check.
  const std::span<const std::byte> bytes = segment.at(hello.table);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TRY(TensorTable table, TensorTable::parse(text, hello.values.bytes));
  segment.prepare(hello.values);
  return std::make_shared<const Attached>(std::move(hello), std::move(table), std::move(segment),
                                          process);
}

}  // namespace

struct TrainerPort::Visitor {
  OpenFile socket;
  pid_t process;
  steady_clock::time_point until;
};

void for_each_donated(const Attached& trainer,
                      const std::function<void(std::span<std::byte>)>& act) {
  const std::span<std::byte> values = trainer.segment.at(trainer.hello.values);
  for (const TrainerTensor& tensor : trainer.table.tensors())
    if (tensor.role == TensorRole::donor) act(values.subspan(tensor.offset, tensor.bytes()));
}

std::size_t state_limit(const Attached& trainer) {
  return (std::size_t{64} << 20) + 16 * trainer.hello.values.bytes;
}

Outcome<std::unique_ptr<TrainerPort>> TrainerPort::open(const std::string& path,
                                                        TrainerTerms terms) {
  TRY(OpenFile listener, listen_at(path));
  return std::unique_ptr<TrainerPort>(new TrainerPort(path, std::move(listener), std::move(terms)));
}

TrainerPort::TrainerPort(std::string path, OpenFile listener, TrainerTerms terms)
    : listener_(std::move(listener)), terms_(std::move(terms)) {
  status_.socket = std::move(path);
  thread_ = quiet_thread([this] { run(); });
}

TrainerPort::~TrainerPort() {
  {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::closing;
  }
  wake_.signal();
  thread_.join();
  ::unlink(path().c_str());
}

void TrainerPort::set_listener(std::function<void(bool)> listener) {
  const std::lock_guard lock(mutex_);
  on_change_ = std::move(listener);
  if (on_change_) on_change_(trainer_ != nullptr);
}

// ---- threads that wait

std::shared_ptr<const Attached> TrainerPort::await(milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return trainer_ || phase_ != Phase::open; });
  return phase_ == Phase::open ? trainer_ : nullptr;
}

std::optional<TrainerAnswer> TrainerPort::ask(const Attached& trainer, const Request& request) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return phase_ != Phase::open || trainer_.get() != &trainer; };
  if (is_over()) return std::nullopt;
  job_ = {.number = ++jobs_, .saves = std::holds_alternative<SaveRequest>(request)};
  status_.state = TrainerStatus::State::training;
  const auto* const load = std::get_if<LoadRequest>(&request);
  const int descriptor = load ? load->state->descriptor() : -1;
  if (!job_->saves && !load) watch_.begin(now(), trainer.segment.progress());
  if (!send_record(socket_.number(), write_record(job_->number, request), descriptor))
    return std::nullopt;
  const auto is_answered = [this] { return job_ && job_->answer; };
  changed_.wait(lock, [&] { return is_answered() || is_over(); });
  if (!is_answered()) return std::nullopt;
  return std::exchange(job_, std::nullopt)->answer;
}

std::shared_ptr<const std::vector<std::byte>> TrainerPort::donated() const {
  const std::lock_guard lock(mutex_);
  return model_.donated;
}

Metrics TrainerPort::metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_;
}

void TrainerPort::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    phase_ = std::max(phase_, Phase::interrupted);
    if (trainer_) trainer_->segment.tell_over();
  }
  changed_.notify_all();
}

// The port's thread hears the end of the connection.
void TrainerPort::complain(const std::string& text, bool ends) {
  const std::lock_guard lock(mutex_);
  if (!ends) return notes_.said.add(now(), text);
  if (!trainer_) return;
  turn_away(socket_, text);
  ::shutdown(socket_.number(), SHUT_RDWR);
  status_.refusal = status_.reason = text;
  ++status_.refused;
}

bool TrainerPort::is_interrupted() const {
  const std::lock_guard lock(mutex_);
  return phase_ != Phase::open;
}

void TrainerPort::end(const std::string& reason,
                      const std::function<bool(const Attached&)>& write) {
  std::unique_lock lock(mutex_);
  const auto is_free = [this] { return !job_ || job_->answer; };
  if (!watch_.is_silent(now()))
    changed_.wait_for(lock, kEndPatience, [&] { return !trainer_ || is_free(); });
  if (!trainer_) return;
  const bool has_model = is_free() && write(*trainer_);
  send_record(socket_.number(), write_end(reason, has_model));
  phase_ = Phase::ended;
}

TrainerStatus TrainerPort::status() const {
  const std::lock_guard lock(mutex_);
  TrainerStatus status = status_;
  if (trainer_) status.steps = trainer_->segment.progress();
  status.notes = notes_.recent(now());
  status.is_silent = watch_.is_silent(now());
  if (const auto standstill = watch_.standstill(now())) {
    status.state = TrainerStatus::State::stalled;
    status.reason =
        watch_.has_counted()
            ? fmt::format("no step for {:.0f} s; its patience is {:.0f} s", seconds(*standstill),
                          seconds(watch_.patience()))
            : fmt::format("no step since it got its parameters {:.0f} s ago{}",
                          seconds(*standstill), status.mode == "loop" ? kStepAdvice : "");
  }
  if (!model_.table) return status;
  status.dimension = model_.table->dimension();
  status.write_model = [table = model_.table, donated = model_.donated](
                           std::span<const double> x,
                           const std::map<std::string, std::string>& metadata) {
    const std::span<const std::byte> none;
    return trainer_model(*table, donated ? std::span(*donated) : none, x, metadata);
  };
  return status;
}

// ---- the port's thread

void TrainerPort::run() {
  while (true) {
    std::vector<pollfd> items{{wake_.descriptor(), POLLIN, 0}, {listener_.number(), POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      if (phase_ == Phase::closing) return;
      if (trainer_) watch_.look(now(), trainer_->segment.progress());
      items.push_back({socket_.number(), POLLIN, 0});  // below 0: passed over
    }
    for (const Visitor& visitor : visitors_) items.push_back({visitor.socket.number(), POLLIN, 0});
    ::poll(items.data(), items.size(), kTrainerLookEvery_ms);
    wake_.clear();
    if (items[2].revents != 0) hear_trainer();
    for (std::size_t k = items.size(); k-- > 3;)
      if (items[k].revents != 0) hear_visitor(k - 3);
    drop_late_visitors();
    if (items[1].revents != 0) accept_one();
  }
}

void TrainerPort::accept_one() {
  OpenFile socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  const auto process = process_behind(socket.number());
  if (!process) return turn_away(socket, "the trainer runs as another user than the daemon");
  if (const auto life = variable_of(*process, kLifeVariable);
      life && !terms_.life.empty() && *life != terms_.life) {
    log::warning("a trainer (process {}) of an earlier life of this node was told to end",
                 *process);
    return turn_away(socket,
                     "an earlier life of the daemon started this trainer; the daemon starts its "
                     "own (trainer.command), so this one must end");
  }
  if (visitors_.size() >= kVisitorsLimit) {
    turn_away(visitors_.front().socket, "too many processes try to attach at once");
    visitors_.erase(visitors_.begin());
  }
  visitors_.push_back({std::move(socket), *process, steady_clock::now() + kHelloPatience});
}

void TrainerPort::drop_late_visitors() {
  const auto at = steady_clock::now();
  std::erase_if(visitors_, [&](const Visitor& visitor) {
    if (at < visitor.until) return false;
    turn_away(visitor.socket, "no hello came within 5 s");
    return true;
  });
}

void TrainerPort::hear_visitor(std::size_t place) {
  HeardRecord heard = hear_record(visitors_[place].socket.number());
  if (heard.nothing) return;
  Visitor visitor = std::move(visitors_[place]);
  visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(place));
  if (heard.ended) return;
  const auto entered = let_in(visitor, std::move(heard));
  if (entered) return;
  const std::string& reason = entered.error().text;
  const std::string text =
      fmt::format("a trainer (process {}) was refused: {}", visitor.process, reason);
  const std::lock_guard lock(mutex_);
  ++status_.refused;
  status_.refusal = reason;
  if (trainer_)
    notes_.refused.add(now(), fmt::format("a second trainer (process {}) was refused: a node has "
                                          "one; under torchrun attach in rank 0",
                                          visitor.process));
  else if (status_.attached > 0)
    notes_.refused.add(now(), text);
  else  // the node does not run yet
    log::warning("{}", text);
  turn_away(visitor.socket, reason);
}

Result<void> TrainerPort::let_in(Visitor& visitor, HeardRecord heard) {
  if (heard.too_long) return fail("a record has more than 65536 bytes");
  TRY(FromTrainer record, read_record(heard.text));
  auto* const hello = std::get_if<Hello>(&record);
  if (!hello) return fail("the first record is not of kind hello");
  if (!heard.file) return fail("no segment came with hello");
  {
    const std::lock_guard lock(mutex_);
    if (trainer_)
      return fail("{} has a trainer already (process {}); a node has one", terms_.welcome.node,
                  trainer_->process);
    if (phase_ != Phase::open) return fail("the run is over");
  }
  TRY_DO(check_terms(terms_, *hello));
  TRY(auto attached, make_attached(std::move(*hello), heard.file, visitor.process));
  if (model_.table && attached->table.schema() != model_.table->schema())
    return fail("this trainer has another model than the node: {}",
                first_difference(model_.table->schema(), attached->table.schema()));
  std::function<void(bool)> on_change;
  {
    const std::lock_guard lock(mutex_);
    send_record(visitor.socket.number(), write_record(terms_.welcome));
    socket_ = std::move(visitor.socket);
    trainer_ = attached;
    job_.reset();
    status_.state = TrainerStatus::State::exchanging;
    status_.reason.clear();
    status_.client = attached->hello.client;
    status_.mode = attached->hello.mode == TrainerMode::loop ? "loop" : "gradients";
    status_.process = visitor.process;
    model_.table = std::make_shared<const TensorTable>(attached->table);
    watch_ = {};
    if (!model_.donated) model_.donated = donated_by(*attached);
    ++status_.attached;
    on_change = on_change_;
  }
  log::info("a trainer attached: process {}, {}, {} tensors, {} numbers", visitor.process,
            attached->hello.client, attached->table.tensors().size(), attached->table.dimension());
  changed_.notify_all();
  if (on_change) on_change(true);
  return {};
}

void TrainerPort::hear_trainer() {
  HeardRecord heard = hear_record(socket_.number());
  const auto state = receive_state(std::move(heard.file));
  if (heard.nothing) return;
  if (heard.ended) return lose(std::string(kProcessEnded));
  if (heard.too_long) return lose("it sent a record of more than 65536 bytes");
  if (!state) return lose(state.error().text);
  auto record = read_record(heard.text);
  if (!record) return lose(record.error().text);
  if (auto* const answer = std::get_if<TrainerAnswer>(&*record)) {
    answer->state = *state;
    return take(*answer);
  }
  if (const auto* const note = std::get_if<Note>(&*record)) {
    const std::lock_guard lock(mutex_);
    return notes_.said.add(now(), "the trainer says: " + note->text);
  }
  const auto* const metrics = std::get_if<Metrics>(&*record);
  if (!metrics) return lose(std::holds_alternative<Goodbye>(*record) ? "" : "it said hello twice");
  const std::lock_guard lock(mutex_);
  ++metrics_.records;
  if (metrics->loss) metrics_.loss = metrics->loss;
  if (metrics->accuracy) metrics_.accuracy = metrics->accuracy;
  if (metrics->rmse) metrics_.rmse = metrics->rmse;
}

// Ignores a file that was not requested, or with a record of another kind.
Result<std::shared_ptr<const TrainerState>> TrainerPort::receive_state(OpenFile file) const {
  const std::lock_guard lock(mutex_);
  if (!file || !job_ || !job_->saves) return nullptr;
  return TrainerState::receive(std::move(file), state_limit(*trainer_));
}

// Ignores an answer to a job whose wait has ended.
void TrainerPort::take(const TrainerAnswer& answer) {
  {
    const std::lock_guard lock(mutex_);
    if (!job_ || answer.job != job_->number) return;
    job_->answer = answer;
    watch_.look(now(), trainer_->segment.progress());
    watch_.end(now());
    if (!answer.state) model_.donated = donated_by(*trainer_);
    if (answer.state) status_.saved_bytes = answer.state->size();
    if (!answer.state) ++status_.exchanges;
    status_.state = TrainerStatus::State::exchanging;
  }
  changed_.notify_all();
}

// Without a reason it said goodbye, unless it was told to go. After the end of the run it may go at
// any time.
void TrainerPort::lose(std::string reason) {
  std::function<void(bool)> on_change;
  pid_t process = 0;
  bool is_loss = false;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.reason.empty()) reason = status_.reason;
    is_loss = !reason.empty() && phase_ < Phase::ended;
    if (is_loss) turn_away(socket_, reason);
    status_.steps = trainer_->segment.progress();
    process = trainer_->process;
    trainer_ = nullptr;
    watch_ = {};
    socket_ = OpenFile();
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
