// Unit tests of what is recorded by its path, and of what sockets are called (profiler/io).
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include "profiler/io/path_rules.h"
#include "profiler/io/socket_text.h"

namespace slurmscope {
namespace {

// (E14)
TEST(PathRules, TheLongestRuleDecidesAndInclusionOfTheSameLength) {
  set_path_rules("/s+/a/b//+/same+tcp:10.1.+/+", "/a/b/c+/same+/proc/self/io+udp:", "/dev/shm/spool/");
  EXPECT_TRUE(is_recorded_path("/same/file"));
  EXPECT_TRUE(is_recorded_path("/a/b/c/d"));
  EXPECT_FALSE(is_recorded_path("/a/b/d"));
  EXPECT_FALSE(is_recorded_path("/a/bc")) << "the rule for / is shorter, but there";
  EXPECT_FALSE(is_recorded_path("/proc/self/status"));
  EXPECT_TRUE(is_recorded_path("/proc/self/io"));
  EXPECT_FALSE(is_recorded_path("/dev/shm/spool/ring-1-1-1"));
  EXPECT_FALSE(is_recorded_path("tcp:10.1.2.3:80"));
  EXPECT_TRUE(is_recorded_path("tcp:10.10.2.3:80"));
  EXPECT_TRUE(is_recorded_path("udp:1.2.3.4:5"));
  set_path_rules("/s", "", "");
  EXPECT_TRUE(is_recorded_path("/scratch/x"));  // not below /s
  EXPECT_FALSE(is_recorded_path("/s/x"));
  EXPECT_TRUE(is_recorded_path("/process"));
}

TEST(PathRules, TheSpoolCannotBeIncluded) {
  set_path_rules("", "/dev/shm/spool/proc-1-0", "/dev/shm/spool");
  EXPECT_FALSE(is_recorded_path("/dev/shm/spool/proc-1-0"));
}

TEST(PathRules, ProgramCodeUnlessIncluded) {
  for (const char *path : {"/lib/libm.so", "/lib/libm.so.6", "/lib/x.so.1.2.3", "/p/a.py", "/p/__pycache__/a.cpython-311.pyc", "/p/__pycache__"})
    EXPECT_TRUE(is_program_code(path)) << path;
  for (const char *path : {"/d/a.sound", "/d/so", "/d/a.so.txt", "/d/results.so1", "/d/a.pyx", "/d/1.2.3", "pipe:"})
    EXPECT_FALSE(is_program_code(path)) << path;
  set_path_rules("", "/mine", "");
  EXPECT_FALSE(is_recorded_path("/lib/libm.so.6"));
  EXPECT_TRUE(is_recorded_path("/mine/plugin.so"));
}

TEST(PathRules, TooManyAreCut) {
  std::string list;
  for (int i = 0; i < 100; i++) list += "/x" + std::to_string(i) + "+";
  set_path_rules(list.c_str(), "", "");
  EXPECT_FALSE(is_recorded_path("/x10/y"));
  EXPECT_TRUE(is_recorded_path("/x99/y"));
  set_path_rules("", "", "");
}

std::string text_of(SocketKind kind, const void *address, size_t size) {
  char text[kSocketTextSize];
  bool names_peer = write_socket_text(kind, address, size, text);
  EXPECT_EQ(names_peer, std::string(text).back() != ':' || std::string(text).find(':') != std::string(text).size() - 1);
  return text;
}

std::string ipv6_text(const char *address) {
  sockaddr_in6 in = {};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(80);
  EXPECT_EQ(inet_pton(AF_INET6, address, &in.sin6_addr), 1);
  return text_of(SocketKind::kTcp, &in, sizeof in);
}

TEST(SocketText, Addresses) {
  sockaddr_in in = {};
  in.sin_family = AF_INET;
  in.sin_port = htons(5001);
  inet_pton(AF_INET, "10.0.0.255", &in.sin_addr);
  EXPECT_EQ(text_of(SocketKind::kTcp, &in, sizeof in), "tcp:10.0.0.255:5001");
  EXPECT_EQ(text_of(SocketKind::kUdp, &in, 4), "udp:");
  EXPECT_EQ(text_of(SocketKind::kTcp, nullptr, 0), "tcp:");
  EXPECT_EQ(ipv6_text("::1"), "tcp:[::1]:80");
  EXPECT_EQ(ipv6_text("::"), "tcp:[::]:80");
  EXPECT_EQ(ipv6_text("fe80::1:0:0:2"), "tcp:[fe80::1:0:0:2]:80");
  EXPECT_EQ(ipv6_text("1:0:2:3:4:5:6:7"), "tcp:[1:0:2:3:4:5:6:7]:80");
  EXPECT_EQ(ipv6_text("1:2:3:4:5:6:0:0"), "tcp:[1:2:3:4:5:6::]:80");
  EXPECT_EQ(ipv6_text("::ffff:1.2.3.4"), "tcp:1.2.3.4:80");
}

TEST(SocketText, LocalOnes) {
  sockaddr_un un = {};
  un.sun_family = AF_UNIX;
  strcpy(un.sun_path, "/run/x");
  EXPECT_EQ(text_of(SocketKind::kUnix, &un, sizeof un), "unix:/run/x");
  EXPECT_EQ(text_of(SocketKind::kUnix, &un, sizeof(sa_family_t)), "unix:");
  memcpy(un.sun_path, "\0name", 5);
  EXPECT_EQ(text_of(SocketKind::kUnix, &un, sizeof(sa_family_t) + 5), "unix:@name");
  memset(un.sun_path, 'x', sizeof un.sun_path);
  EXPECT_EQ(text_of(SocketKind::kUnix, &un, 5000).size(), 5 + sizeof un.sun_path);
}

TEST(SocketText, Kinds) {
  EXPECT_EQ(socket_kind(AF_INET, SOCK_STREAM), SocketKind::kTcp);
  EXPECT_EQ(socket_kind(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC), SocketKind::kUdp);
  EXPECT_EQ(socket_kind(AF_UNIX, SOCK_DGRAM), SocketKind::kUnix);
  EXPECT_EQ(socket_kind(AF_NETLINK, SOCK_RAW), SocketKind::kNetlink);
  EXPECT_EQ(socket_kind(12345, SOCK_STREAM), SocketKind::kOther);
}

}  // namespace
}  // namespace slurmscope
