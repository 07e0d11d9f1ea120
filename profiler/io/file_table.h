// Which file a descriptor or a path means: descriptor -> file id, path -> file id.
//
// Called by the I/O wrappers on recorded calls only. File ids belong to the process and start at 1; the
// first use of one publishes a FileDefinition in the calling thread's definition ring. Everything lives
// in memory that is mapped when it is first needed (a process that is not recorded has none) and that a
// fork's child sees zeroed, so that it starts with its own ids.
// Threading: atomics, no locks. Allocation: mmap. Signals: all functions may run in a handler, as long as
// the thread's guard is set (they write definitions). errno: kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/io/socket_text.h"

namespace slurmscope {

constexpr uint32_t kNoFile = 0;                   // not known
constexpr uint32_t kExcludedFile = 0xffffffffu;   // not to be recorded: /proc, /sys, the spool, eventfds and their like
constexpr uint32_t kUnknowableFile = 0xfffffffeu; // of a descriptor only: it cannot be found out
constexpr uint32_t kMaxFiles = 65536;             // the last id stands for all further files

// What the table knows of a socket, beside its id in the low bits.
constexpr uint32_t kSocketMark = 1u << 30, kPeerMark = 1u << 29;  // it is one; its peer is known
constexpr uint32_t kSocketKindShift = 24, kFileIdMask = (1u << kSocketKindShift) - 1;

/// For Event::object; of a file that is not excluded.
constexpr uint32_t file_id(uint32_t file) { return file & kFileIdMask; }
constexpr bool is_socket(uint32_t file) { return file < kUnknowableFile && (file & kSocketMark) != 0; }
constexpr bool has_peer(uint32_t file) { return is_socket(file) && (file & kPeerMark) != 0; }

/// The file behind `fd`; asks the kernel (readlink in /proc/self/fd) if it is not known yet.
uint32_t file_of_descriptor(int fd);
/// The same without asking: kNoFile if it is not known, kUnknowableFile if asking is in vain.
uint32_t known_file_of_descriptor(int fd);
/// The file at `path` relative to `directory` (a descriptor or AT_FDCWD). If it has no id yet it gets
/// one if `may_add`, else the answer is kNoFile.
uint32_t file_of_path(int directory, const char *path, bool may_add);
/// The peer at `address` of the socket `fd`, whose file is `socket` (kNoFile: not known).
uint32_t file_of_peer(int fd, uint32_t socket, const void *address, size_t size);
/// The nameless file made by O_TMPFILE in the directory at `path`.
uint32_t file_of_unnamed(int directory, const char *path);

/// `fd` now means `file`; kNoFile: find out when it is used.
void set_descriptor(int fd, uint32_t file);
/// `fd` means `file`, unless it has been given another meaning since it was looked up.
void learn_descriptor(int fd, uint32_t file);
/// `copy` now means what `fd` means.
void copy_descriptor(int fd, int copy);
/// Forgets the descriptors first..last.
void forget_descriptors(unsigned first, unsigned last);

}  // namespace slurmscope
