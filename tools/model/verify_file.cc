// See verify_file.h.
#include "tools/model/verify_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "proto/error.h"
#include "proto/zstd_frames.h"
#include "tools/model/category.h"

namespace slurmscope {
namespace {

constexpr size_t kMaxProblems = 20;
// Older summaries do not have all of FileStats.
constexpr uint32_t kFirstMinorWithMaps = 2, kFirstMinorWithSpans = 3;

class Verifier {
 public:
  explicit Verifier(const std::string &path) { check_.path = path; }

  FileCheck run() {
    set_.begin_file(check_.path);
    TraceVisitor visitor;
    visitor.packet = [this](const v1::Packet &packet) { take(packet); };
    visitor.events = [this](uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows) {
      take_rows(process, thread, rows);
    };
    check_.damage = read_trace(check_.path, visitor);
    check_.frames = check_.damage.frames;
    if (check_.damage.damaged)
      problem(fmt::format("{} at byte {} after {} whole frames", check_.damage.reason, check_.damage.offset, check_.damage.frames));
    set_.finish();
    check_.has_index = set_.files.back().has_index;
    for (const auto &stream : set_.streams) {
      check_.has_end = stream->end.has_value();
      check_.clean_end = stream->end && stream->end->clean();
      check_.processes += stream->processes.size();
      for (const auto &[id, process] : stream->processes)
        if (!process.defined) problem(fmt::format("process {} is used but never described", id));
    }
    if (!check_.damage.damaged) {
      for (const auto &stream : set_.streams)
        if (!stream->end) problem("the stream has no end: the file was cut, or the run is still going");
      compare_summaries();
      check_index();
    }
    return std::move(check_);
  }

 private:
  void problem(std::string text) {
    if (check_.problems.size() < kMaxProblems) check_.problems.push_back(std::move(text));
    else if (check_.problems.size() == kMaxProblems) check_.problems.push_back("... and more");
  }
  /// Complains once per thing that is missing.
  void undefined(const std::string &what) {
    if (missing_.insert(what).second) problem(what);
  }

  void take(const v1::Packet &packet) {
    ++check_.packets;
    if (packet.has_index()) index_ = packet.index();
    if (packet.has_header()) ++headers_;
    set_.visit(packet);
    Stream *stream = set_.current();
    if (!stream || !packet.has_summary()) return;
    uint32_t id = packet.summary().process();
    const ProcessRecord &process = stream->process(id);
    for (const v1::CallStats &call : packet.summary().calls()) check_call(*stream, process, id, call.call(), call.site());
    for (const v1::FileStats &file : packet.summary().files())
      if (file.file() != 0 && !process.files.count(file.file()))
        undefined(fmt::format("process {}: file {} is summed before its definition", id, file.file()));
  }

  void check_call(const Stream &stream, const ProcessRecord &process, uint32_t id, uint32_t call, uint32_t site) {
    if (call >= stream.call_names.size()) undefined(fmt::format("process {}: call {} is not in the call table", id, call));
    if (site != 0 && !process.call_paths.count(site))
      undefined(fmt::format("process {}: call path {} is used before its definition", id, site));
  }

  void take_rows(uint32_t id, uint32_t thread, const std::vector<TraceEvent> &rows) {
    Stream *stream = set_.current();
    if (!stream) return;
    check_.rows += rows.size();
    ProcessRecord &process = stream->process(id);
    process.event_rows += rows.size();
    if (!process.defined) undefined(fmt::format("process {}: events before its description", id));
    if (!process.threads.count(thread)) undefined(fmt::format("process {}: thread {} is used before its definition", id, thread));
    auto [entry, is_new] = recomputed_.try_emplace({stream, id}, &stream->call_classes);
    for (const TraceEvent &row : rows) {
      check_call(*stream, process, id, row.call, row.site);
      if (row.object != 0) check_object(*stream, process, id, row);
      if (row.end < row.start) undefined(fmt::format("process {}: an event ends before it starts", id));
      entry->second.add(row);
    }
  }

