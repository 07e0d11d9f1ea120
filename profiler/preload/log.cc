// The only way in which the preload ever prints: one line per trouble, and only when asked to.
//
// Called by attach.cc, lifecycle.cc and resolve.cc. No stdio, no errno, no allocation; any thread.
#include <cstring>

#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"

namespace slurmscope {
namespace {

class Line {
 public:
  void add(const char *text) {
    while (*text != 0 && used_ < sizeof(text_) - 1) text_[used_++] = *text++;
  }
  void add_number(unsigned number) {
    char digits[12];
    size_t first = sizeof(digits) - 1;
    digits[first] = 0;
    do digits[--first] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    add(digits + first);
  }
  void print() {
    text_[used_++] = '\n';
    raw::write(2, text_, used_);
  }

 private:
  char text_[512];
  size_t used_ = 0;
};

}  // namespace

void log_trouble(const char *what, const char *name, int error) {
  if (!start_state.verbose) return;
  Line line;
  line.add("slurmscope: couldn't ");
  line.add(what);
  if (name != nullptr) {
    line.add(" ");
    line.add(name);
  }
  if (error != 0) {
    line.add(": error ");
    line.add_number(static_cast<unsigned>(error < 0 ? -error : error));
  }
  line.print();
}

}  // namespace slurmscope
