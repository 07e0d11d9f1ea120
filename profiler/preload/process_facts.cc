// What /proc and the environment tell about this process: fills ProcessFile, knows launchers and shells.
//
// Called by attach.cc, once per recorded process and by one thread at a time: buffers are static, because the stack may be
// a signal handler's few kilobytes. The environment is read from /proc/self/environ, as
// it was at exec: the live one may be changing in another thread. Raw system calls, no allocation.
#include <cpuid.h>
#include <cstring>

#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"

namespace slurmscope {
namespace {

// Whole executables' names. They may call I/O functions a lot, but nobody asks where a launcher's or a
// shell's time goes, and each job runs many. One that calls MPI_Init is recorded all the same.
constexpr const char *kNeverRecorded[] = {
    "orted",   "orterun", "prte",   "prted",         "prterun", "hydra_pmi_proxy", "hydra_bstrap_proxy",
    "mpirun",  "mpiexec", "srun",   "sbatch",        "salloc",  "sbcast",          "mpirun.openmpi",
    "mpirun.mpich",       "mpiexec.openmpi",         "mpiexec.mpich",              "mpiexec.hydra",
    "slurmstepd",         "bash",   "sh",            "dash",    "zsh",             "ksh",
    "csh",     "tcsh",    "fish",   "busybox",       "env",     "ssh",             "slurmscope",
    "slurmscope-drain"};

// Variables that decide how MPI and the machine behave, by prefix.
constexpr const char *kKeptVariables[] = {"OMPI_MCA_", "PMIX_MCA_", "UCX_",  "FI_",   "MPICH_",      "MPIR_CVAR_",
                                          "I_MPI_",    "OMP_",      "KMP_",  "GOMP_", "OPENBLAS_NUM", "MKL_NUM",
                                          "LD_PRELOAD", "SLURM_CPU_BIND", "SLURM_MPI_TYPE", "SLURM_DISTRIBUTION"};

size_t read_file(const char *path, char *buffer, size_t size) {
  int fd = raw::open(path, O_RDONLY);
  size_t used = 0;
  if (fd >= 0) {
    for (long n; used < size && (n = raw::read(fd, buffer + used, size - used)) > 0;) used += static_cast<size_t>(n);
    raw::close(fd);
  }
  return used;
}

const char *after_prefix(const char *text, const char *prefix) {
  size_t size = strlen(prefix);
  return strncmp(text, prefix, size) == 0 ? text + size : nullptr;
}

int32_t parse_number(const char *text) {
  int64_t number = 0;
  if (*text == 0) return -1;
  for (; *text >= '0' && *text <= '9'; text++)
    if ((number = number * 10 + (*text - '0')) > INT32_MAX) return -1;
  return *text == 0 ? static_cast<int32_t>(number) : -1;
}

void copy_text(char *to, size_t size, const char *from) {
  size_t length = strnlen(from, size - 1);
  memcpy(to, from, length);
  to[length] = 0;
}

// The launcher's words on one process, collected variable by variable.
struct Launcher {
  char job[64] = "", step[64] = "", restart[16] = "";
};

void keep_variable(ProcessFile *file, const char *variable) {
  for (const char *prefix : kKeptVariables) {
    if (after_prefix(variable, prefix) == nullptr) continue;
    size_t size = strlen(variable) + 1;
    if (file->environment_size + size > sizeof(file->environment)) return;
    memcpy(file->environment + file->environment_size, variable, size);
    file->environment_size += static_cast<uint32_t>(size);
    return;
  }
}

void see_variable(ProcessFile *file, Launcher *launcher, const char *variable) {
  struct Number {
    const char *prefix;
    int32_t *value;
  } numbers[] = {
      // The later of two that are set wins nothing: the first seen value stays.
      {"OMPI_COMM_WORLD_LOCAL_RANK=", &file->local_rank}, {"MPI_LOCALRANKID=", &file->local_rank},
      {"SLURM_LOCALID=", &file->local_rank},              {"OMPI_COMM_WORLD_LOCAL_SIZE=", &file->local_size},
      {"MPI_LOCALNRANKS=", &file->local_size},            {"SLURM_PROCID=", &file->slurm_procid},
      {"SLURM_STEP_ID=", &file->slurm_stepid},
  };
  for (Number &number : numbers)
    if (const char *value = after_prefix(variable, number.prefix))
      if (*number.value < 0) *number.value = parse_number(value);
  if (const char *value = after_prefix(variable, "PMIX_NAMESPACE=")) {
    memcpy(file->world_id, "pmix:", 5);
    copy_text(file->world_id + 5, sizeof(file->world_id) - 5, value);
  }
  if (const char *value = after_prefix(variable, "SLURM_JOB_ID=")) copy_text(launcher->job, sizeof(launcher->job), value);
  if (const char *value = after_prefix(variable, "SLURM_STEP_ID=")) copy_text(launcher->step, sizeof(launcher->step), value);
  if (const char *value = after_prefix(variable, "SLURM_RESTART_COUNT="))
    copy_text(launcher->restart, sizeof(launcher->restart), value);
  keep_variable(file, variable);
}

void read_environment(ProcessFile *file) {
  Launcher launcher;
  int fd = raw::open("/proc/self/environ", O_RDONLY);
  if (fd < 0) return;
  static char buffer[2048], variable[1024];
  size_t used = 0;
  bool too_long = false;
  for (long n; (n = raw::read(fd, buffer, sizeof(buffer))) > 0;) {
    for (long i = 0; i < n; i++) {
      if (buffer[i] != 0) {
        if (used < sizeof(variable) - 1) variable[used++] = buffer[i];
        else too_long = true;
        continue;
      }
      variable[used] = 0;
      if (used > 0 && !too_long) see_variable(file, &launcher, variable);
      used = 0;
      too_long = false;
    }
  }
  raw::close(fd);
  if (file->world_id[0] == 0 && launcher.job[0] != 0) {
    char *at = file->world_id;
    const char *const parts[] = {"slurm:", launcher.job, ".", launcher.step, ".", launcher.restart};
    for (const char *part : parts) {
      size_t size = strlen(part);
      memcpy(at, part, size + 1);
      at += size;
    }
  }
}

int64_t read_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The tightest of a few: the wall clock between two readings of the monotonic one.
void read_clocks(ProcessFile *file) {
  for (int i = 0; i < 7; i++) {
    int64_t before = read_ns(CLOCK_MONOTONIC), wall = read_ns(CLOCK_REALTIME), after = read_ns(CLOCK_MONOTONIC);
    auto error = static_cast<uint32_t>((after - before) / 2 + 1);
    if (i != 0 && error >= file->clock_error_ns) continue;
    file->clock_error_ns = error;
    file->attach_monotonic_ns = before + (after - before) / 2;
    file->attach_realtime_ns = wall;
  }
}

// Field 22 of /proc/self/stat, counted from behind the command's closing parenthesis (field 2).
uint64_t read_start_time() {
  static char text[1024];
  size_t size = read_file("/proc/self/stat", text, sizeof(text) - 1);
  text[size] = 0;
  const char *at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; field++)
    if ((at = strchr(at, ' ')) != nullptr) at++;
  uint64_t value = 0;
  if (at != nullptr)
    for (; *at >= '0' && *at <= '9'; at++) value = value * 10 + static_cast<uint64_t>(*at - '0');
  return value;
}

// Line by line through a small buffer. A line that does not fit is cut.
void read_cpu_mask(ProcessFile *file) {
  constexpr const char *kKey = "Cpus_allowed_list:";
  static char buffer[512], line[sizeof(file->cpu_mask) + 32];
  size_t used = 0;
  int fd = raw::open("/proc/self/status", O_RDONLY);
  if (fd < 0) return;
  for (long n; (n = raw::read(fd, buffer, sizeof(buffer))) > 0;) {
    for (long i = 0; i < n; i++) {
      if (buffer[i] != '\n') {
        if (used < sizeof(line) - 1) line[used++] = buffer[i];
        continue;
      }
      line[used] = 0;
      used = 0;
      const char *value = after_prefix(line, kKey);
      if (value != nullptr) copy_text(file->cpu_mask, sizeof(file->cpu_mask), value + strspn(value, " \t"));
    }
  }
  raw::close(fd);
}

// Name of the executable without its directory; empty if unknown.
void executable_name(char *name, size_t size) {
  static char path[4096];
  long length = raw::readlink("/proc/self/exe", path, sizeof(path) - 1);
  name[0] = 0;
  if (length <= 0) return;
  path[length] = 0;
  const char *slash = strrchr(path, '/');
  copy_text(name, size, slash != nullptr ? slash + 1 : path);
}

}  // namespace