  void check_object(const Stream &stream, const ProcessRecord &process, uint32_t id, const TraceEvent &row) {
    v1::CallClass c = stream.call_class(row.call);
    bool is_file = is_io(c) || is_socket(c);
    bool known = is_file ? process.files.count(row.object) : process.communicators.count(row.object);
    known = known || c == v1::CLASS_UNKNOWN;
    if (!known) undefined(fmt::format("process {}: {} {} is used before its definition", id, is_file ? "file" : "communicator", row.object));
  }

  void compare_summaries() {
    for (const auto &stream : set_.streams) {
      if (stream->header.mode() != v1::Header::MODE_TRACE) {
        check_.not_recomputed = "summary mode has no events";
        return;
      }
      if (!stream->end) {
        check_.not_recomputed = "the stream has no end";
        return;
      }
      for (const auto &[key, loss] : stream->losses)
        if (loss.reason() == "trace limit" || loss.reason() == "write error") {
          check_.not_recomputed = fmt::format("events are missing ({})", loss.reason());
          return;
        }
    }
    check_.recomputed = true;
    for (const auto &stream : set_.streams)
      for (const auto &[id, process] : stream->processes) {
        Summary empty(&stream->call_classes);
        auto found = recomputed_.find({stream.get(), id});
        const Summary &recomputed = found == recomputed_.end() ? empty : found->second;
        for (const std::string &difference : summary_differences(*process.summary, recomputed, *stream, process.threads.size() <= 1, 5))
          problem(fmt::format("process {}: {}", id, difference));
      }
  }

  void check_index() {
    // In a merge its offsets mean nothing, after a drainer's restart it speaks of the last life only.
    if (!index_ || headers_ != 1) return;
    int fd = ::open(check_.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Error(check_.path + ": cannot be opened: " + std::strerror(errno));
    std::set<uint64_t> starts;
    {
      FrameReader frames([&](void *buffer, size_t size) -> size_t {
        ssize_t n;
        do n = ::read(fd, buffer, size);
        while (n < 0 && errno == EINTR);
        return n > 0 ? static_cast<size_t>(n) : 0;
      });
      while (frames.next() == FrameReader::Result::kFrame) starts.insert(frames.frame_start());
    }
    ::close(fd);
    uint64_t events = 0;
    for (const v1::Index::Frame &frame : index_->frames()) {
      if (!starts.count(frame.offset())) problem(fmt::format("the index names a frame at byte {} where none starts", frame.offset()));
      events += frame.events();
    }
    if (events != check_.rows)
      problem(fmt::format("the index counts {} events, the file holds {}", events, check_.rows));
  }

  FileCheck check_;
  StreamSet set_;
  std::optional<v1::Index> index_;
  size_t headers_ = 0;
  std::set<std::string> missing_;
  std::map<std::pair<const Stream *, uint32_t>, Summary> recomputed_;
};

std::string call_key_text(const CallKey &key, const Stream &stream) {
  return fmt::format("{} (site {}, object {}, locality {}, size bin {})", stream.call_name(key.call), key.site, key.object,
                     static_cast<int>(key.locality), key.size_bin);
}

class Differences {
 public:
  explicit Differences(size_t limit) : limit_(limit) {}
  void field(const std::string &what, const char *name, uint64_t a, uint64_t b) {
    if (a != b && list.size() < limit_) list.push_back(fmt::format("{}: {} is {} in the summary, {} in the events", what, name, a, b));
  }
  void differs(const std::string &what, const char *part) {
    if (list.size() < limit_) list.push_back(fmt::format("{}: {} differs between summary and events", what, part));
  }
  void absent(const std::string &what, bool in_summary) {
    if (list.size() < limit_) list.push_back(fmt::format("{} is only in the {}", what, in_summary ? "summary" : "events"));
  }
  std::vector<std::string> list;

