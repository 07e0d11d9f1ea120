// Shapes of io_calls.def, continued (see io_shapes.h): C streams.
#pragma once

#include "profiler/io/io_shapes.h"

// ---- streams; a look-up cannot stand in for them, and no allocator uses them while it starts
#define IO_SHAPE_StreamOpen(name, call)                                                            \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT FILE *name(const char *path, const char *mode) {                                       \
    return stream_open_call(kCall_##call, path, [=] { return real_##name.get()(path, mode); });    \
  }
#define IO_SHAPE_StreamClose(name, call)                                                           \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(FILE *stream) {                                                               \
    return stream_close_call(kCall_##call, stream, [=] { return real_##name.get()(stream); });     \
  }
#define IO_SHAPE_StreamRead(name, call)                                                            \
  IO_REAL(name, (slurmscope::fallback::missing<0>))                                                \
  IO_EXPORT size_t name(void *buffer, size_t size, size_t count, FILE *stream) {                   \
    return stream_call(kCall_##call, stream, size, count,                                          \
                       [=] { return real_##name.get()(buffer, size, count, stream); });            \
  }
#define IO_SHAPE_StreamReadFortified(name, call)                                                   \
  IO_REAL(name, (slurmscope::fallback::missing<0>))                                                \
  IO_EXPORT size_t name(void *buffer, size_t room, size_t size, size_t count, FILE *stream) {      \
    return stream_call(kCall_##call, stream, size, count,                                          \
                       [=] { return real_##name.get()(buffer, room, size, count, stream); });      \
  }
#define IO_SHAPE_StreamWrite(name, call)                                                           \
  IO_REAL(name, (slurmscope::fallback::missing<0>))                                                \
  IO_EXPORT size_t name(const void *buffer, size_t size, size_t count, FILE *stream) {             \
    return stream_call(kCall_##call, stream, size, count,                                          \
                       [=] { return real_##name.get()(buffer, size, count, stream); });            \
  }
