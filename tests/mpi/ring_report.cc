// Reads the rings of a spool directory that no drainer follows, and prints what they say in the form of
// `slurmscope report --json`: the MPI calls of each rank and the rank-to-rank matrix.
//
// usage: ring_report SPOOL
// A second, independent reader for tests: it shares the layout (ring.h, event.h) and nothing else with
// the drainer. Exits 1, naming what is wrong, if the rings contradict themselves.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "profiler/preload/call_table.h"
#include "proto/ring.h"

using namespace slurmscope;

namespace {

[[noreturn]] void fail(const std::string &text) {
  fprintf(stderr, "ring_report: %s\n", text.c_str());
  exit(1);
}

template <typename File> const File *map_file(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) fail("cannot open " + path);
  if ((status.st_mode & 07777) != 0600) fail(path + " has not mode 0600");
  void *memory = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED || static_cast<const File *>(memory)->ready != 1) fail(path + " is not complete");
  return static_cast<const File *>(memory);
}

struct Communicator {
  uint64_t from, to = UINT64_MAX, gid;
  std::vector<int32_t> members, remote;
};
struct Call {
  uint64_t count = 0, bytes = 0;
};
struct Process {
  const ProcessFile *file;
  std::vector<const RingFile *> rings;
  std::map<uint64_t, std::vector<Communicator>> communicators;
  std::map<std::string, Call> calls;
  std::map<uint64_t, std::deque<Event>> started;  // by request
};

void read_definitions(const RingFile *ring, Process *process) {
  auto *bytes = reinterpret_cast<const uint8_t *>(ring) + ring->definition_offset;
  uint64_t head = ring->definitions.head;
  if (head > ring->definition_bytes) fail("the definition ring went round");
  for (uint64_t at = 0; at < head;) {
    auto *header = reinterpret_cast<const DefinitionHeader *>(bytes + at);
    if (header->size < sizeof(*header) || header->size % 8 != 0) fail("a definition of impossible size");
    auto *definition = reinterpret_cast<const CommunicatorDefinition *>(header);
    if (header->kind == DefinitionKind::kCommunicator) {
      auto *ranks = reinterpret_cast<const int32_t *>(definition + 1);
      Communicator made{definition->time, UINT64_MAX, definition->gid, {}, {}};
      made.members.assign(ranks, ranks + definition->size);
      made.remote.assign(ranks + definition->size, ranks + definition->size + definition->remote_size);
      if (made.members.at(static_cast<size_t>(definition->rank)) != process->file->world_rank)
        fail("a communicator whose own rank is someone else");
      process->communicators[definition->handle].push_back(made);
    } else if (header->kind == DefinitionKind::kCommunicatorFree) {
      auto &history = process->communicators[definition->handle];
      if (history.empty() || history.back().to != UINT64_MAX) fail("an unknown communicator was freed");
      history.back().to = definition->time;
    } else if (header->kind == DefinitionKind::kNote) {
      auto *note = reinterpret_cast<const NoteDefinition *>(header);
      fail("a note: " + std::string(reinterpret_cast<const char *>(note + 1), note->text_size));
    }
    at += header->size;
  }
}

int32_t world_rank(const Process &process, const Event &event) {
  auto history = process.communicators.find(event.object);
  if (history != process.communicators.end())
    for (const Communicator &one : history->second)
      if (event.start >= one.from && event.start < one.to) {
        const auto &ranks = one.remote.empty() ? one.members : one.remote;
        return ranks.at(static_cast<size_t>(event.peer));
      }
  fail("rank " + std::to_string(process.file->world_rank) + ": " + kCallTable[event.call].name +
       " on a communicator that nobody defined");
}

using Matrix = std::map<std::pair<int, int>, Call>;

bool moves(const Event &event) {
  return (event.flags & (kEventFailed | kEventCancelled)) == 0 && event.peer != kPeerProcNull;
}

