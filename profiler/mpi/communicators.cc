// See communicators.h.
//
// The table of the process holds what a handle's successors need: its global id, how many children it
// has. What is not in it (a full table) gets a global id from its members alone.
#include "profiler/mpi/communicators.h"

#include <cstring>

#include "profiler/mpi/handle_table.h"
#include "profiler/mpi/members.h"

namespace slurmscope {
namespace {

constexpr uint32_t kCacheSlots = 32, kTypeSlots = 64;

struct History {
  std::atomic<uint64_t> gid;
  std::atomic<uint32_t> children;
};
using Table = HandleTable<History, 8192>;
constinit Table table = {};
constinit std::atomic<uint32_t> generation{1};   // changes whenever a communicator or window is freed
constinit std::atomic<uint32_t> type_generation{1};
constinit std::atomic<bool> world_is_known{false}, is_over{false};
constinit int32_t world_rank = -1;
constinit uint64_t world_gid = 0;

struct TypeSize {
  uint64_t handle, size;
  uint32_t generation;
};

/// What a thread remembers; lies zeroed in ThreadRecorder::backend_cache.
struct Cache {
  CommunicatorInfo communicators[kCacheSlots];
  CommunicatorInfo unknown;
  TypeSize types[kTypeSlots];
};
static_assert(sizeof(Cache) <= kBackendCacheBytes);

Cache *cache_of(Recording &recording) { return static_cast<Cache *>(recording.recorder()->backend_cache); }

void remember(uint64_t handle, uint64_t gid, uint32_t children) {
  Table::Entry *entry = table.put(handle);
  if (entry == nullptr) {
    if (handle == 0) return;
    recorder_link->note("more than 8191 communicators and windows at a time: some have no history");
    return;
  }
  entry->value.gid.store(gid, std::memory_order_relaxed);
  entry->value.children.store(children, std::memory_order_release);
}

bool read_info(MPI_Comm comm, CommunicatorInfo *info) {
  int is_inter = 0;
  *info = {};
  if (mpi.Comm_rank(comm, &info->rank) != MPI_SUCCESS || mpi.Comm_size(comm, &info->size) != MPI_SUCCESS ||
      mpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS)
    return false;
  return !is_inter || mpi.Comm_remote_size(comm, &info->remote_size) == MPI_SUCCESS;
}

bool read_window_info(MPI_Win window, CommunicatorInfo *info) {
  MPI_Group group;
  *info = {};
  if (mpi.Win_get_group(window, &group) != MPI_SUCCESS) return false;
  bool done = mpi.Group_rank(group, &info->rank) == MPI_SUCCESS && mpi.Group_size(group, &info->size) == MPI_SUCCESS;
  mpi.Group_free(&group);
  return done;
}

void define(uint64_t handle, const Members &members, uint64_t gid, uint64_t parent_gid, uint64_t time, uint16_t call) {
  CommunicatorDefinition *definition = members.definition;
  definition->time = time;
  definition->handle = handle;
  definition->gid = gid;
  definition->parent_gid = parent_gid;
  definition->call = call;
  remember(handle, gid, 0);
  recorder_link->define(&definition->header);
}

bool is_usable() { return world_is_known.load(std::memory_order_acquire) && !is_over.load(std::memory_order_acquire); }

// MPI_Init* was not seen (attached late, another thread): ask MPI itself.
bool learn_world_late(Recording &recording) {
  if (is_over.load(std::memory_order_acquire)) return false;
  int started = 0, ended = 0;
  if (mpi.Initialized(&started) != MPI_SUCCESS || !started) return false;
  if (mpi.Finalized(&ended) != MPI_SUCCESS || ended) return false;
  learn_world(recording, 0, 0, kCallNone);
  return is_usable();
}

void publish_identity(ProcessFile *file, const CommunicatorInfo &world, uint64_t init_start, uint64_t init_end) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  file->world_rank = world_rank = world.rank;
  file->world_size = world.size;
  if (mpi.Get_library_version(text, &length) == MPI_SUCCESS) {
    size_t size = 0;
    while (size + 1 < sizeof(file->mpi_library) && text[size] != 0 && text[size] != '\n') size++;
    memcpy(file->mpi_library, text, size);
    file->mpi_library[size] = 0;
  }
  file->init_start = init_start;
  file->init_end = init_end;
  file->mpi_ready.store(1, std::memory_order_release);
  world_gid = tag_of_text(file->world_id);
}

void publish_thread_level(ProcessFile *file) {
  int level = 0;
  if (mpi.Query_thread(&level) != MPI_SUCCESS) return;
  constexpr int kLevels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  for (int i = 0; i < 4; i++)
    if (level == kLevels[i]) file->thread_level = i;
}

// Looks a handle up by its bits; `read` gets what the cache has of it, `open` its groups.
template <typename Handle>
const CommunicatorInfo *look_up(Recording &recording, Handle object, bool (*read)(Handle, CommunicatorInfo *),
                                bool (*open)(Handle, Groups *)) {
  Cache *cache = cache_of(recording);
  uint64_t handle = bits_of(object);
  uint32_t now = generation.load(std::memory_order_acquire);
  CommunicatorInfo *info = &cache->communicators[handle_slot(handle) % kCacheSlots];
  if (__builtin_expect(info->handle == handle && info->generation == now, 1)) return info;
  cache->unknown = {};
  if (handle == 0 || (!is_usable() && !learn_world_late(recording))) return &cache->unknown;
  if (!read(object, info)) {
    *info = {};
    return &cache->unknown;
  }
  if (table.find(handle) == nullptr) {
    Groups groups;
    Members members;
    if (open(object, &groups) && read_members(recording, groups, *info, &members))
      define(handle, members, nonzero(mix(world_gid, hash_members(*info, members))), 0, recording.start(), kCallNone);
  }
  info->handle = handle;
  info->generation = now;
  return info;
}

struct Made {
  CommunicatorInfo info;
  Members members;
};

bool read_made(Recording &recording, MPI_Comm comm, Made *made) {
  Groups groups;
  return is_usable() && comm != handles.null_comm && read_info(comm, &made->info) &&
         open_groups_of_communicator(comm, &groups) && read_members(recording, groups, made->info, &made->members);
}

bool read_made_window(Recording &recording, MPI_Win window, Made *made) {
  Groups groups;
  return is_usable() && read_window_info(window, &made->info) && open_groups_of_window(window, &groups) &&
         read_members(recording, groups, made->info, &made->members);
}

uint64_t gid_of(uint64_t handle) {
  Table::Entry *entry = handle != 0 ? table.find(handle) : nullptr;
  return entry != nullptr ? entry->value.gid.load(std::memory_order_relaxed) : 0;
}

// Counted also where this process is not a member of the child: the others count it too.
uint32_t count_child(uint64_t parent) {
  Table::Entry *entry = table.find(parent);
  return entry != nullptr ? entry->value.children.fetch_add(1, std::memory_order_relaxed) : 0;
}

}  // namespace

