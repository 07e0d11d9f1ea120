// See socket_text.h.
#include "profiler/io/socket_text.h"

#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace slurmscope {
namespace {

constexpr const char *kPrefixes[] = {"socket:", "tcp:", "udp:", "unix:", "raw:", "netlink:", "vsock:"};
static_assert(sizeof kPrefixes / sizeof *kPrefixes == static_cast<size_t>(SocketKind::kCount));

char *put_number(char *to, unsigned value, unsigned base) {
  char digits[12];
  int count = 0;
  do digits[count++] = "0123456789abcdef"[value % base];
  while ((value /= base) != 0);
  while (count > 0) *to++ = digits[--count];
  return to;
}

char *put_port(char *to, uint16_t network_order) {
  *to++ = ':';
  return put_number(to, ntohs(network_order), 10);
}

char *put_ipv4(char *to, const uint8_t (&bytes)[4]) {
  for (int i = 0; i < 4; i++) {
    if (i != 0) *to++ = '.';
    to = put_number(to, bytes[i], 10);
  }
  return to;
}

// As RFC 5952: the longest run of two or more zero groups becomes "::".
char *put_ipv6(char *to, const in6_addr &address) {
  unsigned groups[8];
  for (int i = 0; i < 8; i++) groups[i] = address.s6_addr[2 * i] * 256u + address.s6_addr[2 * i + 1];
  int gap = -1, gap_size = 1;
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && groups[end] == 0) end++;
    if (end - i > gap_size) gap = i, gap_size = end - i;
    i = end + 1;
  }
  *to++ = '[';
  for (int i = 0; i < 8; i++) {
    if (i == gap) {
      *to++ = ':';
      *to++ = ':';
      i += gap_size - 1;
      continue;
    }
    if (i != 0 && to[-1] != ':') *to++ = ':';
    to = put_number(to, groups[i], 16);
  }
  *to++ = ']';
  return to;
}

}  // namespace

SocketKind socket_kind(int family, int type) {
  constexpr int kTypeMask = 0xf;  // beside it are SOCK_CLOEXEC and SOCK_NONBLOCK
  if (family == AF_UNIX) return SocketKind::kUnix;
  if (family == AF_NETLINK) return SocketKind::kNetlink;
  if (family == AF_VSOCK) return SocketKind::kVsock;
  if (family != AF_INET && family != AF_INET6) return SocketKind::kOther;
  switch (type & kTypeMask) {
    case SOCK_STREAM: return SocketKind::kTcp;
    case SOCK_DGRAM: return SocketKind::kUdp;
    case SOCK_RAW: return SocketKind::kRaw;
    default: return SocketKind::kOther;
  }
}

bool write_socket_text(SocketKind kind, const void *address, size_t size, char *to) {
  const char *prefix = kPrefixes[static_cast<size_t>(kind)];
  size_t length = strlen(prefix);
  memcpy(to, prefix, length + 1);
  to += length;
  const char *start = to;
  sa_family_t family = AF_UNSPEC;
  if (size >= sizeof family) memcpy(&family, address, sizeof family);
  if (family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    memcpy(&in, address, sizeof in);
    uint8_t bytes[4];
    memcpy(bytes, &in.sin_addr, sizeof bytes);
    to = put_port(put_ipv4(to, bytes), in.sin_port);
  } else if (family == AF_INET6 && size >= offsetof(sockaddr_in6, sin6_scope_id)) {
    sockaddr_in6 in = {};
    memcpy(&in, address, size < sizeof in ? size : sizeof in);
    uint8_t bytes[4];
    memcpy(bytes, in.sin6_addr.s6_addr + 12, sizeof bytes);
    to = put_port(IN6_IS_ADDR_V4MAPPED(&in.sin6_addr) ? put_ipv4(to, bytes) : put_ipv6(to, in.sin6_addr), in.sin6_port);
  } else if (family == AF_UNIX && size > offsetof(sockaddr_un, sun_path)) {
    const char *path = static_cast<const char *>(address) + offsetof(sockaddr_un, sun_path);
    size_t room = size - offsetof(sockaddr_un, sun_path);
    if (room > sizeof(sockaddr_un::sun_path)) room = sizeof(sockaddr_un::sun_path);
    bool is_abstract = path[0] == '\0' && room > 1;
    if (is_abstract) *to++ = '@', path++, room--;
    size_t used = is_abstract ? room : strnlen(path, room);
    for (size_t i = 0; i < used; i++) *to++ = path[i] != '\0' ? path[i] : '@';
  }
  *to = '\0';
  return to != start;
}

}  // namespace slurmscope
