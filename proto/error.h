// The one exception of the tools and the drainer: a sentence that says what failed, on what, and what
// to do next. Caught once, in main.
#pragma once

#include <stdexcept>

namespace slurmscope {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace slurmscope
