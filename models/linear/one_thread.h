// Keeps oneDNN on the calling thread.
#pragma once

namespace starling::models {

// Before every call into oneDNN; costs nothing after the first on a thread.
void stay_on_this_thread();

}  // namespace starling::models
