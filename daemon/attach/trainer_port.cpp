#include "daemon/attach/trainer_port.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/attach/record_socket.h"
#include "daemon/attach/trainer_model.h"
#include "daemon/process/clock.h"
#include "daemon/process/log.h"
#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

using std::chrono::milliseconds;

// For the steps under way when the run ends. Longer: the node leaves later. Shorter: a trainer of
// long steps does not get the last parameters.
constexpr std::chrono::seconds kEndPatience{2};
// For a trainer that has counted no step yet.
constexpr char kStepAdvice[] =
    ": call swarm.step(loss=...) after each optimizer.step(), unless the first step takes that "
    "long";
}  // namespace

Outcome<std::unique_ptr<TrainerPort>> TrainerPort::open(const std::string& path,
                                                        TrainerTerms terms) {
  TRY(OpenFile listener, listen_at(path));
  return std::unique_ptr<TrainerPort>(new TrainerPort(path, std::move(listener), std::move(terms)));
}

TrainerPort::TrainerPort(std::string path, OpenFile listener, TrainerTerms terms)
    : terms_(std::move(terms)), door_(std::move(listener), terms_.life) {
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
    std::vector<pollfd> items{{wake_.descriptor(), POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      if (phase_ == Phase::closing) return;
      if (trainer_) watch_.look(now(), trainer_->segment.progress());
      items.push_back({socket_.number(), POLLIN, 0});  // below 0: passed over
    }
    door_.wait_with(items);
    wake_.clear();
    if (items[1].revents != 0) hear_trainer();
    for (TrainerDoor::Caller& caller : door_.look(items)) admit(std::move(caller));
  }
}

void TrainerPort::admit(TrainerDoor::Caller caller) {
  const auto entered = let_in(caller);
  if (entered) return;
  const std::string& reason = entered.error().text;
  const std::string text =
      fmt::format("a trainer (process {}) was refused: {}", caller.process, reason);
  const std::lock_guard lock(mutex_);
  ++status_.refused;
  status_.refusal = reason;
  if (trainer_)
    notes_.refused.add(now(), fmt::format("a second trainer (process {}) was refused: a node has "
                                          "one; under torchrun attach in rank 0",
                                          caller.process));
  else if (status_.attached > 0)
    notes_.refused.add(now(), text);
  else  // the node does not run yet
    log::warning("{}", text);
  turn_away(caller.socket, reason);
}

Result<void> TrainerPort::let_in(TrainerDoor::Caller& caller) {
  HeardRecord& heard = caller.first;
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
  TRY(auto attached, attach(std::move(*hello), heard.file, caller.process));
  if (model_.table && attached->table.schema() != model_.table->schema())
    return fail("this trainer has another model than the node: {}",
                first_difference(model_.table->schema(), attached->table.schema()));
  std::function<void(bool)> on_change;
  {
    const std::lock_guard lock(mutex_);
    send_record(caller.socket.number(), write_record(terms_.welcome));
    socket_ = std::move(caller.socket);
    trainer_ = attached;
    job_.reset();
    status_.state = TrainerStatus::State::exchanging;
    status_.reason.clear();
    status_.client = attached->hello.client;
    status_.mode = attached->hello.mode == TrainerMode::loop ? "loop" : "gradients";
    status_.process = caller.process;
    model_.table = std::make_shared<const TensorTable>(attached->table);
    watch_ = {};
    if (!model_.donated) model_.donated = donated_by(*attached);
    ++status_.attached;
    on_change = on_change_;
  }
  log::info("a trainer attached: process {}, {}, {} tensors, {} numbers", caller.process,
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
