// Plain text functions on paths, for file_table.cc and its test: no allocation, no system call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slurmscope {

constexpr size_t kMaxPath = 4096;

/// Removes "//", "/./" and trailing slashes in place. ".." stays: a symbolic link may stand before it.
void tidy_path(char *path);
/// True if `path` is `directory` or below it; "/ab" is not below "/a".
bool path_is_under(const char *path, const char *directory);
/// What a link in /proc/self/fd says becomes a kind where it is not a file: "socket:[12]" -> "socket:",
/// a terminal -> "tty:". " (deleted)" is cut.
void reduce_to_kind(char *target);
/// "/proc/self/fd/<fd>".
void descriptor_link(int fd, char (&text)[32]);
/// 64 bits, never 0.
uint64_t path_hash(const char *path);

}  // namespace slurmscope
