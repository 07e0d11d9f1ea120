// Where time goes: the categories of the report, as one list.
//
// Exhaustive and exclusive: per rank they sum to the wall time of the run. Wait states, noise and the
// latency/bandwidth split need matched events; until an analysis supplies them, time inside a blocking
// call stays under that call's kind, and the names say so.
#pragma once

#include <array>
#include <cstddef>

#include "proto/slurmscope.pb.h"

namespace slurmscope {

enum class Category : size_t {
  kCompute = 0,
  kPointToPoint,
  kCollectives,
  kWait,
  kOneSided,
  kSetup,
  kIoData,
  kIoMetadata,
  kSockets,
  kTool,
  kSkew,
  kOverlap,
  kCount
};
constexpr size_t kCategoryCount = static_cast<size_t>(Category::kCount);

struct CategoryInfo {
  const char *key;    // in JSON
  const char *title;  // for people
};
inline constexpr std::array<CategoryInfo, kCategoryCount> kCategories{{
    {"compute", "compute (outside MPI and I/O)"},
    {"p2p", "MPI point-to-point"},
    {"collectives", "MPI collectives"},
    {"wait", "MPI wait/test"},
    {"one_sided", "MPI one-sided"},
    {"setup", "MPI setup"},
    {"io_data", "I/O data"},
    {"io_metadata", "I/O metadata"},
    {"sockets", "sockets"},
    {"tool", "tool (stalls)"},
    {"skew", "start/end skew"},
    {"overlap", "overlap of threads"},
}};

using CategoryTimes = std::array<double, kCategoryCount>;

/// The category in which a call's time is shown.
Category category_of(v1::CallClass call_class);
/// Communication, setup and local MPI calls; MPI-IO counts as I/O.
bool is_mpi(v1::CallClass call_class);
bool is_mpi_io(v1::CallClass call_class);
/// POSIX, stdio and MPI-IO.
bool is_io(v1::CallClass call_class);
bool is_socket(v1::CallClass call_class);

}  // namespace slurmscope
