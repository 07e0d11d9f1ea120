// See modules.h. The files are the user's own and read as the user; they are still checked as if hostile.
#include "profiler/drain/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "profiler/drain/spool.h"
#include "profiler/drain/utf8_text.h"

namespace slurmscope {
namespace {

constexpr size_t kMaxNoteBytes = 65536;
constexpr int kMaxSegments = 256;

bool read_at(int file, void *to, size_t size, uint64_t offset) {
  return offset <= INT64_MAX && pread(file, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

std::string build_id_in(const std::string &notes) {
  auto aligned = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  for (size_t at = 0; notes.size() - at >= sizeof(Elf64_Nhdr);) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    uint64_t name = at + sizeof note, content = name + aligned(note.n_namesz), next = content + aligned(note.n_descsz);
    if (content + note.n_descsz > notes.size()) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && notes.compare(name, 4, std::string("GNU\0", 4)) == 0) {
      std::string hex;
      for (uint64_t i = 0; i < note.n_descsz && i < 64; i++) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(notes[content + i])));
        hex += digits;
      }
      return hex;
    }
    if (next > notes.size()) return "";
    at = next;
  }
  return "";
}

}  // namespace

std::string read_build_id(const std::string &path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  Elf64_Ehdr header;
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !read_at(file.get(), &header, sizeof header, 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return "";
  for (int i = 0; i < header.e_phnum && i < kMaxSegments; i++) {
    Elf64_Phdr segment;
    if (!read_at(file.get(), &segment, sizeof segment, header.e_phoff + static_cast<uint64_t>(i) * sizeof segment)) return "";
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    std::string notes(segment.p_filesz, 0);
    if (!read_at(file.get(), notes.data(), notes.size(), segment.p_offset)) continue;
    std::string id = build_id_in(notes);
    if (!id.empty()) return id;
  }
  return "";
}

std::vector<v1::Module> parse_maps(const std::string &text) {
  std::vector<v1::Module> modules;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    uint64_t start, end, offset;
    char rights[8];
    int path_at = -1;
    if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &start, &end, rights, &offset, &path_at) < 4 ||
        rights[2] != 'x' || path_at < 0)
      continue;
    std::string path = line.substr(static_cast<size_t>(path_at));
    if (path.empty() || (path[0] != '/' && path != "[vdso]")) continue;
    v1::Module module;
    module.set_start(start);
    module.set_end(end);
    module.set_file_offset(offset);
    module.set_path(path);
    modules.push_back(module);
  }
  return modules;
}

std::vector<v1::Module> ModuleList::refresh(uint32_t pid) {
  static std::map<std::string, std::string> build_ids;  // by path: many ranks map the same files
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  std::stringstream text;
  text << file.rdbuf();
  std::vector<v1::Module> fresh;
  for (v1::Module &module : parse_maps(text.str())) {
    auto known = ranges_.find(module.start());
    if (known != ranges_.end() && known->second == module.end()) continue;
    ranges_[module.start()] = module.end();
    auto [id, is_new] = build_ids.try_emplace(module.path());
    if (is_new && module.path()[0] == '/') id->second = read_build_id(module.path());
    module.set_build_id(id->second);
    module.set_path(utf8_text(module.path()));
    fresh.push_back(std::move(module));
  }
  return fresh;
}

bool ModuleList::contains(uint64_t address) const {
  auto after = ranges_.upper_bound(address);
  return after != ranges_.begin() && address < std::prev(after)->second;
}

}  // namespace slurmscope
