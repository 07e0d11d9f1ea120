/* MPI-IO by shared pointer, in order, split in begin and end, and collective, on 2 ranks. What it does is in
   files.json. usage: files FILE; prints "OK files" on rank 0 if all data arrived right. (G19) */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "files.c:%d: wrong result\n", __LINE__);    \
      MPI_Abort(MPI_COMM_WORLD, 1);                               \
    }                                                             \
  } while (0)

int main(int argc, char **argv) {
  int me, size, out[8], in[8];
  MPI_File file;
  MPI_Status status;
  MPI_Request request;
  MPI_Offset length, place;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2 && argc == 2);
  for (int i = 0; i < 8; i++) out[i] = 100 * me + i;
  CHECK(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  CHECK(MPI_File_write_ordered(file, out, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS); /* 16 bytes */
  MPI_File_get_position_shared(file, &place);
  CHECK(place == 8);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_write_shared(file, out, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS); /* 8 bytes, in any order */
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
  CHECK(MPI_File_read_ordered(file, in, 4, MPI_INT, &status) == MPI_SUCCESS); /* 16 bytes */
  CHECK(in[3] == 100 * me + 3);
  CHECK(MPI_File_read_shared(file, in, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS); /* 8 bytes */
  CHECK(in[1] == 1 || in[1] == 101);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_iwrite_shared(file, out, 3, MPI_INT, &request) == MPI_SUCCESS); /* 12 bytes */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_get_size(file, &length);
  CHECK(length == 72);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek(file, 4 * me, MPI_SEEK_SET);
  CHECK(MPI_File_read_all(file, in, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS); /* 16 bytes */
  CHECK(in[0] == 100 * me);
  CHECK(MPI_File_write_at_all_begin(file, 18 + 2 * me, out, 2, MPI_INT) == MPI_SUCCESS); /* 8 bytes */
  MPI_File_write_at_all_end(file, out, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  CHECK(MPI_File_read_at_all_begin(file, 18, in, 4, MPI_INT) == MPI_SUCCESS);
  MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE); /* 16 bytes */
  CHECK(in[0] == 0 && in[2] == 100);
  MPI_File_close(&file);
  if (me == 0) CHECK(MPI_File_delete(argv[1], MPI_INFO_NULL) == MPI_SUCCESS);
  if (me == 0) puts("OK files");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
