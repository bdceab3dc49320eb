#include "models/linear/one_thread.h"

// From libgomp, which oneDNN links. Declared here to avoid <omp.h>, which needs -fopenmp.
extern "C" void omp_set_num_threads(int threads);

namespace starling::models {

// The limit is per calling thread; with a limit of one OpenMP starts no pool.
void stay_on_this_thread() {
  thread_local const bool limited = [] {
    omp_set_num_threads(1);
    return true;
  }();
  static_cast<void>(limited);
}

}  // namespace starling::models
