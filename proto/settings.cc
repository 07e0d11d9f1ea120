// Parser and printer of settings.def. libc only: also compiled into the preload.
#include "proto/settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <strings.h>

namespace slurmscope {
namespace {

struct NumberField {
  const char *name;
  uint64_t Settings::*field;
  uint64_t minimum, maximum, initial;
};
struct TextField {
  const char *name;
  char (Settings::*field)[Settings::kTextSize];
  const char *initial;
};

constexpr NumberField kNumbers[] = {
#define NUMBER(name, initial, minimum, maximum, help) {#name, &Settings::name, minimum, maximum, initial},
#define TEXT(name, initial, help)
#include "proto/settings.def"
#undef NUMBER
#undef TEXT
};
constexpr TextField kTexts[] = {
#define NUMBER(name, initial, minimum, maximum, help)
#define TEXT(name, initial, help) {#name, &Settings::name, initial},
#include "proto/settings.def"
#undef NUMBER
#undef TEXT
};
constexpr const char kNames[] =
#define NUMBER(name, initial, minimum, maximum, help) " " #name
#define TEXT(name, initial, help) " " #name
#include "proto/settings.def"
    ;
#undef NUMBER
#undef TEXT
constexpr const char *kModes[] = {"off", "summary", "trace"};

struct Word {
  const char *text;
  size_t size;
  bool is(const char *other) const { return strlen(other) == size && strncasecmp(text, other, size) == 0; }
};

// Reads all of `word` as a decimal number; false if it is anything else.
bool parse_number(Word word, uint64_t *value) {
  uint64_t number = 0;
  if (word.size == 0 || word.size > 18) return false;
  for (size_t i = 0; i < word.size; i++) {
    if (word.text[i] < '0' || word.text[i] > '9') return false;
    number = number * 10 + static_cast<uint64_t>(word.text[i] - '0');
  }
  *value = number;
  return true;
}

class ErrorText {
 public:
  ErrorText(char *text, size_t size) : text_(text), size_(size) {
    if (size_ > 0) text_[0] = 0;
  }
  bool empty() const { return !said_; }
  template <typename... Args>
  void say(const char *format, Args... args) {
    if (said_) return;
    said_ = true;
    if (size_ > 0) snprintf(text_, size_, format, args...);
  }

