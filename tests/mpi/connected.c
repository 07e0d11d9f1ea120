/* Two processes of one world that meet as strangers: by port (accept, connect) and by socket (join); 2 ranks.
   Prints "OK connected" on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <unistd.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "connected.c:%d: wrong result\n", __LINE__);    \
      MPI_Abort(MPI_COMM_WORLD, 1);                                   \
    }                                                                 \
  } while (0)

int main(int argc, char **argv) {
  char port[MPI_MAX_PORT_NAME] = "";
  int me, size, number = -1;
  MPI_Comm stranger;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2);
  if (me == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (me == 0) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &stranger);
    MPI_Send(&me, 1, MPI_INT, 0, 1, stranger); /* 4 bytes each way */
    MPI_Recv(&number, 1, MPI_INT, 0, 1, stranger, MPI_STATUS_IGNORE);
    CHECK(number == 1);
  } else {
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &stranger);
    MPI_Recv(&number, 1, MPI_INT, 0, 1, stranger, MPI_STATUS_IGNORE);
    MPI_Send(&me, 1, MPI_INT, 0, 1, stranger);
    CHECK(number == 0);
  }
  MPI_Comm_disconnect(&stranger);
  if (me == 0) MPI_Close_port(port);
  MPI_Barrier(MPI_COMM_WORLD);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof(address);
  if (me == 0) {
    CHECK(bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 1) == 0);
    getsockname(fd, (struct sockaddr *)&address, &length);
  }
  MPI_Bcast(&address, sizeof(address), MPI_BYTE, 0, MPI_COMM_WORLD);
  int line = fd;
  if (me == 0) line = accept(fd, NULL, NULL);
  else CHECK(connect(fd, (struct sockaddr *)&address, length) == 0);
  MPI_Comm_join(line, &stranger);
  CHECK(stranger != MPI_COMM_NULL);
  MPI_Sendrecv(&me, 1, MPI_INT, 0, 2, &number, 1, MPI_INT, 0, 2, stranger, MPI_STATUS_IGNORE);
  CHECK(number == 1 - me);
  MPI_Comm_disconnect(&stranger);
  if (me == 0) puts("OK connected");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