void add_event(const Event &event, Process *process, Matrix *matrix) {
  const CallInfo &info = kCallTable[event.call];
  if (info.call_class >= CallClass::kOpen) return;
  Call &call = process->calls[info.name];
  if (event.end < event.start) fail(std::string(info.name) + " ended before it began");
  if (event.kind == EventKind::kComplete) {
    auto &waiting = process->started[event.request];
    if (waiting.empty()) fail(std::string(info.name) + " completed a request that nobody started");
    Event start = waiting.front();
    waiting.pop_front();
    if (kCallTable[start.call].call_class == CallClass::kStartReceive && moves(event))
      process->calls[kCallTable[start.call].name].bytes += event.bytes;
    return;
  }
  if (event.kind == EventKind::kReceive) {
    if (moves(event)) call.bytes += event.bytes;
    return;
  }
  if (event.kind == EventKind::kPolls) {
    call.count += event.request;
    if (static_cast<uint64_t>(event.offset) > event.end - event.start) fail("polls took longer than their row");
    return;
  }
  call.count++;
  if (moves(event) && info.call_class != CallClass::kStartReceive) call.bytes += event.bytes;
  bool starts = info.call_class == CallClass::kStartSend || info.call_class == CallClass::kStartReceive;
  if (starts) process->started[event.request].push_back(event);
  bool sends = info.call_class == CallClass::kSend || info.call_class == CallClass::kStartSend ||
               info.call_class == CallClass::kSendReceive;
  if (sends && moves(event) && (event.flags & kEventMessage)) {
    Call &entry = (*matrix)[{process->file->world_rank, world_rank(*process, event)}];
    entry.count++;
    entry.bytes += event.bytes;
  } else if (event.object != 0 && event.peer >= 0 && moves(event)) {
    world_rank(*process, event);  // it must be known
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) fail("usage: ring_report SPOOL");
  DIR *folder = opendir(argv[1]);
  if (folder == nullptr) fail(std::string("cannot open ") + argv[1]);
  std::map<std::string, Process> processes;  // by "<pid>-<n>"
  std::vector<std::string> names;
  while (dirent *entry = readdir(folder)) names.push_back(entry->d_name);
  std::sort(names.begin(), names.end());
  for (const std::string &name : names)
    if (name.rfind(kProcessFilePrefix, 0) == 0)
      processes[name.substr(strlen(kProcessFilePrefix))].file = map_file<ProcessFile>(argv[1] + ("/" + name));
  for (const std::string &name : names) {
    if (name.rfind(kRingFilePrefix, 0) != 0) continue;
    std::string key = name.substr(strlen(kRingFilePrefix));
    key.resize(key.rfind('-'));
    if (processes.count(key) == 0) fail(name + " has no process");
    processes[key].rings.push_back(map_file<RingFile>(argv[1] + ("/" + name)));
  }
  std::map<int, Process *> ranks;
  Matrix matrix;
  std::map<uint64_t, std::vector<int32_t>> members_of_gid;
  for (auto &[key, process] : processes) {
    if (process.file->mpi_ready != 1) continue;
    if (process.file->finalize_end == 0 || process.file->exited != 1) fail("process " + key + " did not end properly");
    ranks[process.file->world_rank] = &process;
    for (const RingFile *ring : process.rings) read_definitions(ring, &process);
    for (auto &[handle, history] : process.communicators)
      for (const Communicator &one : history) {
        auto known = members_of_gid.emplace(one.gid, one.members).first;
        if (known->second != one.members) fail("one global id for two different communicators");
      }
    for (const RingFile *ring : process.rings) {
      if (ring->events.head > ring->event_count) fail("an event ring went round");
      auto *events = reinterpret_cast<const Event *>(reinterpret_cast<const uint8_t *>(ring) + ring->event_offset);
      for (uint64_t i = 0; i < ring->events.head; i++) add_event(events[i], &process, &matrix);
      for (const PollRow &row : ring->polls)
        if (row.count != 0) fail("polls were not closed");
      for (const auto &lost : ring->lost)
        if (lost != 0) fail("events were lost");
    }
    for (auto &[request, waiting] : process.started)
      if (!waiting.empty()) fail(std::string(kCallTable[waiting.front().call].name) + " was never completed");
  }
  printf("{\"schema_version\":1,\"ranks\":[");
  for (auto &[rank, process] : ranks) {
    printf("%s{\"rank\":%d,\"calls\":[", rank == ranks.begin()->first ? "" : ",", rank);
    bool first = true;
    for (auto &[name, call] : process->calls) {
      printf("%s{\"name\":\"%s\",\"count\":%llu,\"bytes\":%llu}", first ? "" : ",", name.c_str(),
             static_cast<unsigned long long>(call.count), static_cast<unsigned long long>(call.bytes));
      first = false;
    }
    printf("]}");
  }
  printf("],\"matrix\":[");
  bool first = true;
  for (auto &[pair, call] : matrix) {
    printf("%s{\"src\":%d,\"dst\":%d,\"count\":%llu,\"bytes\":%llu}", first ? "" : ",", pair.first, pair.second,
           static_cast<unsigned long long>(call.count), static_cast<unsigned long long>(call.bytes));
    first = false;
  }
  printf("],\"gids\":%zu}\n", members_of_gid.size());
}
