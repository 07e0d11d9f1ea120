// See utf8_text.h.
#include "profiler/drain/utf8_text.h"

#include <cstdint>
#include <cstdio>

namespace slurmscope {
namespace {

// Length of the well-formed sequence at the start of `bytes`; 0 if there is none.
size_t sequence_length(std::string_view bytes) {
  auto byte = [bytes](size_t i) -> uint32_t { return static_cast<unsigned char>(bytes[i]); };
  uint32_t first = byte(0);
  if (first < 0x80) return 1;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; i++)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  uint32_t second = byte(1);  // overlong forms, surrogates, beyond U+10FFFF
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

}  // namespace

std::string utf8_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    size_t length = sequence_length(bytes);
    if (length == 0) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(bytes[0])));
      text += escaped;
      length = 1;
    } else {
      text.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(length);
  }
  return text;
}

}  // namespace slurmscope
