// Where in the program MPI time is spent: calls by the way through the program that led to them.
//
// Called by the report. The same place of all ranks is one site, wherever their objects were mapped. Frames inside
// the MPI library (its Fortran bindings) are left out: a site begins in the program.
#pragma once

#include <string>
#include <vector>

#include "tools/model/run.h"
#include "tools/model/symbols.h"

namespace slurmscope {

struct CallSiteTotals {
  std::string call;
  std::vector<Symbolizer::Place> path;  // innermost first; empty: not known
  bool is_truncated = false;            // the path goes on
  uint64_t count = 0, bytes = 0;
  double seconds = 0;
};

struct CallSites {
  std::vector<CallSiteTotals> sites;    // most time first
  double mpi_seconds = 0;               // of all of them
  std::vector<std::string> complaints;  // why places have no names
};

/// MPI calls (without MPI-IO) of all ranks of the world.
CallSites call_sites(const World &world);

}  // namespace slurmscope
