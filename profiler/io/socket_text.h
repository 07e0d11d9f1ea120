// What a socket is called in a profile: its protocol and its peer's address, "tcp:10.0.0.1:5001".
//
// For file_table.cc and its test: no allocation, no system call, no errno.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slurmscope {

enum class SocketKind : uint32_t { kOther = 0, kTcp = 1, kUdp = 2, kUnix = 3, kRaw = 4, kNetlink = 5, kVsock = 6, kCount = 7 };

/// From what socket() or getsockopt(SO_DOMAIN, SO_TYPE) says.
SocketKind socket_kind(int family, int type);

constexpr size_t kSocketTextSize = 192;

/// Writes "tcp:10.0.0.1:5001", "udp:[fe80::1]:53", "unix:/run/x", "unix:@abstract", or without an address (`size` 0, or
/// one that names nobody) "tcp:". An IPv4 address in IPv6's clothes is written as IPv4. `to` has kSocketTextSize bytes.
/// Returns true if the text names a peer.
bool write_socket_text(SocketKind kind, const void *address, size_t size, char *to);

}  // namespace slurmscope
