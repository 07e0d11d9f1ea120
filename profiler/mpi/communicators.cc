// See communicators.h.
//
// The table of the process holds what a handle's successors need (global id, number of children). It is
// open addressing over atomics; handles of living communicators are unique, so each entry has one
// writer at a time. A full table costs names, never correctness: its communicators get a global id from
// their members alone.
#include "profiler/mpi/communicators.h"

#include <cstring>

namespace slurmscope {
namespace {

constexpr uint32_t kTableSlots = 8192, kCacheSlots = 32;
constexpr uint64_t kRemoved = ~uint64_t{0};

struct TableEntry {
  std::atomic<uint64_t> handle;  // 0 = never used, kRemoved
  std::atomic<uint64_t> gid;
  std::atomic<uint32_t> children;
};
constinit TableEntry table[kTableSlots] = {};
constinit std::atomic<uint32_t> generation{1};   // changes whenever a communicator is freed
constinit std::atomic<uint32_t> type_generation{1};
constinit std::atomic<bool> world_is_known{false}, is_over{false};
constinit int32_t world_rank = -1;
constinit uint64_t world_gid = 0;

struct TypeSize {
  uint64_t handle, size;
  uint32_t generation;
};
constexpr uint32_t kTypeSlots = 64;

/// What a thread remembers; lies zeroed in ThreadRecorder::backend_cache.
struct Cache {
  CommunicatorInfo communicators[kCacheSlots];
  CommunicatorInfo unknown;
  TypeSize types[kTypeSlots];
};
static_assert(sizeof(Cache) <= kBackendCacheBytes);

Cache *cache_of(Recording &recording) { return static_cast<Cache *>(recording.recorder()->backend_cache); }

uint32_t slot_of(uint64_t handle) { return static_cast<uint32_t>((handle * 0x9e3779b97f4a7c15u) >> 40); }

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

uint64_t nonzero(uint64_t hash) { return hash != 0 ? hash : 1; }

TableEntry *find(uint64_t handle) {
  uint32_t slot = slot_of(handle) % kTableSlots;
  for (uint32_t probe = 0; probe < kTableSlots; probe++, slot = (slot + 1) % kTableSlots) {
    uint64_t found = table[slot].handle.load(std::memory_order_acquire);
    if (found == handle) return &table[slot];
    if (found == 0) return nullptr;
  }
  return nullptr;
}

void insert(uint64_t handle, uint64_t gid, uint32_t children) {
  uint32_t slot = slot_of(handle) % kTableSlots;
  for (uint32_t probe = 0; probe < kTableSlots; probe++, slot = (slot + 1) % kTableSlots) {
    uint64_t found = table[slot].handle.load(std::memory_order_acquire);
    if (found != 0 && found != kRemoved) continue;
    if (!table[slot].handle.compare_exchange_strong(found, handle, std::memory_order_acq_rel)) continue;
    table[slot].gid.store(gid, std::memory_order_relaxed);
    table[slot].children.store(children, std::memory_order_release);
    return;
  }
  recorder_link->note("more than 8191 communicators at a time: some have no history");
}

/// The members of a communicator as one record, with world ranks behind it. In scratch memory.
struct Members {
  CommunicatorDefinition *definition = nullptr;
  int32_t *local = nullptr, *remote = nullptr;
};

// World ranks of a group; -1 for a process of another MPI_COMM_WORLD (spawned).
bool translate(MPI_Group group, int size, int *numbers, int32_t *world_ranks) {
  MPI_Group world;
  if (mpi.Comm_group(handles.world, &world) != MPI_SUCCESS) return false;
  for (int i = 0; i < size; i++) numbers[i] = i;
  bool done = mpi.Group_translate_ranks(group, size, numbers, world, world_ranks) == MPI_SUCCESS;
  mpi.Group_free(&world);
  for (int i = 0; i < size; i++)
    if (world_ranks[i] < 0) world_ranks[i] = kPeerNone;
  return done;
}

bool read_info(MPI_Comm comm, CommunicatorInfo *info) {
  int is_inter = 0;
  *info = {};
  if (mpi.Comm_rank(comm, &info->rank) != MPI_SUCCESS || mpi.Comm_size(comm, &info->size) != MPI_SUCCESS ||
      mpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS)
    return false;
  return !is_inter || mpi.Comm_remote_size(comm, &info->remote_size) == MPI_SUCCESS;
}

bool read_members(Recording &recording, MPI_Comm comm, const CommunicatorInfo &info, Members *members) {
  size_t local = static_cast<size_t>(info.size), remote = static_cast<size_t>(info.remote_size);
  size_t record = (sizeof(CommunicatorDefinition) + (local + remote) * sizeof(int32_t) + 7) / 8 * 8;
  size_t numbers = (local > remote ? local : remote) * sizeof(int32_t);
  auto *memory = static_cast<uint8_t *>(scratch(recording, record + numbers));
  if (memory == nullptr) return false;
  members->definition = reinterpret_cast<CommunicatorDefinition *>(memory);
  members->local = reinterpret_cast<int32_t *>(memory + sizeof(CommunicatorDefinition));
  members->remote = members->local + local;
  memset(memory + record - 8, 0, 8);
  *members->definition = {};
  members->definition->header = {static_cast<uint32_t>(record), DefinitionKind::kCommunicator, 0};
  auto *scratch_numbers = reinterpret_cast<int *>(memory + record);
  MPI_Group group;
  if (mpi.Comm_group(comm, &group) != MPI_SUCCESS) return false;
  bool done = translate(group, info.size, scratch_numbers, members->local);
  mpi.Group_free(&group);
  if (!done || info.remote_size == 0) return done;
  if (mpi.Comm_remote_group(comm, &group) != MPI_SUCCESS) return false;
  done = translate(group, info.remote_size, scratch_numbers, members->remote);
  mpi.Group_free(&group);
  return done;
}

void define_communicator(Recording &recording, MPI_Comm comm, const CommunicatorInfo &info, const Members &members,
                         uint64_t gid, uint64_t parent_gid, uint64_t time, uint16_t call) {
  CommunicatorDefinition *definition = members.definition;
  definition->time = time;
  definition->handle = bits_of(comm);
  definition->gid = gid;
  definition->parent_gid = parent_gid;
  definition->rank = info.rank;
  definition->size = info.size;
  definition->remote_size = info.remote_size;
  definition->call = call;
  insert(definition->handle, gid, 0);
  recorder_link->define(&definition->header);
}

// Equal on both sides of an intercommunicator, whichever of the two groups is the local one.
uint64_t hash_members(const CommunicatorInfo &info, const Members &members) {
  uint64_t local = 1, remote = 1;
  for (int i = 0; i < info.size; i++) local = mix(local, static_cast<uint64_t>(members.local[i]));
  for (int i = 0; i < info.remote_size; i++) remote = mix(remote, static_cast<uint64_t>(members.remote[i]));
  return info.remote_size == 0 ? local : mix(0, local) + mix(0, remote);
}

// Name of the n-th child of a communicator: the same on all of its members, since they all make its
// children in the same order; the first member's world rank tells the parts of a split apart. Of an
// intercommunicator both groups take part, and which is local depends on the side.
uint64_t child_gid(uint64_t parent, uint32_t number, const CommunicatorInfo &info, const Members &members) {
  uint64_t hash = mix(mix(parent, number), 0x6368696c64);
  if (info.remote_size > 0) return nonzero(mix(hash, hash_members(info, members)));
  return nonzero(mix(hash, static_cast<uint64_t>(members.local[0])));
}

bool is_usable() { return world_is_known.load(std::memory_order_acquire) && !is_over.load(std::memory_order_acquire); }

// MPI_Init* was not seen (attached late, another thread, a session): ask MPI itself.
bool learn_world_late(Recording &recording) {
  if (is_over.load(std::memory_order_acquire)) return false;
  int started = 0, ended = 0;
  if (mpi.Initialized(&started) != MPI_SUCCESS || !started) return false;
  if (mpi.Finalized(&ended) != MPI_SUCCESS || ended) return false;
  learn_world(recording, 0, 0, kCallNone);
  return is_usable();
}

void publish_identity(ProcessFile *file, uint64_t init_start, uint64_t init_end) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, level = 0;
  if (mpi.Get_library_version(text, &length) == MPI_SUCCESS) {
    size_t size = 0;
    while (size + 1 < sizeof(file->mpi_library) && text[size] != 0 && text[size] != '\n') size++;
    memcpy(file->mpi_library, text, size);
    file->mpi_library[size] = 0;
  }
  if (mpi.Query_thread(&level) == MPI_SUCCESS) {
    constexpr int kLevels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    for (int i = 0; i < 4; i++)
      if (level == kLevels[i]) file->thread_level = i;
  }
  file->init_start = init_start;
  file->init_end = init_end;
  file->mpi_ready.store(1, std::memory_order_release);
}

uint64_t hash_text(const char *text) {
  uint64_t hash = 0x776f726c64;
  for (; *text != 0; text++) hash = mix(hash, static_cast<unsigned char>(*text));
  return nonzero(hash);
}

}  // namespace

