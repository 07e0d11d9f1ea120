// A table as JSON and CSV; see exporters.h.
#include <fmt/format.h>

#include <cmath>

#include "tools/export/exporters.h"

namespace slurmscope {
namespace {

nlohmann::ordered_json cell_json(const Cell &cell) {
  struct Convert {
    nlohmann::ordered_json operator()(std::monostate) const { return nullptr; }
    nlohmann::ordered_json operator()(const std::string &text) const { return text; }
    nlohmann::ordered_json operator()(int64_t value) const { return value; }
    nlohmann::ordered_json operator()(uint64_t value) const { return value; }
    nlohmann::ordered_json operator()(double value) const {
      if (!std::isfinite(value)) return nullptr;
      return value;
    }
  };
  return std::visit(Convert{}, cell);
}

std::string csv_field(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  result += '"';
  return result;
}

std::string cell_csv(const Cell &cell) {
  struct Convert {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(const std::string &text) const { return csv_field(text); }
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(uint64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
  };
  return std::visit(Convert{}, cell);
}

}  // namespace

nlohmann::ordered_json table_json(const Table &table) {
  nlohmann::ordered_json json;
  json["id"] = table.id;
  json["title"] = table.title;
  json["columns"] = nlohmann::ordered_json::array();
  for (const Column &column : table.columns) json["columns"].push_back({{"name", column.name}, {"unit", column.unit}});
  json["rows"] = nlohmann::ordered_json::array();
  for (const std::vector<Cell> &row : table.rows) {
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const Cell &cell : row) cells.push_back(cell_json(cell));
    json["rows"].push_back(cells);
  }
  json["notes"] = table.notes;
  return json;
}

std::string table_csv(const Table &table) {
  std::string result;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column &column = table.columns[i];
    result += (i ? "," : "") + csv_field(column.unit.empty() || column.unit == column.name ? column.name : fmt::format("{} [{}]", column.name, column.unit));
  }
  result += "\n";
  for (const std::vector<Cell> &row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) result += (i ? "," : "") + cell_csv(row[i]);
    result += "\n";
  }
  return result;
}

std::string json_text(const nlohmann::ordered_json &json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace slurmscope
