#include "daemon/process/safetensors.h"
#include "daemon/process/json_text.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

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

// The product of the extents; 0 if it exceeds the limit.
std::size_t numbers_in(const std::vector<std::size_t>& extents, std::size_t limit) {
  if (std::ranges::find(extents, std::size_t{0}) != extents.end()) return 0;
  std::size_t count = 1;
  for (const std::size_t extent : extents) {
    if (count > limit / extent) return 0;
    count *= extent;
  }
  return count;
}

// Offsets in the header count from its end.
Result<PlacedTensor> read_place(const std::string& name, const json& entry, std::size_t first,
                                std::size_t file_bytes) {
  if (!entry.is_object()) return fail("the entry {} of the header is no object", name);
  const json shape = entry.value("shape", json()), type = entry.value("dtype", json());
  const auto extents = sizes_of(shape), range = sizes_of(entry.value("data_offsets", json()));
  if (!extents || !range || range->size() != 2 || !type.is_string())
    return fail("tensor {} has no shape, no offsets or no dtype", name);
  const std::size_t begin = range->front(), end = range->back();
  if (begin > end || end > file_bytes - first)
    return fail("tensor {} lies at bytes {} to {} of {}", name, begin, end, file_bytes - first);
  const std::size_t count = numbers_in(*extents, end - begin);
  if (count == 0 ? begin != end : (end - begin) % count != 0)
    return fail("tensor {} has shape {}, which is not that of {} bytes", name, shape.dump(),
                end - begin);
  return PlacedTensor{name, type.get<std::string>(), *extents, end - begin, first + begin};
}

// Checks that each byte from `first` to `end` belongs to exactly one tensor: other readers differ
// in how they treat bytes of two or of none.
Result<void> check_cover(const std::vector<PlacedTensor>& tensors, std::size_t first,
                         std::size_t end) {
  std::vector<const PlacedTensor*> by_place;
  for (const PlacedTensor& tensor : tensors)
    if (tensor.bytes > 0) by_place.push_back(&tensor);
  std::ranges::sort(by_place, {}, &PlacedTensor::begin);
  std::size_t at = first;
  const auto unowned = [&](std::size_t until) {
    return fail("bytes {} to {} belong to no tensor", at - first, until - first);
  };
  for (std::size_t k = 0; k < by_place.size(); ++k) {
    const PlacedTensor& tensor = *by_place[k];
    if (tensor.begin < at)
      return fail("tensors {} and {} overlap", by_place[k - 1]->name, tensor.name);
    if (tensor.begin > at) return unowned(tensor.begin);
    at += tensor.bytes;
  }
  if (at < end) return unowned(end);
  return {};
}

// A name that the header has twice: a JSON object would keep the last. Nothing: there is none.
std::optional<std::string> repeated_name(std::string_view header) {
  std::set<std::string> names;
  std::optional<std::string> repeated;
  const auto see = [&](int depth, json::parse_event_t event, json& value) {
    if (depth == 1 && event == json::parse_event_t::key)
      if (const auto name = value.get<std::string>(); !names.insert(name).second) repeated = name;
    return depth <= 1;  // deeper values are not kept
  };
  [[maybe_unused]] const json parsed = json::parse(header, see, false);
  return repeated;
}

struct Head {
  std::map<std::string, std::string> metadata;
  std::vector<PlacedTensor> tensors;
};

Result<Head> read_head(const Payload& file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof(length)) return fail("is no safetensors file: it has no header");
  file.copy_to(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > std::min<std::uint64_t>(kSafetensorsHeaderLimit, file.size() - sizeof(length)))
    return fail("is no safetensors file: its header would have {} bytes", length);
  std::string text(length, '\0');
  file.copy_to(sizeof(length), std::as_writable_bytes(std::span(text)));
  const json header = parse_json(text);
  if (!header.is_object()) return fail("is no safetensors file: its header is not JSON");
  if (const auto name = repeated_name(text)) return fail("the header names {} twice", *name);
  Head head;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      TRY(head.tensors.emplace_back(),
          read_place(name, entry, sizeof(length) + length, file.size()));
      continue;
    }
    if (!entry.is_object()) return fail("the entry {} of the header is no object", name);
    for (const auto& [key, value] : entry.items())
      if (value.is_string()) head.metadata[key] = value.get<std::string>();
  }
  TRY_DO(check_cover(head.tensors, sizeof(length) + length, file.size()));
  return head;
}

Result<Tensor> read_tensor(const PlacedTensor& place, std::string_view file) {
  const bool is_double = place.type == "F64";
  if (!is_double && place.type != "F32")
    return fail("tensor {} has dtype {}, expected F32 or F64", place.name, place.type);
  const std::size_t width = is_double ? sizeof(double) : sizeof(float);
  const std::size_t count = numbers_in(place.extents, place.bytes);
  if (place.bytes != count * width)
    return fail("tensor {} has {} bytes, expected {}", place.name, place.bytes, count * width);
  const std::string_view bytes = file.substr(place.begin, place.bytes);
  return Tensor{place.extents, is_double ? numbers_of<double>(bytes) : numbers_of<float>(bytes)};
}

}  // namespace

std::string safetensors_head(std::span<const PlacedTensor> tensors,
                             const std::map<std::string, std::string>& metadata) {
  json header = {{"__metadata__", metadata}};
  std::size_t begin = 0;
  for (const PlacedTensor& tensor : tensors) {
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
  std::vector<PlacedTensor> tensors;
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
  TRY(Head head, read_head(file));
  return std::move(head.tensors);
}

Result<std::map<std::string, std::string>> read_safetensors_metadata(std::string_view bytes) {
  TRY(Head head, read_head(Payload(nullptr, std::as_bytes(std::span(bytes)))));
  return std::move(head.metadata);
}

Result<Safetensors> read_safetensors(std::string_view bytes) {
  TRY(Head head, read_head(Payload(nullptr, std::as_bytes(std::span(bytes)))));
  Safetensors file;
  file.metadata = std::move(head.metadata);
  for (const PlacedTensor& place : head.tensors) {
    TRY(file.tensors[place.name], read_tensor(place, bytes));
    if (place.type == "F64") file.precision = models::Precision::f64;
  }
  return file;
}

}  // namespace starling::daemon
