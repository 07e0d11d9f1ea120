// See category.h.
#include "tools/model/category.h"

namespace slurmscope {

Category category_of(v1::CallClass call_class) {
  switch (call_class) {
    case v1::CLASS_SEND:
    case v1::CLASS_RECEIVE:
    case v1::CLASS_SEND_RECEIVE:
    case v1::CLASS_START_SEND:
    case v1::CLASS_START_RECEIVE:
    case v1::CLASS_PROBE:
    case v1::CLASS_START:
      return Category::kPointToPoint;
    case v1::CLASS_COLLECTIVE:
    case v1::CLASS_START_COLLECTIVE:
      return Category::kCollectives;
    case v1::CLASS_WAIT:
    case v1::CLASS_TEST:
      return Category::kWait;
    case v1::CLASS_ONE_SIDED:
      return Category::kOneSided;
    case v1::CLASS_SETUP:
    case v1::CLASS_LOCAL:
    case v1::CLASS_QUERY:
      return Category::kSetup;
    case v1::CLASS_MPI_IO_DATA:
    case v1::CLASS_MPI_IO_READ:
    case v1::CLASS_MPI_IO_WRITE:
    case v1::CLASS_READ:
    case v1::CLASS_WRITE:
    case v1::CLASS_SYNC:
      return Category::kIoData;
    case v1::CLASS_MPI_IO_METADATA:
    case v1::CLASS_MPI_IO_OPEN:
    case v1::CLASS_MPI_IO_CLOSE:
    case v1::CLASS_OPEN:
    case v1::CLASS_CLOSE:
    case v1::CLASS_SEEK:
    case v1::CLASS_METADATA:
    case v1::CLASS_MAP:
      return Category::kIoMetadata;
    case v1::CLASS_SOCKET_CONNECT:
    case v1::CLASS_SOCKET_RECEIVE:
    case v1::CLASS_SOCKET_SEND:
      return Category::kSockets;
    default:
      // A class of a newer writer: its time cannot be told from the application's own.
      return Category::kCompute;
  }
}

bool is_mpi(v1::CallClass c) {
  return (c >= v1::CLASS_SETUP && c <= v1::CLASS_ONE_SIDED) || (c >= v1::CLASS_LOCAL && c <= v1::CLASS_QUERY);
}

bool is_mpi_io(v1::CallClass c) {
  return c == v1::CLASS_MPI_IO_DATA || c == v1::CLASS_MPI_IO_METADATA ||
         (c >= v1::CLASS_MPI_IO_OPEN && c <= v1::CLASS_MPI_IO_WRITE);
}

bool is_io(v1::CallClass c) { return is_mpi_io(c) || (c >= v1::CLASS_OPEN && c <= v1::CLASS_MAP); }

bool is_socket(v1::CallClass c) { return c >= v1::CLASS_SOCKET_CONNECT && c <= v1::CLASS_SOCKET_SEND; }

}  // namespace slurmscope
