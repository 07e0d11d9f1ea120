// Changes a trace so that it still is one: whole packets, and values deep inside them.
//
// Called by libFuzzer through fuzz_main.cc. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slurmscope::test {

using MutateBytes = size_t (*)(uint8_t *data, size_t size, size_t max_size);

/// Replaces data[0, size) by a changed trace of at most `max_size` bytes and returns its size. `bytes`
/// changes bytes without knowing what they are.
size_t mutate_trace(uint8_t *data, size_t size, size_t max_size, unsigned seed, MutateBytes bytes);

}  // namespace slurmscope::test
