// Shapes of io_calls.def, continued (see io_shapes.h): C streams (io_streams.h).
//
// A look-up cannot stand in for these functions, and no allocator uses them while it starts.
#pragma once

#include "profiler/io/io_shapes.h"
#include "profiler/io/io_streams.h"

/// The function of another name that `name` forwards to, because it is variadic.
#define IO_REAL_LIST(name, parameters)                                                             \
  static slurmscope::RealFunction<int parameters, IO_LIST_TWIN_##name, (slurmscope::fallback::missing<-1>)> real_##name;
#define IO_LIST_TWIN_fscanf "vfscanf"
#define IO_LIST_TWIN_vfscanf "vfscanf"
#define IO_LIST_TWIN___isoc99_fscanf "__isoc99_vfscanf"
#define IO_LIST_TWIN___isoc99_vfscanf "__isoc99_vfscanf"
#define IO_LIST_TWIN___isoc23_fscanf "__isoc23_vfscanf"
#define IO_LIST_TWIN___isoc23_vfscanf "__isoc23_vfscanf"
#define IO_LIST_TWIN_scanf "vscanf"
#define IO_LIST_TWIN_vscanf "vscanf"
#define IO_LIST_TWIN___isoc99_scanf "__isoc99_vscanf"
#define IO_LIST_TWIN___isoc99_vscanf "__isoc99_vscanf"
#define IO_LIST_TWIN___isoc23_scanf "__isoc23_vscanf"
#define IO_LIST_TWIN___isoc23_vscanf "__isoc23_vscanf"
#define IO_LIST_TWIN_fprintf "vfprintf"
#define IO_LIST_TWIN_vfprintf "vfprintf"
#define IO_LIST_TWIN___fprintf_chk "__vfprintf_chk"
#define IO_LIST_TWIN___vfprintf_chk "__vfprintf_chk"
#define IO_LIST_TWIN_printf "vprintf"
#define IO_LIST_TWIN_vprintf "vprintf"
#define IO_LIST_TWIN___printf_chk "__vprintf_chk"
#define IO_LIST_TWIN___vprintf_chk "__vprintf_chk"
#define IO_LIST_TWIN_dprintf "vdprintf"
#define IO_LIST_TWIN_vdprintf "vdprintf"
#define IO_LIST_TWIN___dprintf_chk "__vdprintf_chk"
#define IO_LIST_TWIN___vdprintf_chk "__vdprintf_chk"

/// A wrapper that the compiler knows under a name of its own: the header has `name` as an inline function, or under
/// another symbol (scanf is __isoc99_scanf in C++).
#define IO_EXPORT_AS(result, name, parameters)                                                     \
  IO_EXPORT result wrapper_of_##name parameters __asm__(#name);                                    \
  IO_EXPORT result wrapper_of_##name parameters

// ---- opening and closing
#define IO_SHAPE_StreamOpen(name, call)                                                            \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT FILE *name(const char *path, const char *mode) {                                       \
    return object_open_call(kCall_##call, path, slurmscope::descriptor_of,                         \
                            [=] { return real_##name.get()(path, mode); });                        \
  }
#define IO_SHAPE_StreamReopen(name, call)                                                          \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT FILE *name(const char *path, const char *mode, FILE *stream) {                         \
    return stream_reopen_call(kCall_##call, path, stream,                                          \
                              [=] { return real_##name.get()(path, mode, stream); });              \
  }
#define IO_SHAPE_StreamOver(name, call)                                                            \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT FILE *name(int fd, const char *mode) __THROW {                                         \
    FILE *stream = nullptr;                                                                        \
    descriptor_status_call(kCall_##call, fd, kNoOffset, [&] {                                      \
      stream = real_##name.get()(fd, mode);                                                        \
      return stream != nullptr ? 0 : -1;                                                           \
    });                                                                                            \
    return stream;                                                                                 \
  }
#define IO_SHAPE_StreamClose(name, call)                                                           \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(FILE *stream) {                                                               \
    return stream_close_call(kCall_##call, stream, [=] { return real_##name.get()(stream); });     \
  }

// ---- blocks and lines
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
// Of a line with zero bytes in it, what comes before the first is counted.
#define IO_LINE_SHAPE(name, call, parameters, arguments)                                           \
  IO_REAL(name, (slurmscope::fallback::missing<nullptr>))                                          \
  IO_EXPORT char *name parameters {                                                                \
    return stream_text_call(kCall_##call, stream, [=] { return real_##name.get() arguments; }, [=](char *line) { \
      return line != nullptr ? static_cast<ssize_t>(strlen(line)) : nothing_read_from(stream);     \
    });                                                                                            \
  }
#define IO_SHAPE_StreamLine(name, call)                                                            \
  IO_LINE_SHAPE(name, call, (char *buffer, int size, FILE *stream), (buffer, size, stream))
