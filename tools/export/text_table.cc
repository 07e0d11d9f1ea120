// A page as text for people; see exporters.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/export/exporters.h"

namespace slurmscope {
namespace {

constexpr size_t kLineWidth = 100;
constexpr size_t kHeadLabelWidth = 11;
constexpr size_t kTextWidth = 48;
constexpr size_t kPathWidth = 44;

bool is_left(ColumnKind kind) { return kind == ColumnKind::kText || kind == ColumnKind::kPath; }

std::string number_text(double value, ColumnKind kind) {
  if (!std::isfinite(value)) return "-";
  switch (kind) {
    case ColumnKind::kBytes: return bytes_text(value);
    case ColumnKind::kSeconds: return seconds_text(value);
    case ColumnKind::kMicros: return fmt::format("{:.{}f}", value, value >= 1000 ? 0 : value >= 100 ? 1 : 2);
    case ColumnKind::kPercent: return fmt::format("{:.1f}%", value);
    default: return fmt::format("{:g}", value);
  }
}

std::string cell_text(const Cell &cell, const Column &column) {
  struct Show {
    const Column &column;
    std::string operator()(std::monostate) const { return is_left(column.kind) ? "" : "-"; }
    std::string operator()(const std::string &text) const {
      return cut_middle(printable(text), column.kind == ColumnKind::kPath ? kPathWidth : kTextWidth);
    }
    std::string operator()(int64_t value) const {
      if (column.kind == ColumnKind::kCount)
        return value < 0 ? "-" + grouped(0 - static_cast<uint64_t>(value)) : grouped(static_cast<uint64_t>(value));
      return number_text(static_cast<double>(value), column.kind);
    }
    std::string operator()(uint64_t value) const {
      if (column.kind == ColumnKind::kCount) return grouped(value);
      return number_text(static_cast<double>(value), column.kind);
    }
    std::string operator()(double value) const { return number_text(value, column.kind); }
  };
  return std::visit(Show{column}, cell);
}

std::string padded(const std::string &text, size_t width, bool left) {
  size_t have = text_width(text);
  std::string space(width > have ? width - have : 0, ' ');
  return left ? text + space : space + text;
}

std::string trimmed(std::string line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// Breaks text at spaces to lines of `width`.
std::vector<std::string> wrapped(const std::string &text, size_t width) {
  std::vector<std::string> lines(1);
  size_t at = 0;
  while (at < text.size()) {
    size_t space = text.find(' ', at);
    std::string word = text.substr(at, space == std::string::npos ? space : space - at);
    if (!lines.back().empty() && text_width(lines.back()) + 1 + text_width(word) > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    if (space == std::string::npos) break;
    at = space + 1;
  }
  return lines;
}

std::string labelled(const std::string &label, const std::string &text) {
  std::string result;
  for (const std::string &line : wrapped(printable(text), kLineWidth - kHeadLabelWidth))
    result += trimmed(padded(result.empty() ? label : "", kHeadLabelWidth, true) + line) + "\n";
  return result;
}

}  // namespace

std::string table_text(const Table &table) {
  std::vector<size_t> width;
  std::vector<std::vector<std::string>> cells;
  for (const Column &column : table.columns)
    width.push_back(text_width(column.name) + (column.unit.empty() || column.unit == "bytes" || column.unit == "%"
                                                   ? 0 : text_width(column.unit) + 3));
  for (const std::vector<Cell> &row : table.rows) {
    cells.emplace_back();
    for (size_t i = 0; i < table.columns.size(); ++i) {
      cells.back().push_back(i < row.size() ? cell_text(row[i], table.columns[i]) : "");
      width[i] = std::max(width[i], text_width(cells.back().back()));
    }
  }
  std::string result = table.title + "\n";
  std::string line = "  ";
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column &column = table.columns[i];
    std::string head = column.name;
    if (!column.unit.empty() && column.unit != "bytes" && column.unit != "%") head += " [" + column.unit + "]";
    line += (i ? "  " : "") + padded(head, width[i], is_left(column.kind));
  }
  if (!table.rows.empty()) result += trimmed(line) + "\n";
  for (const std::vector<std::string> &row : cells) {
    line = "  ";
    for (size_t i = 0; i < row.size(); ++i) line += (i ? "  " : "") + padded(row[i], width[i], is_left(table.columns[i].kind));
    result += trimmed(line) + "\n";
  }
  for (const std::string &note : table.notes)
    for (const std::string &part : wrapped(printable(note), kLineWidth - 2)) result += "  " + part + "\n";
  return result;
}

std::string page_text(const Page &page) {
  std::string result = printable(page.title) + "\n";
  for (const auto &[label, text] : page.head) result += labelled(label, text);
  for (const Table &table : page.tables) result += "\n" + table_text(table);
  if (!page.notes.empty()) {
    result += "\nNOTES\n";
    for (const std::string &note : page.notes) {
      bool first = true;
      for (const std::string &part : wrapped(printable(note), kLineWidth - 4)) {
        result += (first ? "  ! " : "    ") + part + "\n";
        first = false;
      }
    }
  }
  return result;
}

}  // namespace slurmscope
