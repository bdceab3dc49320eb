// kernels<S>(row): the functions of a Format or Compressor for S, float or double.
#pragma once

#include <concepts>

namespace starling::optim {

template <class S, class Row>
const auto& kernels(const Row& row) {
  if constexpr (std::same_as<S, float>)
    return row.in_single;
  else
    return row.in_double;
}

}  // namespace starling::optim