 private:
  char *text_;
  size_t size_;
  bool said_ = false;
};

void apply_pair(Word name, Word value, Settings *settings, ErrorText *error) {
  for (const NumberField &entry : kNumbers) {
    if (!name.is(entry.name)) continue;
    uint64_t number = 0;
    if (!parse_number(value, &number) || number < entry.minimum || number > entry.maximum) {
      error->say("%s=%.*s: a number from %llu to %llu is needed", entry.name, static_cast<int>(value.size),
                 value.text, static_cast<unsigned long long>(entry.minimum),
                 static_cast<unsigned long long>(entry.maximum));
      return;
    }
    settings->*entry.field = number;
    return;
  }
  for (const TextField &entry : kTexts) {
    if (!name.is(entry.name)) continue;
    if (value.size >= Settings::kTextSize) {
      error->say("%s: the value is longer than %zu bytes", entry.name, Settings::kTextSize - 1);
      return;
    }
    char *field = settings->*entry.field;
    memcpy(field, value.text, value.size);
    field[value.size] = 0;
    return;
  }
  error->say("unknown setting '%.*s' (known:%s)", static_cast<int>(name.size < 64 ? name.size : 64), name.text,
             kNames);
}

}  // namespace

const char *mode_name(Mode mode) { return kModes[static_cast<int>(mode)]; }

bool list_contains(const char *list, const char *word) {
  size_t size = strlen(word);
  if (size == 0) return false;
  for (const char *at = list; *at != 0;) {
    size_t length = strcspn(at, "+");
    if (length == size && memcmp(at, word, size) == 0) return true;
    at += length;
    if (*at == '+') at++;
  }
  return false;
}

void set_no_limits(Settings *settings) {
  *settings = Settings();
  for (const NumberField &entry : kNumbers) settings->*entry.field = entry.maximum;
  for (const TextField &entry : kTexts) (settings->*entry.field)[0] = 0;
}

bool lower_settings(Settings *settings, const Settings &limits, char *said, size_t size) {
  size_t used = 0;
  bool is_lowered = false;
  auto say = [&](const char *format, auto... args) {
    int n = used < size ? snprintf(said + used, size - used, format, is_lowered ? ", " : "", args...) : 0;
    if (n > 0) used += static_cast<size_t>(n);
    is_lowered = true;
  };
  if (size > 0) said[0] = 0;
  if (settings->mode > limits.mode) {
    settings->mode = limits.mode;
    say("%s%s", mode_name(limits.mode));
  }
  for (const NumberField &entry : kNumbers) {
    if (settings->*entry.field <= limits.*entry.field) continue;
    settings->*entry.field = limits.*entry.field;
    say("%s%s=%llu", entry.name, static_cast<unsigned long long>(limits.*entry.field));
  }
  return is_lowered;
}

bool join_lists(char *list, size_t size, const char *first) {
  char joined[Settings::kTextSize];
  size_t used = 0;
  bool fits = true;
  joined[0] = 0;
  const char *lists[] = {first, list};
  for (const char *words : lists) {
    for (const char *at = words; *at != 0;) {
      size_t length = strcspn(at, "+");
      char word[sizeof joined];
      bool has_room = length < sizeof word && used + length + 2 <= sizeof joined && used + length + 2 <= size;
      if (has_room) {
        memcpy(word, at, length);
        word[length] = 0;
      }
      if (!has_room) {
        fits = false;
      } else if (length > 0 && !list_contains(joined, word)) {
        if (used > 0) joined[used++] = '+';
        memcpy(joined + used, word, length + 1);
        used += length;
      }
      at += length;
      if (*at == '+') at++;
    }
  }
  if (used < size) memcpy(list, joined, used + 1);
  return fits;
}

bool parse_settings(const char *text, Settings *settings, char *error_text, size_t error_size) {
  ErrorText error(error_text, error_size);
  if (text == nullptr || *text == 0) {
    settings->mode = Mode::kTrace;
    return true;
  }
  bool first = true;
  for (const char *at = text;; first = false) {
    Word word{at, strcspn(at, ",")};
    const char *equals = static_cast<const char *>(memchr(word.text, '=', word.size));
    if (equals != nullptr) {
      size_t name_size = static_cast<size_t>(equals - word.text);
      apply_pair({word.text, name_size}, {equals + 1, word.size - name_size - 1}, settings, &error);
      if (first) settings->mode = Mode::kTrace;
    } else {
      bool known = false;
      for (int mode = 0; mode < 3; mode++) {
        if (!word.is(kModes[mode])) continue;
        settings->mode = static_cast<Mode>(mode);
        known = true;
      }
      if (!known)
        error.say("'%.*s' is neither off, summary, trace nor name=value",
                  static_cast<int>(word.size < 64 ? word.size : 64), word.text);
    }
    at += word.size;
    if (*at == 0) break;
    at++;
  }
  return error.empty();
}

bool format_settings(const Settings &settings, char *text, size_t size) {
  size_t used = 0;
  auto append = [&](const char *format, auto... args) {
    int n = snprintf(text + used, size - used, format, args...);
    if (n < 0 || static_cast<size_t>(n) >= size - used) return false;
    used += static_cast<size_t>(n);
    return true;
  };
  if (size == 0 || !append("%s", mode_name(settings.mode))) return false;
  for (const NumberField &entry : kNumbers)
    if (settings.*entry.field != entry.initial &&
        !append(",%s=%llu", entry.name, static_cast<unsigned long long>(settings.*entry.field)))
      return false;
  for (const TextField &entry : kTexts)
    if (strcmp(settings.*entry.field, entry.initial) != 0 && !append(",%s=%s", entry.name, settings.*entry.field))
      return false;
  return true;
}

}  // namespace slurmscope
