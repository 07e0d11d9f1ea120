// See symbols.h.
#include "tools/model/symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace slurmscope {
namespace {

std::string demangled(const char *name) {
  int status = 0;
  char *text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  return result;
}

std::string hex(const unsigned char *bytes, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

}  // namespace

struct Symbolizer::Object {
  Dwfl *dwfl = nullptr;
  Dwfl_Module *module = nullptr;
  ~Object() {
    if (dwfl) dwfl_end(dwfl);
  }
  /// Link-time address of a file offset plus the bias of libdwfl; 0 if no segment holds it.
  GElf_Addr address_of(uint64_t file_offset) const {
    GElf_Addr bias = 0;
    Elf *elf = dwfl_module_getelf(module, &bias);
    size_t count = 0;
    if (!elf || elf_getphdrnum(elf, &count) != 0) return 0;
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (!gelf_getphdr(elf, static_cast<int>(i), &header) || header.p_type != PT_LOAD) continue;
      if (file_offset >= header.p_offset && file_offset - header.p_offset < header.p_filesz)
        return header.p_vaddr + (file_offset - header.p_offset) + bias;
    }
    return 0;
  }
};

Symbolizer::Symbolizer() = default;
Symbolizer::~Symbolizer() = default;

Symbolizer::Object &Symbolizer::open(const v1::Module &module) {
  std::unique_ptr<Object> &slot = objects_[module.path() + '\x1f' + module.build_id()];
  if (slot) return *slot;
  slot = std::make_unique<Object>();
  std::error_code error;
  if (!std::filesystem::is_regular_file(module.path(), error)) return *slot;  // never open a device or FIFO
  Dwfl *dwfl = dwfl_begin(&kCallbacks);
  if (!dwfl) return *slot;
  slot->dwfl = dwfl;
  Dwfl_Module *found = dwfl_report_offline(dwfl, module.path().c_str(), module.path().c_str(), -1);
  dwfl_report_end(dwfl, nullptr, nullptr);
  if (!found) return *slot;
  const unsigned char *id = nullptr;
  GElf_Addr where = 0;
  GElf_Addr bias = 0;
  (void)dwfl_module_getelf(found, &bias);  // the build id is only known once the file is open
  int size = dwfl_module_build_id(found, &id, &where);
  if (!module.build_id().empty() && (size <= 0 || hex(id, size) != module.build_id())) return *slot;
  slot->module = found;
  return *slot;
}

Symbolizer::Place Symbolizer::resolve(const ProcessRecord &process, uint64_t address, bool is_return_address) {
  uint64_t at = is_return_address && address > 0 ? address - 1 : address;
  for (const v1::Module &module : process.modules) {
    if (at < module.start() || at >= module.end()) continue;
    std::string base = std::filesystem::path(module.path()).filename().string();
    if (base.empty()) base.push_back('?');
    uint64_t file_offset = at - module.start() + module.file_offset();
    Object &object = open(module);
    if (object.module) {
      GElf_Off offset = 0;
      GElf_Sym symbol;
      GElf_Addr target = object.address_of(file_offset);
      const char *name =
          target ? dwfl_module_addrinfo(object.module, target, &offset, &symbol, nullptr, nullptr, nullptr) : nullptr;
      if (name && *name) return {demangled(name), base};
    }
    return {"(no symbol)", base};  // one row for the object, not one for each address
  }
  return {fmt::format("{:#x}", address), ""};
}

}  // namespace slurmscope
