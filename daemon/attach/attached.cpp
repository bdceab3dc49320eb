#include "daemon/attach/attached.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace starling::daemon {
namespace {

// If two regions shared bytes, a write to one would change the other after its check.
Result<void> check_apart(const Hello& hello) {
  std::vector<std::pair<std::string_view, Region>> regions = {{"table", hello.table},
                                                              {"values", hello.values},
                                                              {"correction", hello.correction},
                                                              {"gradient", hello.gradient},
                                                              {"batch", hello.batch}};
  std::erase_if(regions, [](const auto& item) { return item.second.bytes == 0; });
  std::ranges::sort(regions, {}, [](const auto& item) { return item.second.offset; });
  for (std::size_t k = 1; k < regions.size(); ++k)
    if (regions[k].second.offset - regions[k - 1].second.offset < regions[k - 1].second.bytes)
      return fail("regions \"{}\" and \"{}\" overlap", regions[k - 1].first, regions[k].first);
  return {};
}

}  // namespace

Result<std::shared_ptr<const Attached>> attach(Hello hello, const OpenFile& file, pid_t process) {
  TRY(Segment segment, Segment::map(file, hello.segment_bytes));
  if (hello.table.bytes > kTableBytesLimit)
    return fail("the table has {} bytes; expected at most {}", hello.table.bytes, kTableBytesLimit);
  TRY_DO(segment.check("table", hello.table));
  TRY_DO(segment.check("values", hello.values));
  const auto check_like_values = [&](const std::string& what, const Region& region) {
    if (region.bytes == hello.values.bytes) return segment.check(what, region);
    return Result<void>(fail("region \"{}\" has {} bytes and \"values\" has {}; expected the same",
                             what, region.bytes, hello.values.bytes));
  };
  const bool serves = hello.mode == TrainerMode::gradients;
  if (hello.corrects || hello.shifts) TRY_DO(check_like_values("correction", hello.correction));
  if (hello.corrects || serves) TRY_DO(check_like_values("gradient", hello.gradient));
  if (serves) TRY_DO(segment.check("batch", hello.batch));
  TRY_DO(check_apart(hello));
  // A copy: the table must not change after the check.
  const std::span<const std::byte> bytes = segment.at(hello.table);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TRY(TensorTable table, TensorTable::parse(text, hello.values.bytes));
  segment.prepare(hello.values);
  return std::make_shared<const Attached>(std::move(hello), std::move(table), std::move(segment),
                                          process);
}

void for_each_donated(const Attached& trainer,
                      const std::function<void(std::span<std::byte>)>& act) {
  const std::span<std::byte> values = trainer.segment.at(trainer.hello.values);
  for (const TrainerTensor& tensor : trainer.table.tensors())
    if (tensor.role == TensorRole::donor) act(values.subspan(tensor.offset, tensor.bytes()));
}

std::shared_ptr<const std::vector<std::byte>> donated_by(const Attached& trainer) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for_each_donated(trainer, [&](std::span<const std::byte> tensor) {
    bytes->insert(bytes->end(), tensor.begin(), tensor.end());
  });
  return bytes;
}

std::size_t state_limit(const Attached& trainer) {
  return (std::size_t{64} << 20) + 16 * trainer.hello.values.bytes;
}

}  // namespace starling::daemon