#define IO_SHAPE_StreamLineFortified(name, call)                                                   \
  IO_LINE_SHAPE(name, call, (char *buffer, size_t room, int size, FILE *stream), (buffer, room, size, stream))
#define IO_DELIMITED_SHAPE(name, call, parameters, arguments)                                      \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT_AS(ssize_t, name, parameters) {                                                        \
    return stream_text_call(kCall_##call, stream, [=] { return real_##name.get() arguments; },     \
                            [=](ssize_t got) { return got >= 0 ? got : nothing_read_from(stream); }); \
  }
#define IO_SHAPE_StreamGetLine(name, call)                                                         \
  IO_DELIMITED_SHAPE(name, call, (char **line, size_t *size, FILE *stream), (line, size, stream))
#define IO_SHAPE_StreamGetDelimited(name, call)                                                    \
  IO_DELIMITED_SHAPE(name, call, (char **line, size_t *size, int end, FILE *stream), (line, size, end, stream))
#define IO_SHAPE_StreamText(name, call)                                                            \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const char *text, FILE *stream) {                                             \
    return stream_text_call(kCall_##call, stream, [=] { return real_##name.get()(text, stream); }, \
                            [=](int result) { return result < 0 ? -1 : static_cast<ssize_t>(strlen(text)); }); \
  }
#define IO_SHAPE_Text(name, call)                                                                  \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(const char *text) {                                                           \
    return stream_text_call(kCall_##call, stdout, [=] { return real_##name.get()(text); },         \
                            [=](int result) { return result < 0 ? -1 : static_cast<ssize_t>(strlen(text)) + 1; }); \
  }

// ---- scanned and formatted; the stream of `scanf` and `printf` is standard input or output
#define IO_TAKE_LIST(last, statement)                                                              \
  va_list list;                                                                                    \
  va_start(list, last);                                                                            \
  int result = statement;                                                                          \
  va_end(list);                                                                                    \
  return result;
