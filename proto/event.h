// What a ring holds: one fixed-size event per intercepted call, as the application's thread saw it.
//
// Written by the recorder (profiler/preload), read by the drainer. Handles are the application's own
// bits; the drainer gives them meaning (communicator, world rank, request). Plain data, libc only.
#pragma once

#include <cstdint>

namespace slurmscope {

enum class EventKind : uint8_t {
  kCall = 0,      // one call from entry to exit
  kComplete = 1,  // a request ended inside the call before it in this ring: request, peer, tag, bytes
  kReceive = 2,   // the receiving half of the call before it (Sendrecv): peer, tag, bytes
  kPolls = 3,     // calls that asked and found nothing (MPI_Iprobe, MPI_Test, ...), see PollRow in ring.h:
                  // start of the first, end of the last, `request` calls, `offset` ticks inside them
  kStart = 4,     // the call before it started this request too (Startall): request
};

// Bits of Event::flags.
constexpr uint8_t kEventFailed = 1;     // the call returned an error
constexpr uint8_t kEventCancelled = 2;  // kComplete: the request was cancelled; no data moved
constexpr uint8_t kEventMessage = 4;    // peer, tag and bytes describe one point-to-point message
constexpr uint8_t kEventDirect = 8;     // the file was opened with O_DIRECT

// Values of Event::peer that are not ranks. MPI's own constants differ between implementations: the
// backend translates them.
constexpr int32_t kPeerNone = -1;       // the call has no peer or root, or it is not significant
constexpr int32_t kPeerProcNull = -2;   // MPI_PROC_NULL: nothing moves
constexpr int32_t kPeerAnySource = -3;  // MPI_ANY_SOURCE, not known yet
constexpr int32_t kPeerRoot = -4;       // MPI_ROOT in an intercommunicator
constexpr int32_t kPeerForeign = -5;    // a process of another MPI_COMM_WORLD (spawned, connected)

/// One cache line. Times are ticks of the node's clock (see ProcessFile::clock).
struct alignas(64) Event {
  uint64_t start;    // at entry
  uint64_t end;      // at exit
  uint16_t call;     // CallId (profiler/preload/call_table.h)
  EventKind kind;
  uint8_t flags;
  uint32_t site;     // id given by a SiteDefinition of this process; 0 = unknown
  uint64_t bytes;    // payload of the call or message; for a receive what arrived
  int32_t peer;      // rank within the communicator, or kPeer*; I/O: the file descriptor
  int32_t tag;       // message tag; I/O: errno if kEventFailed
  uint64_t object;   // MPI: communicator or window handle bits, of a matched receive the message's; I/O and
                     // MPI-IO: file id given by a FileDefinition, 0 = none
  uint64_t request;  // handle bits of the request that this call made or completed; 0 = none
  int64_t offset;    // I/O: file offset of a positioned call, new position of a seek; else -1
};
static_assert(sizeof(Event) == 64);

// Definitions: variable-length records in the thread's definition ring. They are published before the
// first event that uses them, by whichever thread learned of them; the drainer reads the heads of all
// event rings first and all definition rings after, so no event overtakes its definition.
enum class DefinitionKind : uint16_t {
  kPadding = 0,           // fills the ring up to its end
  kCommunicator = 1,      // CommunicatorDefinition + int32 members[size] + int32 remote[remote_size]; also a window
  kCommunicatorFree = 2,  // CommunicatorDefinition with sizes 0: `handle` means nothing from `time` on
  kFile = 3,              // FileDefinition + path
  kSite = 4,              // SiteDefinition + uint64 return addresses[depth], innermost first
  kNote = 5,              // NoteDefinition + text: a warning for the report
  kCounter = 6,           // CounterDefinition + name
  kThread = 7,            // ThreadDefinition: the ring belongs to this thread from `time` on
  kCounterSample = 8,     // CounterSample + int64 values[count]; only in sample rings
  kStackSample = 9,       // StackSample + uint64 addresses[depth]; only in sample rings
};

struct DefinitionHeader {  // 8-byte aligned; `size` includes this header and is a multiple of 8
  uint32_t size;
  DefinitionKind kind;
  uint16_t reserved;
};
struct CommunicatorDefinition {
  DefinitionHeader header;
  uint64_t time;         // ticks: valid for calls that start at or after it
  uint64_t handle;       // the application's handle bits
  uint64_t gid;          // the same on all members, from the parent's gid, its count and the members
  uint64_t parent_gid;   // 0 = none
  int32_t rank;          // this process's rank in it
  int32_t size;          // of the local group: that many world ranks follow
  int32_t remote_size;   // of the remote group of an intercommunicator: that many follow; else 0
  uint32_t call;         // CallId that made it
};
struct FileDefinition {
  DefinitionHeader header;
  uint64_t time;
  uint32_t id;           // unique within the process, from 1
  uint32_t path_size;    // bytes of path, no terminator
  uint64_t mount;        // id of its mount as in /proc/PID/mountinfo; 0 = unknown
};
struct SiteDefinition {
  DefinitionHeader header;
  uint32_t id;           // unique within the process, from 1
  uint16_t depth;
  uint16_t truncated;    // 1: the path goes on beyond what follows
};
struct NoteDefinition {
  DefinitionHeader header;
  uint64_t time;
  uint32_t text_size;
  uint32_t reserved;
};
struct CounterDefinition {
  DefinitionHeader header;
  uint32_t id;           // unique within the process, from 0; position in CounterSample values
  uint32_t name_size;
};
struct ThreadDefinition {
  DefinitionHeader header;
  uint64_t time;
  uint32_t tid;
  uint32_t is_main;
};
struct CounterSample {
  DefinitionHeader header;
  uint64_t time;
  uint32_t count;        // values of counters 0 to count-1 follow, cumulative since the start of counting;
                         // counters with higher ids are not known (yet, or not to this thread)
  uint32_t is_last;      // 1: read at the end of the thread's or process's life
};
struct StackSample {
  DefinitionHeader header;
  uint64_t time;
  uint32_t depth;        // addresses follow, innermost first: the interrupted instruction + 1, then
                         // return addresses, so that one less than each lies in the code that ran
  uint32_t truncated;    // 1: the stack was deeper than what follows
};

}  // namespace slurmscope
