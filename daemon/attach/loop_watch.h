// LoopWatch: whether the loop of a trainer does what it says, as far as the daemon sees: the
// tensors that it attached move, and they move by the steps of the optimizer that it handed over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/attach/records.h"
#include "daemon/attach/tensor_table.h"

namespace starling::daemon {

class LoopWatch {
 public:
  // A trainer has attached; its corrections go with the steps of its optimizer, or there are none.
  void begin(const Hello& hello, const TensorTable& table, bool is_corrected);

  // Compares a part of x, from number `first` on: as the trainer got it and as it gave it back. The
  // parts of a round follow one another.
  template <class S>
  void compare(std::size_t first, std::span<const S> before, std::span<const S> after);

  struct Finding {
    std::string fault = {};   // what the loop does instead; empty: nothing
    bool is_lasting = false;  // for so long that the trainer is to be refused
    std::string note = {};    // for people; empty: nothing
  };
  // The round ends with that answer to a request of `count` steps.
  Finding end(const TrainerAnswer& answer, std::size_t count);
  // Whether a tensor has moved in this round.
  bool has_moved() const { return has_moved_; }

 private:
  // A loop is refused after so many rounds in a row with a fault, and after so many steps if its
  // optimizer takes none: a GradScaler leaves out some steps in a row while it begins.
  static constexpr int kRoundsLimit = 10;
  static constexpr std::uint64_t kStepsLimit = 20;
  // Of such steps fewer are no fault.
  static constexpr std::uint64_t kStepsLeast = 5;
  // Of a loop that has moved: a change of the loss by less than this part of the largest so far, or
  // a rate below this part of the largest, may be the end of its way.
  static constexpr double kSlight = 1e-3;
  // Tensors that have not moved after so many rounds with steps are named.
  static constexpr int kTensorRounds = 10;
  static constexpr std::size_t kNamedLimit = 4;
  // A learning rate of 0 is told after so many rounds in a row.
  static constexpr int kRestRounds = 20;

  enum class Fault { none, still, no_step, elsewhere };
  struct Watched {
    std::size_t begin, end;  // of its numbers in x
    std::string name;
    bool has_moved;  // in any round, or it is frozen
  };

  Fault fault_of(const TrainerAnswer& answer, std::uint64_t steps);
  bool should_move(const TrainerAnswer& answer);
  std::string text_of(Fault fault) const;
  bool is_naming() const { return tensor_rounds_ < kTensorRounds; }
  std::string note_on_tensors();

  std::string optimizer_;
  bool is_corrected_ = false;
  std::vector<Watched> tensors_;  // averaged, in the order of x
  std::size_t next_ = 0;          // the first that the next part of x may hold
  bool has_moved_ = false, has_ever_moved_ = false;
  std::optional<double> loss_;            // of the last round
  double most_loss_ = 0, most_rate_ = 0;  // so far
  Fault fault_ = Fault::none;             // of the last rounds
  int rounds_ = 0;                        // so many in a row
  std::uint64_t steps_ = 0;               // asked for in these
  int tensor_rounds_ = 0;
  int rounds_at_rest_ = 0;  // in a row, at a learning rate of 0
};

template <class S>
void LoopWatch::compare(std::size_t first, std::span<const S> before, std::span<const S> after) {
  const std::size_t last = first + before.size();
  for (std::size_t k = next_; k < tensors_.size() && tensors_[k].begin < last; ++k) {
    Watched& tensor = tensors_[k];
    if (!has_moved_ || (is_naming() && !tensor.has_moved)) {
      const std::size_t from = std::max(first, tensor.begin) - first;
      const std::size_t size = std::min(last, tensor.end) - first - from;
      const auto part = [&](std::span<const S> x) { return x.subspan(from, size); };
      const bool moves = !std::ranges::equal(part(before), part(after));
      has_moved_ = has_moved_ || moves;
      tensor.has_moved = tensor.has_moved || moves;
    }
    if (tensor.end <= last) next_ = k + 1;
  }
}

}  // namespace starling::daemon
