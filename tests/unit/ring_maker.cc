// See ring_maker.h.
#include "tests/unit/ring_maker.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "proto/version.h"
#include "profiler/drain/clock_reader.h"
#include "profiler/drain/process_watch.h"
#include "profiler/preload/call_table.h"

namespace slurmscope::test {
namespace {

template <typename Record> std::vector<uint8_t> record_of(Record fixed, DefinitionKind kind, const void *rest, size_t size) {
  std::vector<uint8_t> bytes((sizeof fixed + size + 7) & ~size_t{7});
  fixed.header = {static_cast<uint32_t>(bytes.size()), kind, 0};
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  if (size != 0) std::memcpy(bytes.data() + sizeof fixed, rest, size);
  return bytes;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "slurmscope-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp: " + name);
  path_ = name;
}
TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

MappedFile::MappedFile(const std::string &path, size_t size) : size_(size) {
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) throw std::runtime_error("cannot make " + path);
  memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory_ == MAP_FAILED) throw std::runtime_error("cannot map " + path);
}
MappedFile::~MappedFile() { munmap(memory_, size_); }

RingMaker::RingMaker(const std::string &path, uint64_t event_count, bool has_samples)
    : layout_(make_ring_layout(event_count, kDefinitionRingBytes, has_samples ? kSampleRingBytes : 0)), mapping_(path, layout_.file_bytes) {
  RingFile *ring = file();
  ring->magic = kRingMagic;
  ring->version = kRingVersion;
  ring->event_offset = layout_.event_offset;
  ring->event_count = layout_.event_count;
  ring->definition_offset = layout_.definition_offset;
  ring->definition_bytes = layout_.definition_bytes;
  ring->sample_offset = layout_.sample_offset;
  ring->sample_bytes = layout_.sample_bytes;
  ring->ready.store(1, std::memory_order_release);
}

bool RingMaker::push(const Event &event) {
  RingFile *ring = file();
  uint64_t head = ring->events.head.load();
  if (head - ring->events.tail.load(std::memory_order_acquire) >= layout_.event_count) return false;
  auto *events = reinterpret_cast<Event *>(static_cast<char *>(mapping_.memory()) + layout_.event_offset);
  events[head & (layout_.event_count - 1)] = event;
  ring->events.head.store(head + 1, std::memory_order_release);
  return true;
}

bool RingMaker::put(RingCursor *cursor, uint64_t offset, uint64_t bytes, std::vector<uint8_t> record) {
  uint64_t head = cursor->head.load(), at = head & (bytes - 1), padding = bytes - at < record.size() ? bytes - at : 0;
  if (head + padding + record.size() - cursor->tail.load(std::memory_order_acquire) > bytes) return false;
  uint8_t *ring = static_cast<uint8_t *>(mapping_.memory()) + offset;
  if (padding != 0) {
    DefinitionHeader filler{static_cast<uint32_t>(padding), DefinitionKind::kPadding, 0};
    std::memcpy(ring + at, &filler, sizeof filler);
    at = 0;
  }
  std::memcpy(ring + at, record.data(), record.size());
  cursor->head.store(head + padding + record.size(), std::memory_order_release);
  return true;
}
bool RingMaker::define(std::vector<uint8_t> record) {
  return put(&file()->definitions, layout_.definition_offset, layout_.definition_bytes, std::move(record));
}
bool RingMaker::sample(std::vector<uint8_t> record) {
  return put(&file()->samples, layout_.sample_offset, layout_.sample_bytes, std::move(record));
}

SpoolMaker::SpoolMaker(const std::string &settings) {
  write_file("step.info", "job=77\nstep=0\nuser=tester\nlocal_tasks=0,1\nsite_key=kept\noutput=" + output() +
                              "\nfile=t\nsettings=" + settings + "\n");
}

void SpoolMaker::write_file(const std::string &name, const std::string &text) const {
  std::ofstream(path() + "/" + name, std::ios::app) << text;
}

