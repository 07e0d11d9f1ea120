// Text without a C++ runtime: a fixed buffer that can be appended to, and a growing one.
//
// Used by every file of the plugin. HeapText allocates with malloc, which glibc keeps usable in the child
// of a fork; nothing here locks, throws or logs. When memory runs out the text stays as it was and
// is_complete() turns false.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace slurmscope {

/// Copies `text` (NULL: empty) into `buffer`, always terminated. False if it had to be cut.
inline bool copy_text(char *buffer, size_t size, const char *text) {
  if (size == 0) return false;
  size_t length = text == nullptr ? 0 : strlen(text);
  bool fits = length < size;
  if (!fits) length = size - 1;
  if (length > 0) memcpy(buffer, text, length);
  buffer[length] = 0;
  return fits;
}

template <size_t N>
bool copy_text(char (&buffer)[N], const char *text) {
  return copy_text(buffer, N, text);
}

/// A growing, always terminated text.
class HeapText {
 public:
  HeapText() = default;
  HeapText(const HeapText &) = delete;
  HeapText &operator=(const HeapText &) = delete;
  ~HeapText() { free(text_); }

  const char *c_str() const { return text_ == nullptr ? "" : text_; }
  /// NULL as long as nothing was set: "absent", which is not the same as empty.
  const char *or_null() const { return text_; }
  size_t size() const { return size_; }
  bool is_complete() const { return complete_; }

  void clear() {
    free(text_);
    text_ = nullptr;
    size_ = capacity_ = 0;
    complete_ = true;
  }

  void append_bytes(const char *bytes, size_t count) {
    if (!reserve(size_ + count)) return;
    if (count > 0) memcpy(text_ + size_, bytes, count);
    size_ += count;
    text_[size_] = 0;
  }
  void append_text(const char *text) { append_bytes(text, strlen(text)); }
  void set(const char *text) {
    size_ = 0;
    append_text(text);
  }

  __attribute__((format(printf, 2, 3))) void append(const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int count = vsnprintf(nullptr, 0, format, arguments);
    if (count >= 0 && reserve(size_ + static_cast<size_t>(count))) {
      vsnprintf(text_ + size_, static_cast<size_t>(count) + 1, format, again);
      size_ += static_cast<size_t>(count);
    }
    va_end(again);
    va_end(arguments);
  }

  /// Room for `count` bytes and the terminator, for a caller that fills the text itself.
  char *resize(size_t count) {
    if (!reserve(count)) return nullptr;
    size_ = count;
    text_[size_] = 0;
    return text_;
  }

 private:
  bool reserve(size_t count) {
    if (count < capacity_) return true;
    size_t capacity = capacity_ == 0 ? 64 : capacity_;
    while (capacity <= count) capacity *= 2;
    char *text = static_cast<char *>(realloc(text_, capacity));
    if (text == nullptr) {
      complete_ = false;
      return false;
    }
    text_ = text;
    capacity_ = capacity;
    return true;
  }

  char *text_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
  bool complete_ = true;
};

}  // namespace slurmscope