 private:
  size_t limit_;
};

/// Walks two maps side by side.
template <typename Map, typename Name, typename Compare>
void walk(const Map &a, const Map &b, Differences *out, Name name, Compare compare) {
  for (const auto &[key, value] : a) {
    auto other = b.find(key);
    if (other == b.end()) out->absent(name(key), true);
    else if (!(value == other->second)) compare(name(key), value, other->second);
  }
  for (const auto &[key, value] : b)
    if (!a.count(key)) out->absent(name(key), false);
}

}  // namespace

FileCheck verify_file(const std::string &path) { return Verifier(path).run(); }

std::vector<std::string> summary_differences(const Summary &a, const Summary &b, const Stream &stream, bool ordered, size_t limit) {
  Differences out(limit);
  walk(a.calls, b.calls, &out, [&](const CallKey &key) { return call_key_text(key, stream); },
       [&](const std::string &what, const CallStats &x, const CallStats &y) {
         out.field(what, "count", x.count, y.count);
         out.field(what, "bytes", x.bytes, y.bytes);
         out.field(what, "ticks", x.ticks, y.ticks);
         out.field(what, "min_ticks", x.min_ticks, y.min_ticks);
         out.field(what, "max_ticks", x.max_ticks, y.max_ticks);
         out.field(what, "failed", x.failed, y.failed);
         out.field(what, "total of the histogram", x.durations.total(), y.durations.total());
         if (!(x.durations == y.durations)) out.differs(what, "the histogram");
       });
  walk(a.peers, b.peers, &out, [](int32_t peer) { return fmt::format("peer {}", peer); },
       [&](const std::string &what, const PeerStats &x, const PeerStats &y) {
         out.field(what, "sent_count", x.sent_count, y.sent_count);
         out.field(what, "sent_bytes", x.sent_bytes, y.sent_bytes);
         out.field(what, "received_count", x.received_count, y.received_count);
         out.field(what, "received_bytes", x.received_bytes, y.received_bytes);
       });
  walk(a.files, b.files, &out, [](uint32_t file) { return fmt::format("file {}", file); },
       [&](const std::string &what, const FileStats &x, const FileStats &y) {
         out.field(what, "opens", x.opens, y.opens);
         out.field(what, "closes", x.closes, y.closes);
         out.field(what, "reads", x.reads, y.reads);
         out.field(what, "writes", x.writes, y.writes);
         out.field(what, "bytes_read", x.bytes_read, y.bytes_read);
         out.field(what, "bytes_written", x.bytes_written, y.bytes_written);
         out.field(what, "read_ticks", x.read_ticks, y.read_ticks);
         out.field(what, "write_ticks", x.write_ticks, y.write_ticks);
         out.field(what, "metadata", x.metadata, y.metadata);
         out.field(what, "metadata_ticks", x.metadata_ticks, y.metadata_ticks);
         if (ordered) out.field(what, "sequential", x.sequential, y.sequential);
         if (ordered) out.field(what, "strided", x.strided, y.strided);
         if (ordered) out.field(what, "random", x.random, y.random);
         if (stream.header.format_minor() >= kFirstMinorWithMaps || stream.header.format_major() > 1) {
           out.field(what, "direct_opens", x.direct_opens, y.direct_opens);
           if (ordered) out.field(what, "unaligned", x.unaligned, y.unaligned);
           out.field(what, "maps", x.maps, y.maps);
           out.field(what, "bytes_mapped", x.bytes_mapped, y.bytes_mapped);
         }
         if (stream.header.format_minor() >= kFirstMinorWithSpans || stream.header.format_major() > 1) {
           out.field(what, "first_read_ticks", x.reading.first_ticks, y.reading.first_ticks);
           out.field(what, "last_read_ticks", x.reading.last_ticks, y.reading.last_ticks);
           out.field(what, "first_write_ticks", x.writing.first_ticks, y.writing.first_ticks);
           out.field(what, "last_write_ticks", x.writing.last_ticks, y.writing.last_ticks);
         }
         if (x.read_sizes != y.read_sizes) out.differs(what, "the sizes of reads");
         if (x.write_sizes != y.write_sizes) out.differs(what, "the sizes of writes");
       });
  out.field("process", "first_ticks", a.span.first_ticks, b.span.first_ticks);
  out.field("process", "last_ticks", a.span.last_ticks, b.span.last_ticks);
  return out.list;
}

}  // namespace slurmscope
