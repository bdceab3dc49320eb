#include "daemon/attach/tensor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/process/json_text.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using namespace std::string_view_literals;

constexpr std::array kTensorRoles{"averaged"sv, "statistic"sv, "donor"sv, "local"sv};
constexpr std::array kTypes{"f64"sv, "f32"sv, "f16"sv, "bf16"sv, "i64"sv};
constexpr std::size_t kTensorNameBytesLimit = 512;
constexpr std::size_t kShapeLimit = 16;

std::string_view name_of(TensorRole role) {
  return kTensorRoles[static_cast<std::size_t>(role)];
}

const std::string* text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const json::string_t*>();
}

std::optional<std::uint64_t> whole(const json& value) {
  const auto* const number = value.get_ptr<const json::number_unsigned_t*>();
  return number ? std::optional(*number) : std::nullopt;
}

template <std::size_t N>
Result<std::size_t> one_of(const json& entry, const char* key,
                           const std::array<std::string_view, N>& allowed) {
  const std::string* const text = text_at(entry, key);
  const auto* const found = text ? std::ranges::find(allowed, *text) : allowed.end();
  if (found == allowed.end())
    return fail("its {} is {}; expected one of {}", key,
                text ? fmt::format("\"{}\"", *text) : "missing", fmt::join(allowed, ", "));
  return static_cast<std::size_t>(found - allowed.begin());
}

// Sizes whose product stays below the bytes of the region, so that nothing overflows.
Result<void> read_shape(const json& entry, std::size_t region_bytes, TrainerTensor& tensor) {
  const auto shape = entry.find("shape");
  if (shape == entry.end() || !shape->is_array() || shape->size() > kShapeLimit)
    return fail("its shape is not a list of at most {} sizes", kShapeLimit);
  tensor.numbers = 1;
  for (const json& item : *shape) {
    const auto size = whole(item);
    if (!size || *size > region_bytes)
      return fail("a size of its shape is not a whole number of at most {}", region_bytes);
    tensor.shape.push_back(*size);
    if (*size > 0 && tensor.numbers > region_bytes / *size)
      return fail("it has more numbers than the region \"values\" has bytes ({})", region_bytes);
    tensor.numbers *= *size;
  }
  return {};
}

Result<void> read_place(const json& entry, std::size_t region_bytes, TrainerTensor& tensor) {
  const auto found = entry.find("offset");
  const auto offset = found == entry.end() ? std::nullopt : whole(*found);
  if (!offset || *offset % kSegmentAlignment != 0)
    return fail("its offset is not a multiple of {}", kSegmentAlignment);
  if (tensor.numbers > region_bytes / tensor.width() || *offset > region_bytes - tensor.bytes())
    return fail("it ends behind the region \"values\" ({} bytes)", region_bytes);
  tensor.offset = *offset;
  return {};
}

Result<TrainerTensor> read_tensor(const json& entry, std::size_t region_bytes) {
  if (!entry.is_object()) return fail("it is not an object");
  TrainerTensor tensor{};
  const std::string* const name = text_at(entry, "name");
  if (!name || name->empty() || name->size() > kTensorNameBytesLimit ||
      name->find('\n') != std::string::npos)
    return fail("its name is not a line of 1 to {} bytes", kTensorNameBytesLimit);
  tensor.name = *name;
  TRY(const std::size_t type, one_of(entry, "dtype", kTypes));
  tensor.format = kTypes[type] == "i64" ? nullptr : optim::format_named(kTypes[type]);
  TRY(const std::size_t role, one_of(entry, "role", kTensorRoles));
  tensor.role = static_cast<TensorRole>(role);
  if (tensor.is_exchanged() && !tensor.format)
    return fail("it is {} and of whole numbers; expected f64, f32, f16 or bf16, or the role donor",
                name_of(tensor.role));
  const auto frozen = entry.find("frozen");
  tensor.is_frozen = frozen != entry.end() && frozen->is_boolean() && frozen->get<bool>();
  TRY_DO(read_shape(entry, region_bytes, tensor));
  TRY_DO(read_place(entry, region_bytes, tensor));
  return tensor;
}

Result<void> check_apart(std::span<const TrainerTensor> tensors) {
  std::vector<const TrainerTensor*> by_place;
  for (const TrainerTensor& tensor : tensors)
    if (tensor.numbers > 0) by_place.push_back(&tensor);
  std::ranges::sort(by_place, {}, &TrainerTensor::offset);
  for (std::size_t k = 1; k < by_place.size(); ++k)
    if (by_place[k - 1]->offset + by_place[k - 1]->bytes() > by_place[k]->offset)
      return fail("tensors \"{}\" and \"{}\" overlap", by_place[k - 1]->name, by_place[k]->name);
  return {};
}

}  // namespace

Result<TensorTable> TensorTable::parse(std::string_view text, std::size_t region_bytes) {
  const json document = parse_json(text);
  if (!document.is_array()) return fail("the table of tensors is not a JSON array");
  if (document.size() > kTensorsLimit)
    return fail("the table has {} tensors; expected at most {}", document.size(), kTensorsLimit);
  TensorTable table;
  std::set<std::string_view> names;
  table.tensors_.reserve(document.size());
  std::size_t dimension = 0;
  for (const json& entry : document) {
    auto tensor = read_tensor(entry, region_bytes);
    if (!tensor) {
      const std::string* const name = entry.is_object() ? text_at(entry, "name") : nullptr;
      return fail("tensor {} (\"{}\"): {}", table.tensors_.size(),
                  name ? name->substr(0, kTensorNameBytesLimit) : "", tensor.error().text);
    }
    table.tensors_.push_back(*std::move(tensor));
    const TrainerTensor& added = table.tensors_.back();
    if (!names.insert(added.name).second) return fail("two tensors are named \"{}\"", added.name);
    if (!added.is_exchanged()) continue;
    table.blocks_.push_back({added.name, added.shape, dimension});
    dimension += added.numbers;
  }
  if (dimension == 0) return fail("no tensor of the table is averaged");
  TRY_DO(check_apart(table.tensors_));
  return table;
}

std::vector<optim::ParameterBlock> TensorTable::statistics() const {
  std::vector<optim::ParameterBlock> statistics;
  auto block = blocks_.begin();
  for (const TrainerTensor& tensor : tensors_) {
    if (!tensor.is_exchanged()) continue;
    if (tensor.role == TensorRole::statistic) statistics.push_back(*block);
    ++block;
  }
  return statistics;
}

std::size_t TensorTable::donated_bytes() const {
  std::size_t bytes = 0;
  for (const TrainerTensor& tensor : tensors_)
    if (tensor.role == TensorRole::donor) bytes += tensor.bytes();
  return bytes;
}

std::string TensorTable::schema() const {
  std::string text;
  for (const TrainerTensor& tensor : tensors_) {
    if (tensor.role == TensorRole::local) continue;
    text +=
        fmt::format("{} {} {}\n", tensor.name, fmt::join(tensor.shape, "x"), name_of(tensor.role));
  }
  return text;
}

std::string first_difference(std::string_view here, std::string_view there) {
  const std::vector<std::string> own = split(here, '\n'), other = split(there, '\n');
  const std::size_t common = std::min(own.size(), other.size());
  for (std::size_t k = 0; k < common; ++k)
    if (own[k] != other[k])
      return fmt::format("tensor {} is \"{}\" there and \"{}\" here", k, other[k], own[k]);
  return fmt::format("there are {} tensors there and {} here", other.size(), own.size());
}

}  // namespace starling::daemon
