// checkpoint_files: converts a checkpoint to the files of a generation, and back.
//   model.safetensors    the parameters, each tensor under its name in the model
//   state.safetensors    the state of the algorithm, the optimizer, the guard and the batches
//   trainer.state        the state of the user's own trainer, which only trainers can read
//   foundation           the survey that the model is founded on
// The manifest has the round, the counters and the edges. Empty files are left out.
#pragma once

#include "base/result.h"
#include "daemon/process/checkpoint_folder.h"
#include "gossip/checkpoint.h"

namespace starling::daemon {

// Shares the numbers of the checkpoint. REQUIRES a state.
Generation files_of(const gossip::Checkpoint& checkpoint);
// Shares the bytes of the generation, which are outside data: the error says what is wrong. The
// trainer checks whether the state fits the model.
Result<gossip::Checkpoint> checkpoint_from(const Generation& content);

}  // namespace starling::daemon
