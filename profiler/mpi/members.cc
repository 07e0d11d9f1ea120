// See members.h.
#include "profiler/mpi/members.h"

#include <atomic>
#include <cstring>

namespace slurmscope {
namespace {

constinit std::atomic<bool> has_session_world{false};
MPI_Group session_world;

// The group whose ranks name processes; `own`: to be freed by the caller.
bool open_world(MPI_Group *group, bool *own) {
  *own = !has_session_world.load(std::memory_order_acquire);
  if (*own) return mpi.Comm_group(handles.world, group) == MPI_SUCCESS;
  *group = session_world;
  return true;
}

bool translate(MPI_Group group, int size, int *numbers, int32_t *world_ranks) {
  MPI_Group world;
  bool own = false;
  if (!open_world(&world, &own)) return false;
  for (int i = 0; i < size; i++) numbers[i] = i;
  bool done = mpi.Group_translate_ranks(group, size, numbers, world, world_ranks) == MPI_SUCCESS;
  if (own) mpi.Group_free(&world);
  for (int i = 0; i < size; i++)
    if (world_ranks[i] < 0) world_ranks[i] = kPeerForeign;
  return done;
}

void close(Groups *groups) {
  mpi.Group_free(&groups->local);
  if (groups->has_remote) mpi.Group_free(&groups->remote);
}

}  // namespace

bool open_groups_of_communicator(MPI_Comm comm, Groups *groups) {
  int is_inter = 0;
  if (mpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || mpi.Comm_group(comm, &groups->local) != MPI_SUCCESS)
    return false;
  groups->has_remote = is_inter && mpi.Comm_remote_group(comm, &groups->remote) == MPI_SUCCESS;
  if (!is_inter || groups->has_remote) return true;
  close(groups);
  return false;
}

bool open_groups_of_window(MPI_Win window, Groups *groups) {
  return mpi.Win_get_group(window, &groups->local) == MPI_SUCCESS;
}

void set_session_world(MPI_Group group) {
  session_world = group;
  has_session_world.store(true, std::memory_order_release);
}

bool take_session_world(MPI_Group *group) {
  *group = session_world;
  return has_session_world.exchange(false, std::memory_order_acq_rel);
}

bool read_members(Recording &recording, Groups groups, const CommunicatorInfo &info, Members *members) {
  size_t local = static_cast<size_t>(info.size), remote = static_cast<size_t>(info.remote_size);
  size_t record = (sizeof(CommunicatorDefinition) + (local + remote) * sizeof(int32_t) + 7) / 8 * 8;
  size_t numbers = (local > remote ? local : remote) * sizeof(int32_t);
  auto *memory = static_cast<uint8_t *>(scratch(recording, record + numbers));
  bool done = memory != nullptr;
  if (done) {
    members->definition = reinterpret_cast<CommunicatorDefinition *>(memory);
    members->local = reinterpret_cast<int32_t *>(memory + sizeof(CommunicatorDefinition));
    members->remote = members->local + local;
    memset(memory + record - 8, 0, 8);
    *members->definition = {};
    members->definition->header = {static_cast<uint32_t>(record), DefinitionKind::kCommunicator, 0};
    members->definition->rank = info.rank;
    members->definition->size = info.size;
    members->definition->remote_size = info.remote_size;
    auto *scratch_numbers = reinterpret_cast<int *>(memory + record);
    done = translate(groups.local, info.size, scratch_numbers, members->local) &&
           (info.remote_size == 0 || translate(groups.remote, info.remote_size, scratch_numbers, members->remote));
  }
  close(&groups);
  return done;
}

uint64_t hash_members(const CommunicatorInfo &info, const Members &members) {
  uint64_t local = 1, remote = 1;
  for (int i = 0; i < info.size; i++) local = mix(local, static_cast<uint64_t>(members.local[i]));
  for (int i = 0; i < info.remote_size; i++) remote = mix(remote, static_cast<uint64_t>(members.remote[i]));
  return info.remote_size == 0 ? local : mix(0, local) + mix(0, remote);
}

uint64_t child_gid(uint64_t parent, uint32_t number, const CommunicatorInfo &info, const Members &members) {
  uint64_t hash = mix(mix(parent, number), 0x6368696c64);
  if (info.remote_size > 0) return nonzero(mix(hash, hash_members(info, members)));
  return nonzero(mix(hash, static_cast<uint64_t>(members.local[0])));
}

}  // namespace slurmscope
