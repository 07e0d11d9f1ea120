/* Parts of known_io, continued: sockets. All ends are in this thread, so that the order is known. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "known_io.h"

static struct sockaddr_in bound(int fd) { /* to a free port of this machine */
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && getsockname(fd, (struct sockaddr *)&address, &size) == 0);
  return address;
}

/* Bytes by peer, through every call; descriptors are closed and the numbers mean something else. */
void streamed(void) {
  struct sockaddr_in peer;
  socklen_t size = sizeof peer;
  struct iovec parts[2] = {{buffer, 30}, {buffer, 20}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  size_t n = 40 + zero;
  char small[64];
  int listening = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = bound(listening);
  CHECK(listening == 3 && client == 4 && listen(listening, 5) == 0);
  CHECK(send(client, buffer, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
  CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
  int server = accept(listening, (struct sockaddr *)&peer, &size);
  CHECK(server == 5 && write(client, buffer, 100) == 100 && send(client, buffer, 50, 0) == 50);
  CHECK(writev(client, parts, 2) == 50 && sendmsg(client, &message, 0) == 50 && sendto(client, buffer, 40, 0, NULL, 0) == 40);
  CHECK(recv(server, buffer, 100, MSG_PEEK) == 100 && read(server, buffer, 100) == 100); /* peeked at: not moved */
  CHECK(recv(server, small, n, MSG_WAITALL) == 40 && recvfrom(server, buffer, 10, 0, NULL, NULL) == 10);
  CHECK(readv(server, parts, 2) == 50 && recvmsg(server, &message, 0) == 50 && recv(server, buffer, 99, 0) == 40);
  CHECK(recv(server, buffer, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  int file = open("data", O_CREAT | O_RDWR, 0600);
  CHECK(file == 6 && write(file, buffer, 500) == 500 && lseek(file, 0, SEEK_SET) == 0 && sendfile(client, file, NULL, 500) == 500);
  CHECK(recv(server, buffer, 600, MSG_WAITALL | MSG_DONTWAIT) == 500 && close(client) == 0 && recv(server, buffer, 1, 0) == 0);
  CHECK(dup2(file, server) == server && write(server, buffer, 7) == 7 && close(file) == 0 && close(server) == 0); /* a file now */
  CHECK(close(listening) == 0);
  client = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(client == 3 && connect(client, (struct sockaddr *)&address, sizeof address) == -1 && errno == ECONNREFUSED);
  CHECK(close(client) == 0 && unlink("data") == 0);
  snprintf(small, sizeof small, "port%d", ntohs(address.sin_port)); /* tells the test which it was */
  CHECK(mkdir(small, 0700) == 0 && rmdir(small) == 0);
}

void datagrams(void) {
  struct iovec part = {buffer, 25};
  struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}}};
  struct sockaddr_in from;
  socklen_t size = sizeof from;
  int one = socket(AF_INET, SOCK_DGRAM, 0), two = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in first = bound(one), second = bound(two);
  struct msghdr message = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &part, .msg_iovlen = 1};
  CHECK(one == 3 && two == 4 && sendto(one, buffer, 60, 0, (struct sockaddr *)&second, sizeof second) == 60);
  CHECK(recvfrom(two, buffer, 100, 0, (struct sockaddr *)&from, &size) == 60 && from.sin_port == first.sin_port);
  CHECK(sendto(one, buffer, 10, 0, (struct sockaddr *)&second, sizeof second) == 10 && recvmsg(two, &message, 0) == 10);
  CHECK(sendto(one, buffer, 5, 0, (struct sockaddr *)&second, sizeof second) == 5 && recv(two, buffer, 100, 0) == 5);
  CHECK(connect(one, (struct sockaddr *)&second, sizeof second) == 0 && sendmmsg(one, messages, 2, 0) == 2);
  CHECK(recvmmsg(two, messages, 2, 0, NULL) == 2 && close(one) == 0 && close(two) == 0);
}

void local_sockets(void) {
  struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "meet"};
  int listening = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0), pair[2];
  CHECK(listening == 3 && bind(listening, (struct sockaddr *)&path, sizeof path) == 0 && listen(listening, 5) == 0);
  CHECK(connect(client, (struct sockaddr *)&path, sizeof path) == 0 && client == 4);
  int server = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
  CHECK(server == 5 && send(client, buffer, 12, 0) == 12 && recv(server, buffer, 100, 0) == 12);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && write(pair[0], buffer, 3) == 3 && read(pair[1], buffer, 9) == 3);
  CHECK(connect(99, (struct sockaddr *)&path, sizeof path) == -1 && errno == EBADF);
  closefrom(3);
  CHECK(unlink("meet") == 0);
}
