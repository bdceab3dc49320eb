#include "daemon/rest/csv_rows.h"

#include "base/text.h"
#include "daemon/rest/status_json.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

std::string csv_value(const json& object, const char* name) {
  const auto value = object.find(name);
  if (value == object.end() || value->is_null()) return {};
  return value->is_string() ? csv_text(value->get<std::string>()) : csv_field(to_text(*value));
}

}  // namespace

std::string csv_header(std::span<const char* const> columns) {
  std::string text = "node";
  for (const char* column : columns) text.append(",").append(column);
  return text + "\r\n";
}

void put_csv_rows(std::string& text, const std::string& node, std::span<const json> objects,
                  std::span<const char* const> columns) {
  for (const json& object : objects) {
    text += csv_text(node);
    for (const char* column : columns) text.append(",").append(csv_value(object, column));
    text += "\r\n";
  }
}

}  // namespace starling::daemon
