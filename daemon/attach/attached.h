// Attached: a trainer that was accepted, with its checked table and its segment.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/attach/records.h"
#include "daemon/attach/segment.h"
#include "daemon/attach/tensor_table.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

// Constant except for the bytes of the segment, which are the trainer's while a job is open and the
// daemon's otherwise.
struct Attached {
  Hello hello;
  TensorTable table;
  Segment segment;
  pid_t process = 0;
};

// Maps the segment that came with the hello, and checks all regions and the table in it. `process`
// is the one that sent it. The error says to the trainer what is wrong.
Result<std::shared_ptr<const Attached>> attach(Hello hello, const OpenFile& segment, pid_t process);
// Calls act(bytes) for each tensor of role donor, in place. REQUIRES that no job is open.
void for_each_donated(const Attached& trainer,
                      const std::function<void(std::span<std::byte>)>& act);
// A copy of these tensors, concatenated. REQUIRES that no job is open.
std::shared_ptr<const std::vector<std::byte>> donated_by(const Attached& trainer);
// The most bytes of a state that this trainer may save: 64 MiB and 16 times its tensors.
std::size_t state_limit(const Attached& trainer);

}  // namespace starling::daemon
