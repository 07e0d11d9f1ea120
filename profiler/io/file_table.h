// Which file a descriptor or a path means: descriptor -> file id, path -> file id.
//
// Called by the I/O wrappers on recorded calls only. File ids belong to the process and start at 1; the
// first use of one publishes a FileDefinition in the calling thread's definition ring. Everything lives
// in one lazily touched mapping that a fork's child sees zeroed, so that it starts with its own ids.
// Threading: atomics, no locks. Allocation: none after file_table_create(). Signals: all functions may
// run in a handler, as long as the thread's depth is > 0 (they write definitions). errno: kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slurmscope {

constexpr uint32_t kNoFile = 0;                   // not known
constexpr uint32_t kExcludedFile = 0xffffffffu;   // not to be recorded: /proc, /sys, the spool, eventfds and their like
constexpr uint32_t kMaxFiles = 65536;             // the last id stands for all further files

/// Makes the table (one mmap). `spool` is the directory whose files are never recorded. False: no memory.
bool file_table_create(const char *spool);

/// The process that made the table or, in a fork's child, the one that first asked. A vfork's child has
/// another pid but the same memory: it must leave the table alone.
int32_t file_table_owner();

/// The file behind `fd`; asks the kernel (readlink in /proc/self/fd) if it is not known yet.
uint32_t file_of_descriptor(int fd);
/// The same without asking: kNoFile if it is not known.
uint32_t known_file_of_descriptor(int fd);
/// The file at `path` relative to `directory` (a descriptor or AT_FDCWD). If it has no id yet it gets
/// one if `may_add`, else the answer is kNoFile.
uint32_t file_of_path(int directory, const char *path, bool may_add);
/// The nameless file made by O_TMPFILE in the directory at `path`.
uint32_t file_of_unnamed(int directory, const char *path);

/// `fd` now means `file`; kNoFile: find out when it is used.
void set_descriptor(int fd, uint32_t file);
/// `copy` now means what `fd` means.
void copy_descriptor(int fd, int copy);
/// Forgets the descriptors first..last.
void forget_descriptors(unsigned first, unsigned last);

}  // namespace slurmscope