void learn_world(Recording &recording, uint64_t init_start, uint64_t init_end, uint16_t call) {
  ProcessFile *file = recorder_link->process_file();
  bool known = false;
  if (file == nullptr || !world_is_known.compare_exchange_strong(known, true)) return;
  CommunicatorInfo info;
  if (!read_info(handles.world, &info)) return;
  file->world_rank = world_rank = info.rank;
  file->world_size = info.size;
  publish_identity(file, init_start, init_end);
  world_gid = hash_text(file->world_id);
  uint64_t time = init_start != 0 ? init_start : recording.start();
  Members members;
  if (read_members(recording, handles.world, info, &members))
    define_communicator(recording, handles.world, info, members, world_gid, 0, time, call);
  uint64_t self_gid = nonzero(mix(mix(world_gid, static_cast<uint64_t>(world_rank)), 0x73656c66));
  if (read_info(handles.self, &info) && read_members(recording, handles.self, info, &members))
    define_communicator(recording, handles.self, info, members, self_gid, 0, time, call);
}

void end_communicators() { is_over.store(true, std::memory_order_release); }

const CommunicatorInfo *communicator_info(Recording &recording, MPI_Comm comm) {
  Cache *cache = cache_of(recording);
  uint64_t handle = bits_of(comm);
  uint32_t now = generation.load(std::memory_order_acquire);
  CommunicatorInfo *info = &cache->communicators[slot_of(handle) % kCacheSlots];
  if (__builtin_expect(info->handle == handle && info->generation == now, 1)) return info;
  cache->unknown = {};
  if ((!is_usable() && !learn_world_late(recording)) || comm == handles.null_comm || handle == 0) return &cache->unknown;
  if (!read_info(comm, info)) {
    *info = {};
    return &cache->unknown;
  }
  if (find(handle) == nullptr) {
    Members members;
    if (read_members(recording, comm, *info, &members))
      define_communicator(recording, comm, *info, members, nonzero(mix(world_gid, hash_members(*info, members))), 0,
                          recording.start(), kCallNone);
  }
  info->handle = handle;
  info->generation = now;
  return info;
}

