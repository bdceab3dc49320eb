#include "models/data/columns/column_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "models/data/columns/number_cell.h"
#include "models/data/columns/truth.h"
#include "models/data/csv_profile.h"

namespace starling::models {
namespace {

constexpr PartRow kNothing[] = {{"", Content::empty}};
constexpr PartRow kWords[] = {{"", Content::words}};
// A limit is -1 where the cell says "less than", 1 where it says "more than", and 0 elsewhere.
constexpr PartRow kNumber[] = {{"", Content::numbers}, {"(limit)", Content::numbers}};
constexpr PartRow kDate[] = {{"", Content::numbers},
                             {"(month)", Content::words},
                             {"(weekday)", Content::words},
                             {"(hour)", Content::words}};

// Numbers of days are small, so that a model's file keeps them exactly.
constexpr std::array<std::string_view, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};

bool are_nearly_all(std::size_t cells, const ColumnProfile& column) {
  return cells > 0 && static_cast<double>(cells) >= kMostly * static_cast<double>(column.present());
}

// Every cell is missing.
class Nothing final : public ColumnKind {
 public:
  std::string_view name() const override { return "empty"; }
  std::optional<ColumnForm> form_of(const ColumnProfile& column, const TableMarks&) const override {
    return column.present() == 0 ? std::optional(ColumnForm{.kind = this}) : std::nullopt;
  }
  std::span<const PartRow> parts(const ColumnForm&) const override { return kNothing; }
};

// Days since 1970-01-01, with month, weekday and hour, on which much depends that the days do not
// tell a linear model.
class Date final : public ColumnKind {
 public:
  std::string_view name() const override { return "date"; }

  std::optional<ColumnForm> form_of(const ColumnProfile& column,
                                    const TableMarks& table) const override {
    const DateForms& dates = column.forms.dates;
    const bool is_day_first = dates.day_first.count > 0,
               is_month_first = dates.month_first.count > 0;
    if (!are_nearly_all(dates.dates.count, column) || table.is_plain ||
        (is_day_first && is_month_first) ||
        (dates.ambiguous.count > 0 && !is_day_first && !is_month_first))
      return std::nullopt;
    // Eight digits are a number, unless all of them are dates.
    if (dates.compact.count > 0 &&
        (dates.compact.count < column.present() || column.values.size() < kCompactLeast))
      return std::nullopt;
    return ColumnForm{.kind = this,
                      .order = is_month_first ? DateOrder::month_first
                               : is_day_first ? DateOrder::day_first
                                              : DateOrder::unknown,
                      .has_times = dates.has_times};
  }

  std::optional<double> number(std::string_view cell, const ColumnForm& form) const override {
    const auto date = split_date(cell, form.order);
    if (!date) return std::nullopt;
    constexpr double kHoursADay = 24;
    return static_cast<double>(date->day.time_since_epoch().count()) + date->hours / kHoursADay;
  }

  std::span<const PartRow> parts(const ColumnForm& form) const override {
    return std::span(kDate).first(form.has_times ? std::size(kDate) : std::size(kDate) - 1);
  }

  void fill(std::string_view cell, const ColumnForm& form,
            std::span<PartValue> values) const override {
    const auto date = split_date(cell, form.order);
    if (!date) return;
    const std::chrono::year_month_day parts(date->day);
    values[0].word = fmt::format("{:02}", static_cast<unsigned>(parts.month()));
    values[1].word = kWeekdays[std::chrono::weekday(date->day).c_encoding()];
    if (form.has_times)
      values[2].word = fmt::format("{:02}", static_cast<unsigned>(date->hours) % 24);
  }

  std::string show(double number) const override {
    const auto days = std::chrono::sys_days(std::chrono::days(std::lround(std::floor(number))));
    const std::chrono::year_month_day date(days);
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  }

 private:
  // Different numbers of eight digits. Fewer: they may look like dates by chance.
  static constexpr std::size_t kCompactLeast = 5;
};

// Hours since midnight.
class TimeOfDay final : public ColumnKind {
 public:
  std::string_view name() const override { return "time"; }
  std::optional<ColumnForm> form_of(const ColumnProfile& column,
                                    const TableMarks& table) const override {
    return are_nearly_all(column.forms.dates.times.count, column) && !table.is_plain
               ? std::optional(ColumnForm{.kind = this})
               : std::nullopt;
  }
  std::optional<double> number(std::string_view cell, const ColumnForm&) const override {
    return split_time(cell);
  }
  std::span<const PartRow> parts(const ColumnForm&) const override {
    return std::span(kNumber).first(1);
  }
  std::string show(double number) const override {
    const long minutes = std::lround(number * 60);
    return fmt::format("{}:{:02}", minutes / 60, minutes % 60);
  }
};

// Numbers in any form, and limits of detection.
class Number final : public ColumnKind {
 public:
  std::string_view name() const override { return "number"; }

