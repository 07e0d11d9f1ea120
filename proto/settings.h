// The settings of one run: what `--slurmscope=`, the SLURMSCOPE variable and the site default say.
//
// Called by the SPANK plugin (to check a user's value), by `slurmscope record`, by the drainer and by
// the preload. Plain functions over fixed-size storage: libc only, no allocation, no locks, so the
// preload may call them in the application's process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slurmscope {

enum class Mode : int { kOff = 0, kSummary = 1, kTrace = 2 };

struct Settings {
  static constexpr size_t kTextSize = 1024;
  Mode mode = Mode::kTrace;
#define NUMBER(name, initial, minimum, maximum, help) uint64_t name = initial;
#define TEXT(name, initial, help) char name[kTextSize] = initial;
#include "proto/settings.def"
#undef NUMBER
#undef TEXT
};

/// Parses `MODE[,name=value...]` over what `settings` already holds; an empty text or NULL means
/// "trace". Returns true if every word was understood. Otherwise returns false, leaves the words that
/// were understood applied, and writes to `error` (at most `error_size` bytes, always terminated) one
/// sentence that names the first bad word and what is allowed.
bool parse_settings(const char *text, Settings *settings, char *error, size_t error_size);

/// Writes the canonical text of `settings` (mode, then every setting that differs from its default),
/// such that parse_settings() gives the same settings back. Returns false if `size` is too small.
bool format_settings(const Settings &settings, char *text, size_t size);

/// Makes limits of `settings` that limit nothing: mode trace, each number its maximum, no texts.
void set_no_limits(Settings *settings);

/// Lowers the mode and each number of `settings` that is above that of `limits`. Returns whether any was, and
/// writes the new values, "summary, ring_kib=1024", to `said` (at most `size` bytes, always terminated).
bool lower_settings(Settings *settings, const Settings &limits, char *said, size_t size);

/// Puts the words of `first`, a '+'-joined list, in front of those of `list` (`size` bytes), each once. False if
/// they do not all fit; then those of `first` are in it and as many of the others as there is room for.
bool join_lists(char *list, size_t size, const char *first);

/// "off", "summary" or "trace".
const char *mode_name(Mode mode);

/// True if `word` is one of the words of the '+'-joined `list`.
bool list_contains(const char *list, const char *word);

}  // namespace slurmscope
