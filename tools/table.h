// What a report hands to an exporter: named columns with units, rows of cells, notes underneath.
//
// Made by tools/report and tools/compare, eaten by tools/export (text, JSON, CSV). A report never
// formats a number and an exporter never computes one, so N reports and M formats are N + M pieces.
// Plain data; no threads, no global state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace slurmscope {

/// How an exporter for people shows a number. Machine formats always carry it in the unit of the column.
enum class ColumnKind {
  kText,      // as it is, left aligned
  kCount,     // whole number
  kBytes,     // bytes, shown with a binary prefix
  kSeconds,   // seconds
  kMicros,    // microseconds
  kPercent,   // per cent
  kPath,      // text that may be long: cut in the middle, left aligned
};

struct Column {
  std::string name;
  std::string unit;   // "s", "us", "bytes", "%", "" ...
  ColumnKind kind = ColumnKind::kText;
};

/// Empty (not known, not applicable), text, a count or a measure.
using Cell = std::variant<std::monostate, std::string, int64_t, uint64_t, double>;

struct Table {
  std::string id;      // stable name for machine formats: "categories", "calls", ...
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;   // each as long as `columns`
  std::vector<std::string> notes;
};

/// A whole page: who and where, then tables, then notes.
struct Page {
  std::string title;
  std::vector<std::pair<std::string, std::string>> head;  // label, value
  std::vector<Table> tables;
  std::vector<std::string> notes;
};

}  // namespace slurmscope
