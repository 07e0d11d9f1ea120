// What `slurmscope record` does around the command: spool directory, drainer, environment, the end.
//
// The counterpart of the SPANK plugin for runs outside Slurm; both talk to the drainer through the same
// files. Called by cmd_record only. Any trouble leaves the command unprofiled, never unstarted.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace slurmscope {

class Recording {
 public:
  struct Request {
    std::string settings;              // canonical text
    std::string output;                // run folder, absolute
    std::vector<std::string> command;
  };
  /// Makes the spool and starts the drainer. Throws Error if that fails; nothing is left behind then.
  explicit Recording(const Request &request);
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;
  ~Recording();

  /// Adds the preload to this process's environment. Called in the child, before exec.
  void set_environment() const;
  /// Tells the drainer how the command ended.
  void note_end(pid_t pid, int wait_status);
  /// Waits until everything is written and the spool is gone. False if something was lost (the drainer
  /// said what on stderr).
  bool finish();

 private:
  void write_step_info(const Request &request) const;
  std::string library_directory_, settings_, spool_;
  bool finished_ = false;
};

/// Forks, runs `command`, forwards signals to it and waits. `prepare` runs in the child before exec.
/// Returns the wait status; a command that cannot be started gives exit code 127 or 126, as in a shell.
struct ChildResult {
  pid_t pid = 0;
  int wait_status = 0;
};
ChildResult run_command(const std::vector<std::string> &command, const Recording *recording);

}  // namespace slurmscope
