#include "optim/codec/compressor.h"

namespace starling::optim {

std::span<const Compressor> compressors() {
  static const Compressor kRows[] = {i8_row(), i4_row(), i2_row(), top_row()};
  return kRows;
}

}  // namespace starling::optim
