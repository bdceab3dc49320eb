#include "daemon/process/safetensors.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace starling::daemon {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

template <class S>
void append(std::string& text, std::span<const double> numbers) {
  const std::size_t start = text.size();
  text.resize(start + numbers.size() * sizeof(S));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const S number = static_cast<S>(numbers[i]);
    std::memcpy(text.data() + start + i * sizeof(S), &number, sizeof(S));
  }
}

template <class S>
std::vector<double> numbers_of(std::string_view bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(S));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    S number;
    std::memcpy(&number, bytes.data() + i * sizeof(S), sizeof(S));
    numbers[i] = static_cast<double>(number);
  }
  return numbers;
}

std::optional<std::size_t> size_of(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::size_t>();
}

std::optional<std::vector<std::size_t>> sizes_of(const json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::size_t> sizes;
  for (const json& item : list) {
    const auto size = size_of(item);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

Result<Tensor> read_tensor(const std::string& name, const json& entry, std::string_view numbers) {
  Tensor tensor;
  const json type = entry.value("dtype", json());
  const std::size_t width = type == "F64" ? sizeof(double) : type == "F32" ? sizeof(float) : 0;
  if (width == 0) return fail("tensor {} has dtype {}, expected F32 or F64", name, type.dump());
  const json shape = entry.value("shape", json());
  const json offsets = entry.value("data_offsets", json());
  const auto extents = sizes_of(shape), range = sizes_of(offsets);
  if (!extents || !range || range->size() != 2)
    return fail("tensor {} has no shape or no offsets", name);
  std::size_t count = 1;
  for (const std::size_t extent : *extents) {
    if (extent > 0 && count > numbers.size() / extent)
      return fail("tensor {} has shape {}, which the file cannot hold", name, shape.dump());
    count *= extent;
  }
  tensor.extents = *extents;
  const std::size_t begin = range->front(), end = range->back();
  if (begin > end || end > numbers.size() || end - begin != count * width)
    return fail("tensor {} lies at bytes {} to {} of {}, expected {} of them", name, begin, end,
                numbers.size(), count * width);
  const std::string_view bytes = numbers.substr(begin, end - begin);
  tensor.numbers = width == sizeof(double) ? numbers_of<double>(bytes) : numbers_of<float>(bytes);
  return tensor;
}

}  // namespace

std::string safetensors_head(std::span<const FileTensor> tensors,
                             const std::map<std::string, std::string>& metadata) {
  json header = {{"__metadata__", metadata}};
  std::size_t begin = 0;
  for (const FileTensor& tensor : tensors) {
    const std::size_t end = begin + tensor.bytes;
    header[tensor.name] = {
        {"dtype", tensor.type}, {"shape", tensor.extents}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string head = header.dump();
  head.append((8 - head.size() % 8) % 8, ' ');  // the numbers begin at a multiple of 8
  const std::uint64_t length = head.size();
  std::string text(sizeof(length), '\0');
  std::memcpy(text.data(), &length, sizeof(length));
  text.reserve(text.size() + head.size() + begin);
  text += head;
  return text;
}

std::string safetensors(std::span<const optim::ParameterBlock> places,
                        std::span<const double> parameters, models::Precision precision,
                        const std::map<std::string, std::string>& metadata) {
  const bool is_double = precision == models::Precision::f64;
  const std::size_t width = is_double ? sizeof(double) : sizeof(float);
  std::vector<FileTensor> tensors;
  for (const optim::ParameterBlock& place : places)
    tensors.push_back({place.name, is_double ? "F64" : "F32", place.extents, place.size() * width});
  std::string text = safetensors_head(tensors, metadata);
  for (const optim::ParameterBlock& place : places) {
    const auto numbers = parameters.subspan(place.offset, place.size());
    is_double ? append<double>(text, numbers) : append<float>(text, numbers);
  }
  return text;
}

Result<std::vector<PlacedTensor>> read_safetensors_head(const Payload& file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof(length)) return fail("is no safetensors file: it has no header");
  file.copy_to(0, std::as_writable_bytes(std::span(&length, 1)));
  const std::size_t behind = file.size() - sizeof(length);
  if (length > std::min<std::uint64_t>(kSafetensorsHeaderLimit, behind))
    return fail("is no safetensors file: its header would have {} bytes", length);
  std::string text(length, '\0');
  file.copy_to(sizeof(length), std::as_writable_bytes(std::span(text)));
  const json header = json::parse(text, nullptr, false);
  if (!header.is_object()) return fail("is no safetensors file: its header is not JSON");
  const std::size_t first = sizeof(length) + length;
  std::vector<PlacedTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (!entry.is_object()) return fail("the entry {} of the header is no object", name);
    if (name == "__metadata__") continue;
    const auto extents = sizes_of(entry.value("shape", json()));
    const auto range = sizes_of(entry.value("data_offsets", json()));
    const json type = entry.value("dtype", json());
    if (!extents || !range || range->size() != 2 || !type.is_string())
      return fail("tensor {} has no shape, no offsets or no dtype", name);
    if (range->front() > range->back() || range->back() > file.size() - first)
      return fail("tensor {} lies at bytes {} to {} of {}", name, range->front(), range->back(),
                  file.size() - first);
    tensors.push_back({name, type.get<std::string>(), *extents, first + range->front(),
                       range->back() - range->front()});
  }
  return tensors;
}

Result<Safetensors> read_safetensors(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length)) return fail("is no safetensors file: it has no header");
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes.remove_prefix(sizeof(length));
  if (length > std::min<std::uint64_t>(kSafetensorsHeaderLimit, bytes.size()))
    return fail("is no safetensors file: its header would have {} bytes", length);
  const json header = json::parse(bytes.substr(0, length), nullptr, false);
  if (!header.is_object()) return fail("is no safetensors file: its header is not JSON");
  Safetensors file;
  for (const auto& [name, entry] : header.items()) {
    if (!entry.is_object()) return fail("the entry {} of the header is no object", name);
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.items())
        if (value.is_string()) file.metadata[key] = value.get<std::string>();
      continue;
    }
    TRY(Tensor tensor, read_tensor(name, entry, bytes.substr(length)));
    if (entry.value("dtype", "") == "F64") file.precision = models::Precision::f64;
    file.tensors.emplace(name, std::move(tensor));
  }
  return file;
}

}  // namespace starling::daemon
