// See papi_users.h.
//
// Our own libpapi and the application's are one object (same soname), so its presence says nothing; and
// a program with software-defined events links libsde, often with libpapi beside it, without ever
// calling PAPI. What tells is a relocation against one of PAPI's functions.
#include "profiler/sampler/papi_users.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <strings.h>

namespace slurmscope {
namespace {

struct DynamicTables {
  const ElfW(Sym) *symbols = nullptr;
  const char *strings = nullptr;
  const char *soname = nullptr;
  const ElfW(Rela) *relocations[2] = {};  // data, then calls
  size_t counts[2] = {};
};

DynamicTables tables_of(const dl_phdr_info *object) {
  DynamicTables tables;
  const ElfW(Dyn) *entry = nullptr;
  for (int i = 0; i < object->dlpi_phnum; i++)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = reinterpret_cast<const ElfW(Dyn) *>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  if (entry == nullptr) return tables;
  // glibc has relocated the addresses in place, except in the vDSO, which has no relocations.
  uint64_t soname = UINT64_MAX;
  for (; entry->d_tag != DT_NULL; entry++) {
    switch (entry->d_tag) {
      case DT_SYMTAB: tables.symbols = reinterpret_cast<const ElfW(Sym) *>(entry->d_un.d_ptr); break;
      case DT_STRTAB: tables.strings = reinterpret_cast<const char *>(entry->d_un.d_ptr); break;
      case DT_RELA: tables.relocations[0] = reinterpret_cast<const ElfW(Rela) *>(entry->d_un.d_ptr); break;
      case DT_RELASZ: tables.counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
      case DT_JMPREL: tables.relocations[1] = reinterpret_cast<const ElfW(Rela) *>(entry->d_un.d_ptr); break;
      case DT_PLTRELSZ: tables.counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
      case DT_SONAME: soname = entry->d_un.d_val; break;
    }
  }
  if (soname != UINT64_MAX && tables.strings != nullptr && tables.counts[0] + tables.counts[1] > 0)
    tables.soname = tables.strings + soname;
  return tables;
}

/// PAPI_start, papif_start_ and so on; not papi_sde_*, which is libsde's.
bool is_papi_function(const char *name) {
  if (strncasecmp(name, "papif_", 6) == 0) return true;
  return strncmp(name, "PAPI_", 5) == 0;
}

int look_at(dl_phdr_info *object, size_t, void *result) {
  DynamicTables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return 0;
  if (tables.soname != nullptr &&
      (strncmp(tables.soname, "libpapi.", 8) == 0 || strcmp(tables.soname, "slurmscope-sampler.so") == 0))
    return 0;
  for (int table = 0; table < 2; table++) {
    if (tables.relocations[table] == nullptr) continue;
    for (size_t i = 0; i < tables.counts[table]; i++) {
      size_t symbol = ELF64_R_SYM(tables.relocations[table][i].r_info);
      if (symbol != 0 && is_papi_function(tables.strings + tables.symbols[symbol].st_name)) {
        *static_cast<bool *>(result) = true;
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace

bool application_uses_papi() {
  bool found = false;
  dl_iterate_phdr(look_at, &found);
  return found;
}

}  // namespace slurmscope
