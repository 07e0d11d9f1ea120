// The reader and the tools over the bytes of a trace. See hostile_input.h.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <protozero/pbf_reader.hpp>

#include "proto/error.h"
#include "proto/trace_reader.h"
#include "proto/zstd_frames.h"
#include "tests/fuzz/hostile_input.h"
#include "tools/export/event_text.h"
#include "tools/export/exporters.h"
#include "tools/model/load_run.h"
#include "tools/model/verify_file.h"
#include "tools/report/report.h"

namespace slurmscope::test {
namespace {

/// Bytes as a file with a name.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("hostile", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("no memory file");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  const std::string &path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

/// A header and an index begin frames of their own, as the writer's do.
bool begins_frame(std::string_view packet) {
  protozero::pbf_reader body{packet.data(), packet.size()};
  return body.next() && (body.tag() == v1::Packet::kHeaderFieldNumber || body.tag() == v1::Packet::kIndexFieldNumber);
}

void read_events_of(const std::string &file) {
  StreamSet set;
  set.add_bytes("hostile", file);
  set.finish();
  if (set.streams.empty()) return;
  TraceVisitor visitor;
  visitor.events = [&](uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows) {
    for (bool csv : {false, true}) events_text(*set.streams.front(), process, thread, rows, csv);
  };
  read_trace_bytes("hostile", file, visitor);
}

}  // namespace

bool is_trace_file(std::string_view input) { return input.starts_with("\x28\xb5\x2f\xfd") || input.substr(1).starts_with("\x2a\x4d\x18"); }

std::string trace_file(std::string_view input) {
  if (input.empty() || is_trace_file(input)) return std::string(input);
  FrameCompressor compressor;
  std::string file;
  size_t begin = 0;
  auto cut = [&](size_t end) {
    if (end > begin) file += compressor.compress(input.substr(begin, end - begin));
    begin = end;
  };
  try {
    protozero::pbf_reader packets{input.data(), input.size()};
    for (size_t at = 0; packets.next(); at = input.size() - packets.length()) {
      if (packets.wire_type() != protozero::pbf_wire_type::length_delimited) {
        packets.skip();
        continue;
      }
      protozero::data_view packet = packets.get_view();
      if (begins_frame({packet.data(), packet.size()})) cut(at);
    }
  } catch (const protozero::exception &) {
    // What cannot be told apart stays together.
  }
  cut(input.size());
  return file;
}

std::string trace_packets(std::string_view file) {
  FrameReader frames([file](void *buffer, size_t size) mutable {
    size_t count = std::min(size, file.size());
    std::memcpy(buffer, file.data(), count);
    file.remove_prefix(count);
    return count;
  });
  std::string packets;
  while (frames.next() == FrameReader::Result::kFrame) packets += frames.content();
  return packets;
}

void feed_frames(std::string_view input) {
  uint64_t rows_seen = 0, packets_seen = 0;
  TraceVisitor visitor;
  visitor.packet = [&](const v1::Packet &) { packets_seen++; };
  visitor.events = [&](uint32_t, uint32_t, const std::vector<TraceEvent> &rows) { rows_seen += rows.size(); };
  try {
    TraceDamage damage = read_trace_bytes("hostile", trace_file(input), visitor);
    if (damage.damaged == damage.reason.empty()) throw std::logic_error("damage without a reason, or the reverse");
  } catch (const Error &) {
    // no trace
  }
}

void feed_verify(std::string_view input) {
  MemoryFile file(trace_file(input));
  try {
    FileCheck check = verify_file(file.path());
    if (check.damage.damaged && check.good()) throw std::logic_error("a damaged file is good");
  } catch (const Error &) {
  }
}

void feed_report(std::string_view input) {
  std::string bytes = trace_file(input);
  MemoryFile file(bytes);
  try {
    RunModel run = load_run({file.path()}, "", true);
    page_text(make_report(run, {false}));
    Page page = make_report(run, {true});
    page_text(page);
    for (const Table &table : page.tables) table_csv(table);
    std::string json = json_text(report_json(run));
    if (!nlohmann::ordered_json::accept(json)) throw std::logic_error("the report is no JSON");
    read_events_of(bytes);
  } catch (const Error &) {
  }
}

}  // namespace slurmscope::test
