// See symbols.h.
#include "tools/model/symbols.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
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

/// The procedure of a Fortran module that holds the address: libdw does not look into modules.
bool find_in_modules(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *function) {
  Dwarf_Die module;
  if (dwarf_child(unit, &module) != 0) return false;
  do {
    if (dwarf_tag(&module) != DW_TAG_module || dwarf_child(&module, function) != 0) continue;
    do
      if (dwarf_tag(function) == DW_TAG_subprogram && dwarf_haspc(function, address) == 1) return true;
    while (dwarf_siblingof(function, function) == 0);
  } while (dwarf_siblingof(&module, &module) == 0);
  return false;
}

/// The innermost function, inlined or not, that holds the address.
bool find_function(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *function) {
  Dwarf_Die *scopes = nullptr;
  int count = dwarf_getscopes(unit, address, &scopes);
  bool is_found = false;
  for (int i = 0; i < count && !is_found; ++i) {
    int tag = dwarf_tag(&scopes[i]);
    is_found = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram;
    if (is_found) *function = scopes[i];
  }
  std::free(scopes);
  return is_found || find_in_modules(unit, address, function);
}

}  // namespace

struct Symbolizer::Object {
  Dwfl *dwfl = nullptr;
  Dwfl_Module *module = nullptr;  // NULL: nothing in it can be named
  GElf_Addr bias = 0;             // what libdwfl adds to its addresses
  ~Object() {
    if (dwfl) dwfl_end(dwfl);
  }
  /// Link-time address of a file offset plus the bias of libdwfl; 0 if no segment holds it.
  GElf_Addr address_of(uint64_t file_offset) const {
    GElf_Addr elf_bias = 0;
    Elf *elf = dwfl_module_getelf(module, &elf_bias);
    size_t count = 0;
    if (!elf || elf_getphdrnum(elf, &count) != 0) return 0;
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (!gelf_getphdr(elf, static_cast<int>(i), &header) || header.p_type != PT_LOAD) continue;
      if (file_offset >= header.p_offset && file_offset - header.p_offset < header.p_filesz)
        return header.p_vaddr + (file_offset - header.p_offset) + elf_bias;
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
  if (!module.path().starts_with('/')) return *slot;  // [vdso]
  std::error_code error;
  if (!std::filesystem::is_regular_file(module.path(), error)) {  // never open a device or FIFO
    complaints_.insert(fmt::format("{} is not there any more: its functions have no names", module.path()));
    return *slot;
  }
  Dwfl *dwfl = dwfl_begin(&kCallbacks);
  if (!dwfl) return *slot;
  slot->dwfl = dwfl;
  Dwfl_Module *found = dwfl_report_offline(dwfl, module.path().c_str(), module.path().c_str(), -1);
  dwfl_report_end(dwfl, nullptr, nullptr);
  if (!found) {
    complaints_.insert(fmt::format("{} cannot be read as an object: {}", module.path(), dwfl_errmsg(-1)));
    return *slot;
  }
  const unsigned char *id = nullptr;
  GElf_Addr where = 0;
  (void)dwfl_module_getelf(found, &slot->bias);  // the build id is only known once the file is open
  int size = dwfl_module_build_id(found, &id, &where);
  if (!module.build_id().empty() && (size <= 0 || hex(id, size) != module.build_id())) {
    complaints_.insert(fmt::format("{} was replaced since the run (build id {} then, {} now): its functions have no names",
                                   module.path(), module.build_id(), size > 0 ? hex(id, size) : "none"));
    return *slot;
  }
  slot->module = found;
  return *slot;
}

// The function in whose source the address lies: what was inlined there names itself.
void Symbolizer::name(const Object &object, uint64_t address, Place *place) const {
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char *name = dwfl_module_addrinfo(object.module, address, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name && *name) place->function = demangled(name);
  bool is_mangled = name && place->function != name;
  if (Dwfl_Line *line = dwfl_module_getsrc(object.module, address)) {
    const char *file = dwfl_lineinfo(line, nullptr, &place->line, nullptr, nullptr, nullptr);
    if (file) place->file = file;
  }
  Dwarf_Addr bias = 0;
  Dwarf_Die *unit = dwfl_module_addrdie(object.module, address, &bias);
  Dwarf_Die function;
  if (!unit || !find_function(unit, address - bias, &function)) return;
  Dwarf_Attribute attribute;
  const char *linkage = dwarf_formstring(dwarf_attr_integrate(&function, DW_AT_linkage_name, &attribute));
  const char *plain = dwarf_diename(&function);
  // Fortran's names are mangled in ways of their own; C++'s say more than the plain ones.
  std::string full = linkage ? demangled(linkage) : "";
  if (linkage && full != linkage) place->function = full;
  else if (plain && *plain && (dwarf_tag(&function) == DW_TAG_inlined_subroutine || !is_mangled)) place->function = plain;
}

const Symbolizer::Place &Symbolizer::resolve(const ProcessRecord &process, uint64_t address, bool is_return_address) {
  uint64_t at = is_return_address && address > 0 ? address - 1 : address;
  for (const v1::Module &module : process.modules) {
    if (at < module.start() || at >= module.end()) continue;
    uint64_t file_offset = at - module.start() + module.file_offset();
    const Object &object = open(module);
    auto [entry, is_new] = places_.try_emplace({&object, file_offset});
    Place &place = entry->second;
    if (!is_new) return place;
    place.module = std::filesystem::path(module.path()).filename().string();
    if (place.module.empty()) place.module.push_back('?');
    place.function = "(no symbol)";
    place.offset = file_offset;
    GElf_Addr target = object.module ? object.address_of(file_offset) : 0;
    if (target != 0) {
      place.offset = target - object.bias;
      name(object, target, &place);
    }
    return place;
  }
  Place &place = unmapped_[address];
  place.function = fmt::format("{:#x}", address);
  return place;
}

bool is_mpi_library(const std::string &module) {
  // Open MPI (with its Fortran bindings, ORTE and OPAL), MPICH and what descends from it.
  static constexpr const char *kPrefixes[] = {"libmpi", "libmpich", "libpmpi", "libfmpich", "libopen-", "libopal", "libmpl."};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](const char *prefix) { return module.starts_with(prefix); });
}

}  // namespace slurmscope
