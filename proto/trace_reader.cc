// Frames back into packets. See trace_reader.h.
#include "proto/trace_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <google/protobuf/stubs/logging.h>
#include <protozero/pbf_reader.hpp>

#include "proto/error.h"
#include "proto/event_columns.h"
#include "proto/version.h"
#include "proto/zstd_frames.h"

namespace slurmscope {
namespace {

// A parsed message is larger than its bytes. These two bounds keep a hostile packet below some hundred
// megabytes; FORMAT.md obliges writers to stay within them.
constexpr size_t kMaxPacketBytes = 16 * 1024 * 1024;
constexpr size_t kMaxPacketParts = 1 << 19;

// Texts, sub-messages and packed lists directly in the body of a packet.
size_t count_parts(std::string_view packet) {
  size_t parts = 0;
  protozero::pbf_reader outer{packet.data(), packet.size()};
  while (outer.next()) {
    if (outer.wire_type() != protozero::pbf_wire_type::length_delimited) {
      outer.skip();
      continue;
    }
    protozero::pbf_reader body = outer.get_message();
    while (body.next()) {
      parts++;
      body.skip();
    }
  }
  return parts;
}

class PacketReader {
 public:
  PacketReader(const std::string &name, const TraceVisitor &visitor) : name_(name), visitor_(visitor) {}

  // Delivers the packets of one frame. Returns "" or what is wrong.
  std::string read_frame(const std::string &content) {
    try {
      protozero::pbf_reader trace{content};
      while (trace.next()) {
        if (trace.tag() != v1::Trace::kPacketFieldNumber) {
          if (!has_header_) return "no header";
          trace.skip();
          continue;
        }
        // protozero only asserts this.
        if (trace.wire_type() != protozero::pbf_wire_type::length_delimited) return "a packet is malformed";
        protozero::data_view view = trace.get_view();
        std::string problem = read_packet({view.data(), view.size()});
        if (!problem.empty()) return problem;
      }
    } catch (const protozero::exception &) {
      return "a packet is malformed";
    }
    return "";
  }
  bool has_header() const { return has_header_; }

 private:
  std::string read_packet(std::string_view bytes) {
    protozero::pbf_reader peek{bytes.data(), bytes.size()};
    bool has_body = peek.next();
    if (has_header_ && has_body && peek.tag() == v1::Packet::kEventsFieldNumber &&
        peek.wire_type() == protozero::pbf_wire_type::length_delimited) {
      if (!visitor_.events) return "";
      protozero::data_view body = peek.get_view();
      uint32_t process, thread;
      const char *problem = decode_event_columns({body.data(), body.size()}, &process, &thread, &rows_);
      if (problem != nullptr) return problem;
      visitor_.events(process, thread, rows_);
      return "";
    }
    if (bytes.size() > kMaxPacketBytes) return "a packet is larger than 16 MiB";
    if (bytes.size() > kMaxPacketParts && count_parts(bytes) > kMaxPacketParts) return "a packet has too many parts";
    packet_.Clear();
    if (!packet_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return "a packet is malformed";
    if (packet_.has_header()) {
      std::string problem = check_version(packet_.header());
      if (!problem.empty()) return problem;
    } else if (!has_header_) {
      return "no header";
    }
    if (packet_.body_case() != v1::Packet::BODY_NOT_SET && visitor_.packet) visitor_.packet(packet_);
    return "";
  }

  std::string check_version(const v1::Header &header) {
    if (header.format_major() == 0) return "a header without a format version";
    if (header.format_major() > kFormatMajor) {
      std::string versions = "format " + std::to_string(header.format_major()) + "." +
                             std::to_string(header.format_minor()) + ", this program reads up to " +
                             std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor);
      if (!has_header_)
        throw Error(name_ + ": needs a newer slurmscope: the file has " + versions);
      return "a stream in " + versions;
    }
    has_header_ = true;
    return "";
  }

  const std::string &name_;
  const TraceVisitor &visitor_;
  v1::Packet packet_;
  std::vector<TraceEvent> rows_;
  bool has_header_ = false;
};

TraceDamage read_frames(const std::string &name, FrameReader::Read read, const TraceVisitor &visitor) {
  google::protobuf::LogSilencer silencer;  // damage is reported by our own words
  FrameReader frames{std::move(read)};
  PacketReader packets{name, visitor};
  TraceDamage damage;
  for (;;) {
    FrameReader::Result result = frames.next();
    if (result == FrameReader::Result::kEnd) {
      if (packets.has_header()) return damage;
      throw Error(name + (damage.frames == 0 ? ": the file is empty" : ": not a Slurmscope trace (no header)"));
    }
    if (result == FrameReader::Result::kFrame) {
      std::string problem = packets.read_frame(frames.content());
      if (problem.empty()) {
        damage.frames++;
        continue;
      }
      if (!packets.has_header()) throw Error(name + ": not a Slurmscope trace (" + problem + ")");
      damage.reason = problem;
    } else {
      if (frames.is_garbage() && damage.frames == 0)
        throw Error(name + ": not a Slurmscope trace (it does not start with a zstd frame)");
      damage.reason = frames.reason();
    }
    damage.damaged = true;
    damage.offset = frames.frame_start();
    return damage;
  }
}

}  // namespace

TraceDamage read_trace_bytes(const std::string &name, std::string_view bytes, const TraceVisitor &visitor) {
  auto read = [bytes](void *buffer, size_t size) mutable {
    size_t count = std::min(size, bytes.size());
    std::memcpy(buffer, bytes.data(), count);
    bytes.remove_prefix(count);
    return count;
  };
  return read_frames(name, read, visitor);
}

TraceDamage read_trace(const std::string &path, const TraceVisitor &visitor) {
  // Read, not mapped: the file may be cut while it is read.
  struct File {
    int descriptor;
    ~File() {
      if (descriptor >= 0) close(descriptor);
    }
  } file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0) throw Error(path + ": cannot be opened: " + std::strerror(errno));
  // A pipe or a device may have no end, or nobody who writes it.
  struct stat status;
  if (fstat(file.descriptor, &status) != 0 || !S_ISREG(status.st_mode)) throw Error(path + ": is no regular file");
  auto source = [&](void *buffer, size_t size) -> size_t {
    for (;;) {
      ssize_t count = read(file.descriptor, buffer, size);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EINTR) throw Error(path + ": cannot be read: " + std::strerror(errno));
    }
  };
  return read_frames(path, source, visitor);
}

}  // namespace slurmscope
