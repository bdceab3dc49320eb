#include "daemon/attach/trainer_model.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <vector>

#include "daemon/attach/tensor_io.h"
#include "daemon/process/safetensors.h"

namespace starling::daemon {
namespace {

// As safetensors has it: BF16 for bf16.
std::string type_name(const TrainerTensor& tensor) {
  std::string name(tensor.format ? tensor.format->name : "i64");
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// What a client keeps beside the user's model, such as the place in the data.
bool is_of_client(const TrainerTensor& tensor) {
  return tensor.role == TensorRole::donor && tensor.name.starts_with("starling.");
}

}  // namespace

std::string trainer_model(const TensorTable& table, std::span<const std::byte> donated,
                          std::span<const double> x,
                          const std::map<std::string, std::string>& metadata) {
  const bool has_donated = donated.size() == table.donated_bytes();
  std::vector<const TrainerTensor*> tensors;
  std::vector<PlacedTensor> places;
  for (const TrainerTensor& tensor : table.tensors()) {
    if (!tensor.is_exchanged() && (tensor.role != TensorRole::donor || !has_donated)) continue;
    tensors.push_back(&tensor);
    if (is_of_client(tensor)) continue;
    places.push_back({tensor.name, type_name(tensor), tensor.shape, tensor.bytes()});
  }
  std::string text = safetensors_head(places, metadata);
  for (const TrainerTensor* const tensor : tensors) {
    if (is_of_client(*tensor)) {
      donated = donated.subspan(tensor->bytes());
      continue;
    }
    const std::size_t begin = text.size();
    text.resize(begin + tensor->bytes());
    auto* const place = reinterpret_cast<std::byte*>(text.data() + begin);
    if (tensor->is_exchanged()) {
      write_numbers<double>(*tensor->format, x.first(tensor->numbers), place, tensor->bytes());
      x = x.subspan(tensor->numbers);
    } else {
      std::ranges::copy(donated.first(tensor->bytes()), place);
      donated = donated.subspan(tensor->bytes());
    }
  }
  return text;
}

}  // namespace starling::daemon
