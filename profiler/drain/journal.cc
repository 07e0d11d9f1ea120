// See journal.h.
#include "profiler/drain/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace slurmscope {
namespace {
constexpr const char kJournalName[] = "journal";
struct RecordHeader {
  Journal::Kind kind;
  uint32_t size;
};
}  // namespace

bool Journal::open(const std::function<void(Kind, std::string_view)> &visit) {
  file_ = spool_->open_file(kJournalName, O_RDWR | O_CREAT);
  struct stat status;
  if (!file_ || fstat(file_.get(), &status) != 0) return false;
  std::string text(static_cast<size_t>(status.st_size), 0);
  ssize_t count = pread(file_.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  size_t at = 0;
  while (text.size() - at >= sizeof(RecordHeader)) {
    RecordHeader header;
    std::memcpy(&header, text.data() + at, sizeof header);
    if (header.size > text.size() - at - sizeof header) break;
    visit(header.kind, std::string_view(text).substr(at + sizeof header, header.size));
    at += sizeof header + header.size;
  }
  return ftruncate(file_.get(), static_cast<off_t>(at)) == 0 && lseek(file_.get(), static_cast<off_t>(at), SEEK_SET) >= 0;
}

void Journal::add(Kind kind, std::string_view content) {
  RecordHeader header{kind, static_cast<uint32_t>(content.size())};
  pending_.append(reinterpret_cast<const char *>(&header), sizeof header);
  pending_.append(content);
}

void Journal::add_definition(uint32_t ring, const void *record, size_t size) {
  uint32_t index[2] = {ring, 0};
  RecordHeader header{Kind::kDefinition, static_cast<uint32_t>(sizeof index + size)};
  pending_.append(reinterpret_cast<const char *>(&header), sizeof header);
  pending_.append(reinterpret_cast<const char *>(index), sizeof index);
  pending_.append(static_cast<const char *>(record), size);
}

bool Journal::flush() {
  size_t done = 0;
  while (file_ && done < pending_.size()) {
    ssize_t count = write(file_.get(), pending_.data() + done, pending_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  bool is_whole = done == pending_.size();
  pending_.clear();
  return is_whole;
}

}  // namespace slurmscope
