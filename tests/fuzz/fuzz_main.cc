// The fuzzer: libFuzzer's entry points for all targets. The program's name says which one it is.
//
// Built by fuzz.mk, run by run_targets. Single-threaded.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/hostile_input.h"
#include "tests/fuzz/trace_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

namespace {
const slurmscope::test::HostileTarget *target;
}

extern "C" int LLVMFuzzerInitialize(int *, char ***argv) {
  const char *slash = std::strrchr((*argv)[0], '/'), *name = slash ? slash + 1 : (*argv)[0];
  for (const auto &known : slurmscope::test::kHostileTargets)
    if (std::strcmp(known.name, name) == 0) target = &known;
  if (target) return 0;
  std::fprintf(stderr, "no target named %s\n", name);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  target->feed({reinterpret_cast<const char *>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  if (!target->is_trace()) return LLVMFuzzerMutate(data, size, max_size);
  return slurmscope::test::mutate_trace(data, size, max_size, seed, LLVMFuzzerMutate);
}
