// Records: the messages between a trainer and the daemon over the socket, one JSON object each
// (docs/attach.md). Reading checks everything that comes from the trainer; an error is one line for
// it. To add a language for trainers: a folder in clients/ after docs/attach.md, tested by
// tests/clients/fake_daemon.py, a line of tests/CMakeLists.txt, deploy/install.cmake if it is
// installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "daemon/attach/segment.h"
#include "daemon/attach/trainer_state.h"
#include "optim/algorithms/registry.h"

namespace starling::daemon {

inline constexpr std::uint64_t kAttachVersion = 1;
inline constexpr std::size_t kRecordBytesLimit = 65'536;

enum class TrainerMode { loop, gradients };

// ---- from the trainer

struct Hello {
  std::string client = {};  // printable
  TrainerMode mode = TrainerMode::loop;
  std::uint64_t samples = 0;
  // The name of its optimizer, printable, and the known properties of its steps; for mode loop.
  std::string optimizer = {};
  optim::OptimizerRule::Allowed steps = optim::OptimizerRule::Allowed::any;
  std::optional<double> learning_rate = {};  // of its next step
  bool corrects = false;                     // adds a correction to its gradients
  bool shifts = false;                       // adds a correction to its parameters after each step
  bool evaluates = false;                    // answers `evaluate`
  bool saves = false;                        // answers `save` and `load`
  std::uint64_t segment_bytes = 0;
  Region table = {}, values = {}, correction = {}, gradient = {}, batch = {};
};

// The result of a job. Absent numbers were not measured.
struct TrainerAnswer {
  std::uint64_t job = 0;
  std::optional<std::uint64_t> steps = {};  // taken; those that the loop meant to leave out, apart
  std::uint64_t left_out = 0, samples = 0;
  std::optional<double> loss = {}, gradient_norm = {}, learning_rate = {}, accuracy = {}, rmse = {};
  std::string refusal = {};  // why the parameters must not be taken, printable; empty: take them
  std::shared_ptr<const TrainerState> state = {};  // came with it; null: none
};

struct Metrics {
  std::optional<double> loss = {}, accuracy = {}, rmse = {};
  std::uint64_t records = 0;  // so far
};

// For people; printable, and not empty.
struct Note {
  std::string text = {};
};

struct Goodbye {};

using FromTrainer = std::variant<Hello, TrainerAnswer, Metrics, Note, Goodbye>;
Result<FromTrainer> read_record(std::string_view text);

// ---- from the daemon

struct Welcome {
  std::string node = {}, algorithm = {}, precision = {};
  std::size_t local_steps = 1, batch_size = 0;
  double learning_rate = 0;
  std::uint64_t seed = 0;
};

struct StepRequest {
  std::size_t count = 1;
  std::uint64_t round = 0;
  double learning_rate = 0;
  bool corrects = false;
  bool shifts = false;  // a correction is added to the parameters after each step
  bool tracks = false;  // the mean of the gradients, correction included, is wanted
  std::size_t place = 0, nodes = 1;
};

struct GradientRequest {
  std::uint64_t round = 0;
  std::size_t batch = 0;  // samples, their numbers in the region; 0: all
};

struct EvaluateRequest {
  std::size_t limit = 0;
};

// Asks for the state that the trainer needs when it comes back; it comes as a file with the answer.
struct SaveRequest {};

// The state goes as a file with the request.
struct LoadRequest {
  std::shared_ptr<const TrainerState> state;
  bool is_own = false;  // of a trainer of this node, not of a donor's
};

using Request =
    std::variant<StepRequest, GradientRequest, EvaluateRequest, SaveRequest, LoadRequest>;

std::string write_record(const Welcome& welcome);
std::string write_record(std::uint64_t job, const Request& request);
std::string write_refusal(std::string_view reason);
std::string write_end(std::string_view reason, bool has_model);

}  // namespace starling::daemon
