// What `compare` keeps of one run: keys, totals and everything that decides whether runs are comparable.
//
// Extracted once per run, so that a hundred runs need the memory of one. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/compare/expression.h"
#include "tools/model/run.h"

namespace slurmscope {

struct RunFacts {
  std::string path, id;          // id: the job and step, or the folder
  RunKeys keys;
  double wall_s = 0;
  int64_t start_ns = 0;
  int ranks = 0, nodes = 0;
  std::vector<std::string> hosts;
  std::string app, build_id, exe_hash, partition, vm, mpi_library;
  std::vector<std::string> arguments;            // without argv[0]
  std::map<std::string, std::string> objects;    // MPI, libc, libm, BLAS: base name -> build id
  CategoryTimes categories{};                    // mean over ranks, seconds
  std::map<std::string, double> work;            // "MPI_Send", "MPI_Send bytes", ...: per rank
  std::map<std::string, std::string> config;     // node facts for the list of differences
  std::string bad_end;                           // "" or why this run does not count
  uint64_t calls = 0, lost = 0;
  uint32_t format_major = 0;
  std::string recording;                         // mode and sampling
};

RunFacts extract_facts(const RunModel &run);

}  // namespace slurmscope
