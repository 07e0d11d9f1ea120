// See journal.h.
#include "profiler/drain/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace slurmscope {
namespace {
constexpr const char kJournalName[] = "journal";
constexpr size_t kPieceBytes = 64 << 10;
constexpr uint32_t kMaxRecordBytes = 64 << 20;  // far more than a definition ring holds
struct RecordHeader {
  Journal::Kind kind;
  uint32_t size;
};
}  // namespace

// Piece by piece: a file that claims to be enormous (a hole, after a crash of the node) must not cost the memory
// for it, nor the time to walk through it as records without content.
bool Journal::open(const std::function<void(Kind, std::string_view)> &visit) {
  file_ = spool_->open_file(kJournalName, O_RDWR | O_CREAT);
  if (!file_) return false;
  std::string text;
  size_t at = 0;       // in text
  uint64_t begin = 0;  // of text in the file
  bool is_ended = false;
  auto has = [&](size_t size) {
    while (text.size() - at < size && !is_ended) {
      text.erase(0, at);
      begin += at;
      at = 0;
      size_t before = text.size();
      text.resize(before + kPieceBytes);
      ssize_t count = pread(file_.get(), text.data() + before, kPieceBytes, static_cast<off_t>(begin + before));
      is_ended = count <= 0;
      text.resize(before + (is_ended ? 0 : static_cast<size_t>(count)));
    }
    return text.size() - at >= size;
  };
  while (has(sizeof(RecordHeader))) {
    RecordHeader header;
    std::memcpy(&header, text.data() + at, sizeof header);
    if (header.kind == Kind{} || header.size > kMaxRecordBytes || !has(sizeof header + header.size)) break;
    visit(header.kind, std::string_view(text).substr(at + sizeof header, header.size));
    at += sizeof header + header.size;
  }
  auto end = static_cast<off_t>(begin + at);
  return ftruncate(file_.get(), end) == 0 && lseek(file_.get(), end, SEEK_SET) >= 0;
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
