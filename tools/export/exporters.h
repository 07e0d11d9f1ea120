// Tables to text, JSON and CSV.
//
// Called by commands with what report and compare returned. Pure: they return the bytes to print.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/table.h"

namespace slurmscope {

/// For people, about 100 columns wide.
std::string page_text(const Page &page);
std::string table_text(const Table &table);
/// {"id","title","columns":[{"name","unit"}],"rows":[[...]],"notes":[...]}, numbers in the columns' units.
nlohmann::ordered_json table_json(const Table &table);
/// RFC 4180 with a header line; numbers in the columns' units.
std::string table_csv(const Table &table);

/// Text with control characters and broken UTF-8 as \xNN: no file name may steer a terminal.
std::string printable(std::string_view text);
/// At most `width` characters, the middle replaced by "...".
std::string cut_middle(const std::string &text, size_t width);
/// Characters, not bytes.
size_t text_width(std::string_view text);
/// 12345678 -> "12 345 678".
std::string grouped(uint64_t value);
/// A number of bytes with a binary prefix, e.g. "1.5 MiB".
std::string bytes_text(double bytes);
/// Seconds with as many digits as are of use: "412.6", "0.0213".
std::string seconds_text(double seconds);
/// JSON text that ends with a newline; broken UTF-8 is replaced, never an exception.
std::string json_text(const nlohmann::ordered_json &json);

}  // namespace slurmscope