#define IO_SHAPE_StreamScan(name, call)                                                            \
  IO_REAL_LIST(name, (FILE *, const char *, va_list))                                              \
  IO_EXPORT_AS(int, name, (FILE * stream, const char *format, ...)) {                              \
    IO_TAKE_LIST(format, stream_scan_call(kCall_##call, stream, [&] { return real_##name.get()(stream, format, list); })) \
  }
#define IO_SHAPE_StreamScanList(name, call)                                                        \
  IO_REAL_LIST(name, (FILE *, const char *, va_list))                                              \
  IO_EXPORT_AS(int, name, (FILE * stream, const char *format, va_list list)) {                     \
    return stream_scan_call(kCall_##call, stream, [&] { return real_##name.get()(stream, format, list); }); \
  }
#define IO_SHAPE_Scan(name, call)                                                                  \
  IO_REAL_LIST(name, (const char *, va_list))                                                      \
  IO_EXPORT_AS(int, name, (const char *format, ...)) {                                             \
    IO_TAKE_LIST(format, stream_scan_call(kCall_##call, stdin, [&] { return real_##name.get()(format, list); })) \
  }
#define IO_SHAPE_ScanList(name, call)                                                              \
  IO_REAL_LIST(name, (const char *, va_list))                                                      \
  IO_EXPORT_AS(int, name, (const char *format, va_list list)) {                                    \
    return stream_scan_call(kCall_##call, stdin, [&] { return real_##name.get()(format, list); }); \
  }
#define IO_PRINT(name, call, stream, arguments)                                                    \
  stream_text_call(kCall_##call, stream, [&] { return real_##name.get() arguments; },              \
                   [](int printed) { return static_cast<ssize_t>(printed); })
#define IO_SHAPE_StreamPrint(name, call)                                                           \
  IO_REAL_LIST(name, (FILE *, const char *, va_list))                                              \
  IO_EXPORT_AS(int, name, (FILE * stream, const char *format, ...)) {                              \
    IO_TAKE_LIST(format, IO_PRINT(name, call, stream, (stream, format, list)))                     \
  }
#define IO_SHAPE_StreamPrintList(name, call)                                                       \
  IO_REAL_LIST(name, (FILE *, const char *, va_list))                                              \
  IO_EXPORT_AS(int, name, (FILE * stream, const char *format, va_list list)) {                     \
    return IO_PRINT(name, call, stream, (stream, format, list));                                   \
  }
#define IO_SHAPE_StreamPrintFortified(name, call)                                                  \
  IO_REAL_LIST(name, (FILE *, int, const char *, va_list))                                         \
  IO_EXPORT_AS(int, name, (FILE * stream, int flag, const char *format, ...)) {                    \
    IO_TAKE_LIST(format, IO_PRINT(name, call, stream, (stream, flag, format, list)))               \
  }
#define IO_SHAPE_StreamPrintListFortified(name, call)                                              \
  IO_REAL_LIST(name, (FILE *, int, const char *, va_list))                                         \
  IO_EXPORT_AS(int, name, (FILE * stream, int flag, const char *format, va_list list)) {           \
    return IO_PRINT(name, call, stream, (stream, flag, format, list));                             \
  }
#define IO_SHAPE_Print(name, call)                                                                 \
  IO_REAL_LIST(name, (const char *, va_list))                                                      \
  IO_EXPORT_AS(int, name, (const char *format, ...)) {                                             \
    IO_TAKE_LIST(format, IO_PRINT(name, call, stdout, (format, list)))                             \
  }
#define IO_SHAPE_PrintList(name, call)                                                             \
  IO_REAL_LIST(name, (const char *, va_list))                                                      \
  IO_EXPORT_AS(int, name, (const char *format, va_list list)) {                                    \
    return IO_PRINT(name, call, stdout, (format, list));                                           \
  }
#define IO_SHAPE_PrintFortified(name, call)                                                        \
  IO_REAL_LIST(name, (int, const char *, va_list))                                                 \
  IO_EXPORT_AS(int, name, (int flag, const char *format, ...)) {                                   \
    IO_TAKE_LIST(format, IO_PRINT(name, call, stdout, (flag, format, list)))                       \
  }
#define IO_SHAPE_PrintListFortified(name, call)                                                    \
  IO_REAL_LIST(name, (int, const char *, va_list))                                                 \
  IO_EXPORT_AS(int, name, (int flag, const char *format, va_list list)) {                          \
    return IO_PRINT(name, call, stdout, (flag, format, list));                                     \
  }
#define IO_DESCRIPTOR_PRINT(name, call, fd, arguments)                                             \
  descriptor_call<true>(kCall_##call, fd, kNoOffset, [&] { return real_##name.get() arguments; })
#define IO_SHAPE_DescriptorPrint(name, call)                                                       \
  IO_REAL_LIST(name, (int, const char *, va_list))                                                 \
  IO_EXPORT_AS(int, name, (int fd, const char *format, ...)) {                                     \
    IO_TAKE_LIST(format, IO_DESCRIPTOR_PRINT(name, call, fd, (fd, format, list)))                  \
  }
#define IO_SHAPE_DescriptorPrintList(name, call)                                                   \
  IO_REAL_LIST(name, (int, const char *, va_list))                                                 \
  IO_EXPORT_AS(int, name, (int fd, const char *format, va_list list)) {                            \
    return IO_DESCRIPTOR_PRINT(name, call, fd, (fd, format, list));                                \
  }
#define IO_SHAPE_DescriptorPrintFortified(name, call)                                              \
  IO_REAL_LIST(name, (int, int, const char *, va_list))                                            \
  IO_EXPORT_AS(int, name, (int fd, int flag, const char *format, ...)) {                           \
    IO_TAKE_LIST(format, IO_DESCRIPTOR_PRINT(name, call, fd, (fd, flag, format, list)))            \
  }
#define IO_SHAPE_DescriptorPrintListFortified(name, call)                                          \
  IO_REAL_LIST(name, (int, int, const char *, va_list))                                            \
  IO_EXPORT_AS(int, name, (int fd, int flag, const char *format, va_list list)) {                  \
    return IO_DESCRIPTOR_PRINT(name, call, fd, (fd, flag, format, list));                          \
  }

// ---- flushing and positioning
#define IO_SHAPE_StreamFlush(name, call)                                                           \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(FILE *stream) {                                                               \
    return stream_flush_call(kCall_##call, stream, [=] { return real_##name.get()(stream); });     \
  }
#define IO_SHAPE_StreamSeek(name, call)                                                            \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(FILE *stream, off64_t offset, int whence) {                                   \
    return stream_seek_call(kCall_##call, stream, [=] { return real_##name.get()(stream, offset, whence); }); \
  }
#define IO_SET_POSITION_SHAPE(name, call, type)                                                    \
  IO_REAL_OR_FAIL(name)                                                                            \
  IO_EXPORT int name(FILE *stream, const type *position) {                                         \
    return stream_seek_call(kCall_##call, stream, [=] { return real_##name.get()(stream, position); }); \
  }
#define IO_SHAPE_StreamSetPosition(name, call) IO_SET_POSITION_SHAPE(name, call, fpos_t)
#define IO_SHAPE_StreamSetPosition64(name, call) IO_SET_POSITION_SHAPE(name, call, fpos64_t)
#define IO_SHAPE_StreamRewind(name, call)                                                          \
  IO_REAL(name, (slurmscope::fallback::missing<0>))                                                \
  IO_EXPORT void name(FILE *stream) {                                                              \
    stream_seek_call(kCall_##call, stream, [=] {                                                   \
      real_##name.get()(stream);                                                                   \
      return 0;                                                                                    \
    });                                                                                            \
  }