uint64_t tag_of_text(const char *text) {
  uint64_t hash = 0x776f726c64;
  for (; *text != 0; text++) hash = mix(hash, static_cast<unsigned char>(*text));
  return nonzero(hash);
}

void learn_world(Recording &recording, uint64_t init_start, uint64_t init_end, uint16_t call) {
  ProcessFile *file = recorder_link->process_file();
  bool known = false;
  if (file == nullptr || !world_is_known.compare_exchange_strong(known, true)) return;
  Made made;
  if (!read_info(handles.world, &made.info)) return;
  publish_thread_level(file);
  publish_identity(file, made.info, init_start, init_end);
  uint64_t time = init_start != 0 ? init_start : recording.start();
  if (read_made(recording, handles.world, &made))
    define(bits_of(handles.world), made.members, world_gid, 0, time, call);
  uint64_t self_gid = nonzero(mix(mix(world_gid, static_cast<uint64_t>(world_rank)), 0x73656c66));
  if (read_made(recording, handles.self, &made)) define(bits_of(handles.self), made.members, self_gid, 0, time, call);
}

#if MPI_VERSION >= 4
namespace {
constinit std::atomic<uint64_t> world_session{0};  // whose group names the ranks
}

void learn_session(Recording &, MPI_Session session, uint64_t init_start, uint64_t init_end) {
  ProcessFile *file = recorder_link->process_file();
  MPI_Group group;
  CommunicatorInfo info = {};
  if (file == nullptr || world_is_known.load(std::memory_order_acquire) || mpi.Group_from_session_pset == nullptr ||
      mpi.Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS)
    return;
  bool known = false;
  if (mpi.Group_rank(group, &info.rank) == MPI_SUCCESS && mpi.Group_size(group, &info.size) == MPI_SUCCESS &&
      world_is_known.compare_exchange_strong(known, true)) {
    set_session_world(group);
    world_session.store(bits_of(session), std::memory_order_release);
    publish_identity(file, info, init_start, init_end);
  } else {
    mpi.Group_free(&group);
  }
}

