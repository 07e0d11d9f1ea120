// From the name of an intercepted function to the function behind us. See resolve.cc.
#pragma once

#include <cstddef>

namespace slurmscope {

/// Writes the path of `file` in the directory that this library was loaded from. False: unknown.
bool path_beside_us(const char *file, char *path, size_t size);

/// Points the thunks of longjmp, vfork, clone and dlsym at libc.
void resolve_libc();

}  // namespace slurmscope
