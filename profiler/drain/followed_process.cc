// Identity, threads, losses. Definitions and samples are in process_definitions.cc. See followed_process.h.
#include "profiler/drain/followed_process.h"

#include <algorithm>
#include <cstring>

#include "profiler/drain/clock_reader.h"
#include "profiler/drain/utf8_text.h"

namespace slurmscope {
namespace {

constexpr const char *kReasons[] = {"ring full", "no ring", "reentered", "definition", "sample"};
static_assert(std::size(kReasons) == static_cast<size_t>(LossReason::kCount));
constexpr const char kStall[] = "stall", kUnnamedPeer[] = "unnamed peer", kForeignPeer[] = "peer in another world",
                     kClockWentBack[] = "clock went back";

// NUL-separated texts.
void add_texts(const char *text, uint32_t size, google::protobuf::RepeatedPtrField<std::string> *to) {
  std::string_view rest(text, size);
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\0'), rest.size());
    to->Add(utf8_text(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

uint32_t FollowedRing::thread_at(uint64_t time) {
  for (size_t i = uses.size(); i-- > 0;)
    if (uses[i].from <= time) return uses[i].thread;
  return uses.empty() ? 0 : uses[0].thread;
}

void LossCounts::set(const std::string &reason, uint64_t count, uint64_t ticks) {
  if (count != 0 || ticks != 0) now[reason] = {count, ticks};
}

void LossCounts::add(const std::string &reason, uint64_t count) { now[reason].count += count; }

FollowedProcess::FollowedProcess(uint32_t id, std::string name, const ProcessFile &file, const CallRoles *roles)
    : resolver(id, roles), summary(&roles->classes), watch(file.pid, file.start_time, file.pid_namespace, file.time_namespace), id_(id),
      name_(std::move(name)), file_(std::make_unique<ProcessFile>()) {
  update(file);
  build_id_ = read_build_id(watch.is_visible() ? "/proc/" + std::to_string(file.pid) + "/exe" : file_->exe);
  if (build_id_.empty()) build_id_ = read_build_id(file_->exe);
}

bool FollowedProcess::update(const ProcessFile &file) {
  if (std::memcmp(static_cast<const void *>(file_.get()), &file, sizeof file) == 0) return false;
  std::memcpy(static_cast<void *>(file_.get()), &file, sizeof file);
  is_changed = true;
  if (file_->mpi_ready.load(std::memory_order_relaxed) != 0 && mpi_ready_ns == 0) {
    mpi_ready_ns = monotonic_ns();
    refresh_modules();
  }
  return true;
}

void FollowedProcess::set_clock_shift(const ClockShift &shift) {
  clock_shift_ = shift;
  tick_shift_ = file_->clock == ClockKind::kMonotonic ? static_cast<uint64_t>(shift.ns) : 0;
  resolver.set_clock_shift(tick_shift_);
}

bool FollowedProcess::take_wait_status() {
  std::string source;
  std::optional<int32_t> status = watch.wait_status(&source);
  if (!status) return false;
  wait_status = status;
  end_source = source;
  is_changed = true;
  return true;
}

v1::Packet FollowedProcess::process_packet() const {
  v1::Packet packet;
  v1::Process *process = packet.mutable_process();
  const ProcessFile &file = *file_;
  process->set_id(id_);
  process->set_pid(file.pid);
  process->set_parent_pid(file.parent_pid);
  process->set_exe(utf8_text(file.exe));
  add_texts(file.command_line, file.command_line_size, process->mutable_arguments());
  process->set_directory(utf8_text(file.directory));
  process->set_cpu_mask(utf8_text(file.cpu_mask));
  add_texts(file.environment, file.environment_size, process->mutable_environment());
  process->set_build_id(build_id_);
  process->set_load_ticks(node_ticks(file.load_ticks));
  process->set_attach_ticks(node_ticks(file.attach_ticks));
  process->set_monotonic_shift_ns(clock_shift_.ns);
  process->set_monotonic_shift_error_ns(clock_shift_.error_ns);
  if (file.slurm_procid >= 0) process->set_slurm_procid(file.slurm_procid);
  if (file.mpi_ready.load(std::memory_order_relaxed) != 0) {
    process->set_world_rank(file.world_rank);
    process->set_world_size(file.world_size);
    process->set_thread_level(file.thread_level);
    if (file.local_rank >= 0) process->set_local_rank(file.local_rank);
    if (file.local_size >= 0) process->set_local_size(file.local_size);
    process->set_mpi_library(utf8_text(file.mpi_library));
    process->set_world_id(utf8_text(file.world_id));
    process->set_init_start_ticks(node_ticks(file.init_start));
    process->set_init_end_ticks(node_ticks(file.init_end));
  }
  if (uint64_t ticks = file.finalize_start.load(std::memory_order_relaxed)) process->set_finalize_start_ticks(node_ticks(ticks));
  if (uint64_t ticks = file.finalize_end.load(std::memory_order_relaxed)) process->set_finalize_end_ticks(node_ticks(ticks));
  process->set_exited(file.exited.load(std::memory_order_relaxed) != 0);
  process->set_early_io_calls(file.early_io_calls.load(std::memory_order_relaxed));
  process->set_early_io_bytes(file.early_io_bytes.load(std::memory_order_relaxed));
  if (end_ticks != 0) process->set_end_ticks(end_ticks);
  if (wait_status) process->set_wait_status(*wait_status);
  process->set_end_source(end_source);
  return packet;
}

void FollowedProcess::count_ring_losses(const RingView &ring) {
  for (size_t reason = 0; reason < std::size(kReasons); reason++) own_losses_[kReasons[reason]].count += ring.lost(reason);
  own_losses_[kStall].count += ring.stalls();
  own_losses_[kStall].ticks += ring.stall_ticks();
}

LossCounts::Entries FollowedProcess::own_losses() const {
  LossCounts::Entries entries = own_losses_;
  entries[kUnnamedPeer].count += resolver.unresolved();
  entries[kForeignPeer].count += resolver.foreign();
  entries[kClockWentBack].count += resolver.clamped();
  return entries;
}

void FollowedProcess::count_losses() {
  LossCounts::Entries sums = own_losses();
  for (size_t reason = 0; reason < std::size(kReasons); reason++)
    sums[kReasons[reason]].count += file_->lost[reason].load(std::memory_order_relaxed);
  for (const auto &ring : rings) {
    if (!ring->view) continue;
    for (size_t reason = 0; reason < std::size(kReasons); reason++) sums[kReasons[reason]].count += ring->view->lost(reason);
    sums[kStall].count += ring->view->stalls();
    sums[kStall].ticks += ring->view->stall_ticks();
  }
  for (const auto &[reason, entry] : sums) losses.set(reason, entry.count, entry.ticks);
}

}  // namespace slurmscope