void forget_session(MPI_Session session) {
  uint64_t wanted = bits_of(session);
  MPI_Group group;
  if (wanted == 0 || !world_session.compare_exchange_strong(wanted, 0)) return;
  world_is_known.store(false, std::memory_order_release);
  if (take_session_world(&group)) mpi.Group_free(&group);
}
#endif

void end_communicators() { is_over.store(true, std::memory_order_release); }

const CommunicatorInfo *communicator_info(Recording &recording, MPI_Comm comm) {
  if (__builtin_expect(comm == handles.null_comm, 0)) {
    Cache *cache = cache_of(recording);
    cache->unknown = {};
    return &cache->unknown;
  }
  return look_up(recording, comm, read_info, open_groups_of_communicator);
}

const CommunicatorInfo *window_info(Recording &recording, MPI_Win window) {
  return look_up(recording, window, read_window_info, open_groups_of_window);
}

const CommunicatorInfo *neighborhood_info(Recording &recording, MPI_Comm comm) {
  auto *info = const_cast<CommunicatorInfo *>(communicator_info(recording, comm));
  if (info->handle == 0 || info->neighbors != 0) return info;
  int kind = MPI_UNDEFINED, number = 0, in = 0, weighted = 0, from = 0, to = 0;
  if (mpi.Topo_test(comm, &kind) != MPI_SUCCESS) return info;
  if (kind == MPI_CART && mpi.Cartdim_get(comm, &number) == MPI_SUCCESS) {
    for (int i = 0; i < number && i < 16; i++)
      if (mpi.Cart_shift(comm, i, 1, &from, &to) == MPI_SUCCESS)
        info->null_neighbors |= uint32_t{from == MPI_PROC_NULL} << (2 * i) | uint32_t{to == MPI_PROC_NULL} << (2 * i + 1);
    number *= 2;
  } else if (kind == MPI_GRAPH) {
    mpi.Graph_neighbors_count(comm, info->rank, &number);
  } else if (kind == MPI_DIST_GRAPH) {
    mpi.Dist_graph_neighbors_count(comm, &in, &number, &weighted);
  }
  info->neighbors = number + 1;
  return info;
}

void add_communicator(Recording &recording, uint16_t call, MPI_Comm parent, MPI_Comm comm) {
  if (!is_usable()) return;
  uint64_t parent_gid = gid_of(bits_of(parent));
  uint32_t number = count_child(bits_of(parent));
  Made made;
  if (read_made(recording, comm, &made))
    define(bits_of(comm), made.members, child_gid(parent_gid, number, made.info, made.members), parent_gid,
           recording.start(), call);
}

void add_window(Recording &recording, uint16_t call, MPI_Comm parent, MPI_Win window) {
  if (!is_usable()) return;
  uint64_t parent_gid = gid_of(bits_of(parent));
  uint32_t number = count_child(bits_of(parent));
  Made made;
  if (read_made_window(recording, window, &made))
    define(bits_of(window), made.members, child_gid(parent_gid, number, made.info, made.members), parent_gid,
           recording.start(), call);
}

void add_tagged_communicator(Recording &recording, uint16_t call, uint64_t parent, uint64_t tag, MPI_Comm comm) {
  Made made;
  if (!read_made(recording, comm, &made)) return;
  uint64_t parent_gid = gid_of(parent);
  uint64_t gid = mix(mix(parent_gid != 0 ? parent_gid : world_gid, tag), hash_members(made.info, made.members));
  define(bits_of(comm), made.members, nonzero(mix(gid, 0x67726f7570)), parent_gid, recording.start(), call);
}

RemovedHandle remove_handle(uint64_t handle) {
  RemovedHandle removed = {handle, 0, 0};
  if (Table::Entry *entry = table.find(handle)) {
    removed.gid = entry->value.gid.load(std::memory_order_relaxed);
    removed.children = entry->value.children.load(std::memory_order_relaxed);
    Table::remove(entry);
  }
  generation.fetch_add(1, std::memory_order_acq_rel);
  return removed;
}

void restore_handle(const RemovedHandle &removed) {
  if (removed.gid != 0) remember(removed.handle, removed.gid, removed.children);
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
  TypeSize *known = &cache_of(recording)->types[handle_slot(handle) % kTypeSlots];
  if (__builtin_expect(known->handle == handle && known->generation == now, 1)) return known->size;
  MPI_Count size = 0;
  if (type == handles.null_type || is_over.load(std::memory_order_acquire)) return 0;
  if (mpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) size = 0;
  *known = {handle, static_cast<uint64_t>(size), now};
  return known->size;
}

void forget_type_sizes() { type_generation.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace slurmscope
