// Single values as text; see exporters.h.
#include <fmt/format.h>

#include <cmath>

#include "tools/export/exporters.h"

namespace slurmscope {
namespace {

/// Length of the valid UTF-8 sequence at the start of `text`, 0 if it is not one.
size_t sequence_length(std::string_view text) {
  unsigned char c = static_cast<unsigned char>(text[0]);
  size_t length = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  unsigned char second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
  if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f)) return 0;  // overlong, surrogate
  if ((c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f)) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    unsigned char c = static_cast<unsigned char>(text[0]);
    size_t length = sequence_length(text);
    bool c1_control = length == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || c < 0x20 || c == 0x7f || c1_control) {
      size_t escaped = c1_control ? 2 : 1;
      for (size_t i = 0; i < escaped; ++i) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      text.remove_prefix(escaped);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

size_t text_width(std::string_view text) {
  size_t width = 0;
  for (char c : text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

std::string cut_middle(const std::string &text, size_t width) {
  size_t length = text_width(text);
  if (length <= width || width < 8) return text;
  size_t head = (width - 3) / 3, tail = width - 3 - head, at = 0;
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0) == 0x80) ++next;
    if (at == head) result += "...";
    if (at < head || at >= length - tail) result.append(text, i, next - i);
    i = next;
    ++at;
  }
  return result;
}

std::string grouped(uint64_t value) {
  std::string digits = fmt::format("{}", value), result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) result += ' ';
    result += digits[i];
  }
  return result;
}

std::string bytes_text(double bytes) {
  static const char *const kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (std::fabs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{:.{}f} {}", bytes, std::fabs(bytes) < 10 ? 2 : std::fabs(bytes) < 100 ? 1 : 0, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  double size = std::fabs(seconds);
  if (size == 0) return "0";
  return fmt::format("{:.{}f}", seconds, size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : size >= 0.0001 ? 4 : 6);
}

}  // namespace slurmscope