void describe_process(ProcessFile *file) {
  struct stat status;
  file->pid = process_state.pid;
  file->parent_pid = raw::getppid();
  file->pid_namespace = raw::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
  file->time_namespace = raw::stat("/proc/self/ns/time", &status) == 0 ? status.st_ino : 0;
  read_clocks(file);
  file->start_time = read_start_time();
  file->world_rank = file->world_size = -1;
  file->local_rank = file->local_size = file->slurm_procid = file->slurm_stepid = -1;
  long length = raw::readlink("/proc/self/exe", file->exe, sizeof(file->exe) - 1);
  file->exe[length > 0 ? length : 0] = 0;
  file->command_line_size =
      static_cast<uint32_t>(read_file("/proc/self/cmdline", file->command_line, sizeof(file->command_line) - 1));
  if (raw::getcwd(file->directory, sizeof(file->directory) - 1) < 0) file->directory[0] = 0;
  read_cpu_mask(file);
  read_environment(file);
}

Wanted wanted_parts(const char *skip) {
  char name[256];
  executable_name(name, sizeof(name));
  if (list_contains(skip, name)) return {false, false};
  for (const char *never : kNeverRecorded)
    if (strcmp(name, never) == 0) return {true, false};
  return {true, true};
}

bool has_usable_tsc() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & (1u << 8)) == 0) return false;  // not invariant
  // A kernel on the metal that found the counter unstable takes it off this list. A guest's kernel often
  // does not list it, but reads it through a paravirtual clock that is made of nothing else.
  constexpr const char *kFolder = "/sys/devices/system/clocksource/clocksource0/";
  static char path[128], text[256];
  for (const char *name : {"available_clocksource", "current_clocksource"}) {
    strcpy(path, kFolder);
    strcat(path, name);
    size_t size = read_file(path, text, sizeof(text) - 1);
    text[size] = 0;
    if (strstr(text, "tsc") != nullptr || strstr(text, "kvm-clock") != nullptr) return true;
  }
  return false;
#else
  return false;
#endif
}

}  // namespace slurmscope
