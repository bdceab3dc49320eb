#include "daemon/rest/csv_rows.h"

#include "base/text.h"
#include "daemon/rest/status_json.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

std::string csv_value(const json& object, const char* name) {
  const auto value = object.find(name);
  if (value == object.end() || value->is_null()) return {};
  return csv_field(value->is_string() ? value->get<std::string>() : to_text(*value));
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
    text += csv_field(node);
    for (const char* column : columns) text.append(",").append(csv_value(object, column));
    text += "\r\n";
  }
}

}  // namespace starling::daemon
