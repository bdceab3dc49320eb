// csv_rows: JSON objects of nodes as a table, as RFC 4180 has it: lines end with CR LF, and a
// missing value is an empty field.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace starling::daemon {

// Of a convergence series.
inline constexpr std::array kPointColumns = {
    "round",    "time_s", "loss",     "held_out_loss",
    "accuracy", "rmse",   "distance", "distance_to_optimum",
    "bytes"};

// "node,round,…"
std::string csv_header(std::span<const char* const> columns);
void put_csv_rows(std::string& text, const std::string& node,
                  std::span<const nlohmann::json> objects, std::span<const char* const> columns);

}  // namespace starling::daemon
