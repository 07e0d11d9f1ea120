// Bytes of unknown origin (paths, arguments, notes) into the UTF-8 that protobuf's texts must be.
#pragma once

#include <string>
#include <string_view>

namespace slurmscope {

/// `bytes` with everything that is not well-formed UTF-8 written as \xNN.
std::string utf8_text(std::string_view bytes);

}  // namespace slurmscope
