// Versions of what parts exchange. Bump kRingVersion when ring.h or event.h changes in layout or
// meaning; bump kFormatMajor when an older reader would misread a newer file, kFormatMinor when it
// would only miss something (see FORMAT.md, "Version changes").
#pragma once

#include <cstdint>

namespace slurmscope {
constexpr uint32_t kRingVersion = 4;
constexpr uint32_t kFormatMajor = 1;
constexpr uint32_t kFormatMinor = 3;
}  // namespace slurmscope