  std::optional<ColumnForm> form_of(const ColumnProfile& column,
                                    const TableMarks& table) const override {
    const NumberForms& forms = column.forms.numbers;
    const std::string unit = forms.common_unit();
    const std::size_t cells = forms.with_unit(unit);
    const bool are_numbers = cells == column.present() || column.is_amount();
    if (!are_nearly_all(cells, column) || !are_numbers || forms.limits.count >= cells ||
        !forms.are_clear(table))
      return std::nullopt;
    return ColumnForm{
        .kind = this,
        .decimal_comma = table.is_set
                             ? table.commas()
                             : forms.comma.count > 0 || (forms.point.count == 0 && table.commas()),
        .unit = unit,
        .has_limits = forms.limits.count > 0};
  }

  std::optional<double> number(std::string_view cell, const ColumnForm& form) const override {
    const auto found = split_number(cell);
    const std::string& unit = form.cell_unit.empty() ? form.unit : form.cell_unit;
    if (!found || (!found->unit.empty() && found->unit != unit)) return std::nullopt;
    const double value = value_of(*found, form.decimal_comma);
    return std::isfinite(value) ? std::optional(value * form.scale) : std::nullopt;
  }

  std::span<const PartRow> parts(const ColumnForm& form) const override {
    return std::span(kNumber).first(form.has_limits ? 2 : 1);
  }

  void fill(std::string_view cell, const ColumnForm&, std::span<PartValue> values) const override {
    const auto found = split_number(cell);
    if (values.empty()) return;
    const char limit = found ? found->limit : 0;
    values[0].number = limit == '<' ? -1 : limit == '>' ? 1 : 0;
  }
};

// Words for true and false. Numbers 1 and 0 stand for them too, where another node has words.
class Boolean final : public ColumnKind {
 public:
  std::string_view name() const override { return "boolean"; }
  std::optional<ColumnForm> form_of(const ColumnProfile& column, const TableMarks&) const override {
    const auto is_truth = [](const std::string& word) { return truth_of(word).has_value(); };
    return column.words.count > 0 && std::ranges::all_of(column.values, is_truth)
               ? std::optional(ColumnForm{.kind = this})
               : std::nullopt;
  }
  std::span<const PartRow> parts(const ColumnForm&) const override { return kWords; }
};

class Words final : public ColumnKind {
 public:
  std::string_view name() const override { return "words"; }
  std::optional<ColumnForm> form_of(const ColumnProfile&, const TableMarks&) const override {
    return ColumnForm{.kind = this};
  }
  std::span<const PartRow> parts(const ColumnForm&) const override { return kWords; }
};

const Nothing kNothingKind;
const Date kDateKind;
const TimeOfDay kTimeKind;
const Number kNumberKind;
const Boolean kBooleanKind;
const Words kWordsKind;

constexpr const ColumnKind* kKinds[] = {&kNothingKind, &kDateKind,    &kTimeKind,
                                        &kNumberKind,  &kBooleanKind, &kWordsKind};

}  // namespace

Content ColumnForm::content() const {
  return kind->parts(*this).front().content;
}

std::string ColumnKind::show(double number) const {
  return fmt::format("{:.6g}", number);
}

std::span<const ColumnKind* const> column_kinds() {
  return kKinds;
}

std::string names_of_kinds() {
  std::vector<std::string_view> names;
  for (const ColumnKind* kind : kKinds)
    if (kind != &kNothingKind) names.push_back(kind->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

const ColumnKind* column_kind_named(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &ColumnKind::name);
  return found == std::end(kKinds) ? nullptr : *found;
}

ColumnForm plain_form(Content content, bool decimal_comma) {
  return {.kind = column_kind_named(content == Content::numbers ? "number"
                                    : content == Content::words ? "words"
                                                                : "empty"),
          .decimal_comma = decimal_comma};
}

std::string part_name(std::string_view column, const PartRow& part) {
  return part.suffix.empty() ? std::string(column) : fmt::format("{} {}", column, part.suffix);
}

}  // namespace starling::models