void add_communicator(Recording &recording, uint16_t call, MPI_Comm parent, MPI_Comm made) {
  if (!is_usable()) return;
  // Counted also where this process is not a member of the child: the others count it too.
  TableEntry *entry = find(bits_of(parent));
  uint64_t parent_gid = entry != nullptr ? entry->gid.load(std::memory_order_relaxed) : 0;
  uint32_t number = entry != nullptr ? entry->children.fetch_add(1, std::memory_order_relaxed) : 0;
  CommunicatorInfo info;
  Members members;
  if (made == handles.null_comm || !read_info(made, &info) || !read_members(recording, made, info, &members)) return;
  define_communicator(recording, made, info, members, child_gid(parent_gid, number, info, members), parent_gid,
                      recording.start(), call);
}

void add_group_communicator(Recording &recording, uint16_t call, MPI_Comm parent, int tag, MPI_Comm made) {
  CommunicatorInfo info;
  Members members;
  if (!is_usable() || made == handles.null_comm || !read_info(made, &info) ||
      !read_members(recording, made, info, &members))
    return;
  TableEntry *entry = find(bits_of(parent));
  uint64_t parent_gid = entry != nullptr ? entry->gid.load(std::memory_order_relaxed) : 0;
  uint64_t gid = mix(mix(parent_gid, static_cast<uint64_t>(tag)), hash_members(info, members));
  define_communicator(recording, made, info, members, nonzero(mix(gid, 0x67726f7570)), parent_gid, recording.start(), call);
}

void add_intercommunicator(Recording &recording, uint16_t call, int tag, MPI_Comm made) {
  CommunicatorInfo info;
  Members members;
  if (!is_usable() || made == handles.null_comm || !read_info(made, &info) ||
      !read_members(recording, made, info, &members))
    return;
  uint64_t gid = mix(mix(world_gid, static_cast<uint64_t>(tag)), hash_members(info, members));
  define_communicator(recording, made, info, members, nonzero(gid), 0, recording.start(), call);
}

RemovedCommunicator remove_communicator(MPI_Comm comm) {
  RemovedCommunicator removed = {bits_of(comm), 0, 0};
  if (TableEntry *entry = find(removed.handle)) {
    removed.gid = entry->gid.load(std::memory_order_relaxed);
    removed.children = entry->children.load(std::memory_order_relaxed);
    entry->handle.store(kRemoved, std::memory_order_release);
  }
  generation.fetch_add(1, std::memory_order_acq_rel);
  return removed;
}

void restore_communicator(const RemovedCommunicator &removed) {
  if (removed.gid != 0) insert(removed.handle, removed.gid, removed.children);
}

void define_freed(uint64_t handle, uint64_t time, uint16_t call) {
  CommunicatorDefinition definition = {};
  definition.header = {sizeof(definition), DefinitionKind::kCommunicatorFree, 0};
  definition.time = time;
  definition.handle = handle;
  definition.call = call;
  recorder_link->define(&definition.header);
}

uint64_t type_size(Recording &recording, MPI_Datatype type) {
  uint64_t handle = bits_of(type);
  uint32_t now = type_generation.load(std::memory_order_acquire);
  TypeSize *known = &cache_of(recording)->types[slot_of(handle) % kTypeSlots];
  if (__builtin_expect(known->handle == handle && known->generation == now, 1)) return known->size;
  MPI_Count size = 0;
  if (type == handles.null_type || is_over.load(std::memory_order_acquire)) return 0;
  if (mpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) size = 0;
  *known = {handle, static_cast<uint64_t>(size), now};
  return known->size;
}

void forget_type_sizes() { type_generation.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace slurmscope
