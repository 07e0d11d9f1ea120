// Shapes of MPI-IO: which file, how many bytes, where.
//
// Event::object is the id that the I/O wrappers give the file's path, so that MPI-IO and POSIX calls on
// one file meet in one row of the report. Bytes of a read are what its status says came in, those of a
// write count x type size. Event::offset is the byte that an explicit offset means in the file's view.
// What the library does underneath (POSIX calls, collectives) is nested and not recorded.
#pragma once

#include "profiler/mpi/handle_table.h"
#include "profiler/mpi/completion.h"

namespace slurmscope {

/// Files that are open: handle -> file id. Any thread; see handle_table.h.
struct OpenFile {
  std::atomic<uint32_t> id;
};
using OpenFiles = HandleTable<OpenFile, 4096>;
extern OpenFiles open_files;

/// 0: not known (opened where nothing was recorded).
inline uint32_t file_of(MPI_File file) {
  OpenFiles::Entry *entry = open_files.find(bits_of(file));
  return entry != nullptr ? entry->value.id.load(std::memory_order_relaxed) : 0;
}
/// The id of a file name as MPI has it, perhaps with a file system's name before it ("ufs:/tmp/x").
uint32_t file_of_name(const char *name);

inline void set_file(Event *event, MPI_File file) { event->object = file_of(file); }
/// The byte behind an explicit offset, which MPI counts in elements of the view.
inline void set_offset(Event *event, MPI_File file, MPI_Offset offset) {
  MPI_Offset byte = 0;
  if (mpi.File_get_byte_offset(file, offset, &byte) == MPI_SUCCESS) event->offset = byte;
}

/// file, ...
struct FileFirst : Regular<FileFirst> {
  template <typename... A> static void describe(Event *event, Recording &, MPI_File file, A...) { set_file(event, file); }
};

/// File_write*, File_iwrite*, File_write*_begin(file, [offset], buffer, count, type, [status or request]).
struct FileWrite : Regular<FileWrite> {
  static void set_end(Event *) {}
  static void set_end(Event *, MPI_Status *) {}
  static void set_end(Event *event, MPI_Request *request) { event->request = bits_of(*request); }

  template <typename Count, typename... End>
  static void describe(Event *event, Recording &recording, MPI_File file, const void *, Count count, MPI_Datatype type,
                       End... end) {
    set_file(event, file);
    event->bytes = payload(recording, count, type);
    set_end(event, end...);
  }
  template <typename Count, typename... End>
  static void describe(Event *event, Recording &recording, MPI_File file, MPI_Offset offset, const void *buffer,
                       Count count, MPI_Datatype type, End... end) {
    describe(event, recording, file, buffer, count, type, end...);
    set_offset(event, file, offset);
  }
};

/// File_iread*(file, [offset], buffer, count, type, request): its completion says how much came.
struct FileStartRead : Regular<FileStartRead> {
  template <typename... A> static void describe(Event *event, Recording &, MPI_File file, A... rest) {
    set_file(event, file);
    event->request = bits_of(*last_of(rest...));
    if constexpr (sizeof...(A) == 5) set_offset(event, file, first_of(rest...));
  }
};

/// File_read*_begin(file, [offset], buffer, count, type): counted at its end.
struct FileSplitRead : Regular<FileSplitRead> {
  template <typename... A> static void describe(Event *event, Recording &, MPI_File file, A... rest) {
    set_file(event, file);
    if constexpr (sizeof...(A) == 4) set_offset(event, file, first_of(rest...));
  }
};

/// File_read*(file, [offset], buffer, count, type, status).
struct FileRead {
  template <uint16_t id, typename... A>
  static int run(int (*real)(MPI_File, A...), CallSite site, MPI_File file, A... rest) {
    Recording recording(id);
    MPI_Status own = {};  // not every library fills it for an access of nothing
    MPI_Status *status = last_of(rest...);
    if (recording.recorder() != nullptr && status == MPI_STATUS_IGNORE) status = &own;
    int result = call(real, status, file, rest...);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        set_file(event, file);
        if constexpr (sizeof...(A) == 5) set_offset(event, file, first_of(rest...));
        event->bytes = received_bytes(*status);
      }
      recording.publish();
    }
    return result;
  }
  template <typename Count>
  static int call(int (*real)(MPI_File, void *, Count, MPI_Datatype, MPI_Status *), MPI_Status *status, MPI_File file,
                  void *buffer, Count count, MPI_Datatype type, MPI_Status *) {
    return real(file, buffer, count, type, status);
  }
  template <typename Count>
  static int call(int (*real)(MPI_File, MPI_Offset, void *, Count, MPI_Datatype, MPI_Status *), MPI_Status *status,
                  MPI_File file, MPI_Offset offset, void *buffer, Count count, MPI_Datatype type, MPI_Status *) {
    return real(file, offset, buffer, count, type, status);
  }
};

/// File_read*_end(file, buffer, status).
struct FileReadEnd {
  template <uint16_t id>
  static int run(int (*real)(MPI_File, void *, MPI_Status *), CallSite site, MPI_File file, void *buffer,
                 MPI_Status *status) {
    Recording recording(id);
    MPI_Status own = {};  // not every library fills it for an access of nothing
    if (recording.recorder() != nullptr && status == MPI_STATUS_IGNORE) status = &own;
    int result = real(file, buffer, status);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        set_file(event, file);
        event->bytes = received_bytes(*status);
      }
      recording.publish();
    }
    return result;
  }
};

/// File_open(comm, name, mode, info, new file). The name belongs to the file until it is closed, also if
/// recording is paused meanwhile.
struct FileOpen {
  template <uint16_t id>
  static int run(int (*real)(MPI_Comm, const char *, int, MPI_Info, MPI_File *), CallSite site, MPI_Comm comm,
                 const char *name, int mode, MPI_Info info, MPI_File *file) {
    Recording recording(id, 0, WhenPaused::kDefine);
    int result = real(comm, name, mode, info, file);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      if (result == MPI_SUCCESS) {
        uint32_t number = file_of_name(name);
        event->object = number;
        if (OpenFiles::Entry *entry = open_files.put(bits_of(*file)))
          entry->value.id.store(number, std::memory_order_release);
      }
      recording.publish();
    }
    return result;
  }
};

/// File_close(file).
struct FileClose {
  template <uint16_t id> static int run(int (*real)(MPI_File *), CallSite site, MPI_File *file) {
    Recording recording(id, 0, WhenPaused::kDefine);
    uint32_t number = 0;
    if (OpenFiles::Entry *entry = open_files.find(bits_of(*file))) {
      number = entry->value.id.load(std::memory_order_relaxed);
      OpenFiles::remove(entry);  // before: from the real call on another thread may get the handle anew
    }
    recording.restart();
    int result = real(file);
    if (Event *event = recording.finish()) {
      describe_outcome(event, site, result);
      event->object = number;
      recording.publish();
    }
    return result;
  }
};

/// File_delete(name, info).
struct FileDelete : Regular<FileDelete> {
  static void describe(Event *event, Recording &, const char *name, MPI_Info) { event->object = file_of_name(name); }
};

}  // namespace slurmscope
