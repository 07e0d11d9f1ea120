// Whether the application itself calls PAPI.
#pragma once

namespace slurmscope {

/// True if an object of this process, other than the sampler, PAPI and what defines software-defined
/// events with libsde, refers to a function of PAPI. Called once by papi.cc, from a normal context (takes
/// the loader's lock). A program that reaches PAPI by dlsym() alone is not seen.
bool application_uses_papi();

}  // namespace slurmscope