void SpoolMaker::wake_drainer() {
  if (drain_ == nullptr) {
    int file = open((path() + "/" + kDrainFileName).c_str(), O_RDWR | O_CLOEXEC);
    struct stat status;
    bool is_whole = file >= 0 && fstat(file, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(DrainState));
    void *memory = is_whole ? mmap(nullptr, sizeof(DrainState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (file >= 0) close(file);
    if (memory != MAP_FAILED) drain_ = static_cast<DrainState *>(memory);
  }
  if (drain_ != nullptr) {
    drain_->wake.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &drain_->wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  timespec pause{0, 20000};
  nanosleep(&pause, nullptr);
}

ProcessFile *SpoolMaker::add_process(uint32_t pid, uint32_t number, int32_t rank, int32_t world_size, int32_t local_size) {
  processes_.push_back(std::make_unique<MappedFile>(path() + "/proc-" + std::to_string(pid) + "-" + std::to_string(number), sizeof(ProcessFile)));
  auto *file = static_cast<ProcessFile *>(processes_.back()->memory());
  struct stat status;
  file->magic = kProcessMagic;
  file->version = kRingVersion;
  file->pid = pid;
  file->pid_namespace = stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
  file->start_time = process_start_time(pid);
  file->clock = ClockKind::kMonotonic;
  file->attach_ticks = monotonic_ns();
  file->local_rank = rank;
  file->local_size = local_size;
  file->slurm_procid = file->slurm_stepid = -1;
  std::strcpy(file->exe, "/bin/true");
  std::memcpy(file->command_line, "true\0-v", 8);
  file->command_line_size = 8;
  if (rank >= 0) {
    file->world_rank = rank;
    file->world_size = world_size;
    std::strcpy(file->world_id, "w");
    std::strcpy(file->mpi_library, "Test MPI 1.0");
    file->mpi_ready.store(1);
  }
  file->ready.store(1, std::memory_order_release);
  return file;
}

RingMaker *SpoolMaker::add_ring(uint32_t pid, uint32_t number, uint32_t index, uint64_t event_count, bool has_samples) {
  std::string name = "/ring-" + std::to_string(pid) + "-" + std::to_string(number) + "-" + std::to_string(index);
  rings_.push_back(std::make_unique<RingMaker>(path() + name, event_count, has_samples));
  return rings_.back().get();
}

std::vector<uint8_t> thread_record(uint64_t time, uint32_t tid, bool is_main) {
  return record_of(ThreadDefinition{{}, time, tid, is_main}, DefinitionKind::kThread, nullptr, 0);
}
std::vector<uint8_t> communicator_record(uint64_t time, uint64_t handle, int32_t rank, std::vector<int32_t> members,
                                         std::vector<int32_t> remote) {
  CommunicatorDefinition fixed{{}, time, handle, handle * 31, 0, rank, static_cast<int32_t>(members.size()),
                               static_cast<int32_t>(remote.size()), 0};
  members.insert(members.end(), remote.begin(), remote.end());
  return record_of(fixed, DefinitionKind::kCommunicator, members.data(), members.size() * 4);
}
std::vector<uint8_t> communicator_free_record(uint64_t time, uint64_t handle) {
  return record_of(CommunicatorDefinition{{}, time, handle, 0, 0, 0, 0, 0, 0}, DefinitionKind::kCommunicatorFree, nullptr, 0);
}
std::vector<uint8_t> site_record(uint32_t id, std::vector<uint64_t> addresses) {
  return record_of(SiteDefinition{{}, id, static_cast<uint16_t>(addresses.size()), 0}, DefinitionKind::kSite, addresses.data(),
                   addresses.size() * 8);
}
std::vector<uint8_t> file_record(uint32_t id, const std::string &path) {
  return record_of(FileDefinition{{}, 1, id, static_cast<uint32_t>(path.size()), 0}, DefinitionKind::kFile, path.data(), path.size());
}
std::vector<uint8_t> note_record(uint64_t time, const std::string &text) {
  return record_of(NoteDefinition{{}, time, static_cast<uint32_t>(text.size()), 0}, DefinitionKind::kNote, text.data(), text.size());
}
std::vector<uint8_t> counter_record(uint32_t id, const std::string &name) {
  return record_of(CounterDefinition{{}, id, static_cast<uint32_t>(name.size())}, DefinitionKind::kCounter, name.data(), name.size());
}
std::vector<uint8_t> counter_sample_record(uint64_t time, std::vector<int64_t> values, bool is_last) {
  return record_of(CounterSample{{}, time, static_cast<uint32_t>(values.size()), is_last}, DefinitionKind::kCounterSample,
                   values.data(), values.size() * 8);
}
std::vector<uint8_t> stack_sample_record(uint64_t time, std::vector<uint64_t> addresses) {
  return record_of(StackSample{{}, time, static_cast<uint32_t>(addresses.size()), 0}, DefinitionKind::kStackSample,
                   addresses.data(), addresses.size() * 8);
}

Event call_event(const char *name, uint64_t start) {
  Event event{};
  for (uint16_t call = 0; call < kCallCount; call++)
    if (std::strcmp(kCallTable[call].name, name) == 0) event.call = call;
  if (event.call == 0) throw std::runtime_error(std::string("no call named ") + name);
  event.start = start;
  event.end = start + 10;
  event.kind = EventKind::kCall;
  event.peer = kPeerNone;
  event.offset = -1;
  return event;
}

}  // namespace slurmscope::test
