// See unwind.h. x86-64 and glibc 2.35 or later; elsewhere can_unwind() says no.
#include "profiler/unwind/unwind.h"

#include <cstring>
#include <dlfcn.h>

#include "profiler/unwind/safe_memory.h"

namespace slurmscope {

#if defined(__x86_64__) && __GLIBC_PREREQ(2, 35)
namespace {

constexpr int kSaved[kSavedRegisters] = {3, 6, 12, 13, 14, 15, kRegisterPc};

/// Reads one word of the stack: as it is where that is safe, else through the window.
bool read_stack(UnwindState *state, uint64_t address, uint64_t *value) {
  if (address >= state->own_low && address < state->own_high && state->own_high - address >= 8) {
    memcpy(value, reinterpret_cast<const void *>(address), 8);
    return true;
  }
  if (address < state->window_start || address + 8 > state->window_start + state->window_size || address + 8 < address) {
    state->window_start = address;
    state->window_size = read_memory(state->scratch.self, address, state->window, sizeof state->window);
    if (state->window_size < 8) return false;
  }
  memcpy(value, state->window + (address - state->window_start), 8);
  return true;
}

/// Puts scratch.row into `to` if it has the common form.
bool simplify(const CfiRow &row, CachedRow *to) {
  if (row.cfa.kind != RuleKind::kRegister) return false;
  to->cfa_register = row.cfa_register;
  to->cfa_offset = row.cfa.value;
  to->is_signal_frame = row.is_signal_frame;
  to->is_outermost = row.registers[kRegisterPc].kind == RuleKind::kUndefined;
  for (int i = 0; i < kSavedRegisters; i++) {
    const Rule &rule = row.registers[kSaved[i]];
    if (rule.kind == RuleKind::kOffset) to->offsets[i] = rule.value;
    else if (rule.kind == RuleKind::kSame || rule.kind == RuleKind::kUndefined) to->offsets[i] = kNotSaved;
    else return false;
  }
  return to->is_outermost || to->offsets[kSavedRegisters - 1] != kNotSaved;
}

bool apply_cached(const CachedRow &row, UnwindState *state) {
  uint64_t *registers = state->registers;
  uint64_t cfa = registers[row.cfa_register] + static_cast<uint64_t>(static_cast<int64_t>(row.cfa_offset));
  for (int i = 0; i < kSavedRegisters; i++) {
    if (row.offsets[i] == kNotSaved) continue;
    if (!read_stack(state, cfa + static_cast<uint64_t>(static_cast<int64_t>(row.offsets[i])), &registers[kSaved[i]]))
      return false;
  }
  registers[kRegisterSp] = cfa;
  state->pc_slot = cfa + static_cast<uint64_t>(static_cast<int64_t>(row.offsets[kSavedRegisters - 1]));
  return true;
}

/// The general form: signal frames and the stubs of the procedure linkage table.
bool apply_row(UnwindState *state) {
  const CfiScratch &scratch = state->scratch;
  const CfiRow &row = scratch.row;
  uint64_t old[kRegisterCount], cfa;
  memcpy(old, state->registers, sizeof old);
  state->pc_slot = 0;
  if (row.cfa.kind == RuleKind::kRegister)
    cfa = old[row.cfa_register] + static_cast<uint64_t>(static_cast<int64_t>(row.cfa.value));
  else if (!evaluate_expression(&scratch, row.cfa, old, nullptr, &cfa))
    return false;
  state->registers[kRegisterSp] = cfa;
  for (int i = 0; i < kRegisterCount; i++) {
    const Rule &rule = row.registers[i];
    uint64_t place = cfa + static_cast<uint64_t>(static_cast<int64_t>(rule.value)), *to = &state->registers[i];
    switch (rule.kind) {
      case RuleKind::kSame: case RuleKind::kUndefined: break;
      case RuleKind::kValueOffset: *to = place; break;
      case RuleKind::kRegister:
        if (rule.value < 0 || rule.value >= kRegisterCount) return false;
        *to = old[rule.value];
        break;
      case RuleKind::kValueExpression:
        if (!evaluate_expression(&scratch, rule, old, &cfa, to)) return false;
        break;
      case RuleKind::kExpression:
        if (!evaluate_expression(&scratch, rule, old, &cfa, &place)) return false;
        [[fallthrough]];
      case RuleKind::kOffset:
        if (!read_stack(state, place, to)) return false;
        break;
    }
  }
  return row.registers[kRegisterPc].kind != RuleKind::kSame;
}

}  // namespace

Step unwind_step(UnwindState *state, bool *is_exact) {
  uint64_t pc = state->registers[kRegisterPc] - (*is_exact ? 0 : 1);
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void *>(pc), &object) != 0 || object.dlfo_eh_frame == nullptr)
    return Step::kLost;
  uint64_t header = reinterpret_cast<uint64_t>(object.dlfo_eh_frame);
  uint64_t old_sp = state->registers[kRegisterSp];
  bool was_exact = *is_exact;
  CachedRow *cached = &state->cache[pc * 0x9e3779b97f4a7c15u >> 32 & (kCachedRows - 1)];
  if (cached->pc != pc || cached->header != header) {
    cached->pc = 0;
    if (!find_cfi_row(pc, header, &state->scratch)) return Step::kLost;
    const CfiRow &row = state->scratch.row;
    if (simplify(row, cached)) {
      cached->header = header;
      cached->pc = pc;
    } else {
      if (row.registers[kRegisterPc].kind == RuleKind::kUndefined) return Step::kOutermost;
      *is_exact = row.is_signal_frame;
      if (!apply_row(state)) return Step::kLost;
      // A signal handler may run on another stack than what it interrupted; otherwise stacks grow down.
      return row.is_signal_frame || state->registers[kRegisterSp] > old_sp ? Step::kCaller : Step::kLost;
    }
  }
  if (cached->is_outermost) return Step::kOutermost;
  *is_exact = cached->is_signal_frame;
  if (!apply_cached(*cached, state)) return Step::kLost;
  uint64_t sp = state->registers[kRegisterSp];
  return cached->is_signal_frame || sp > old_sp || (was_exact && sp == old_sp) ? Step::kCaller : Step::kLost;
}

bool can_unwind(const char **reason) {
  uint64_t probe = 1, copy = 0;
  if (read_memory(getpid(), reinterpret_cast<uint64_t>(&probe), &copy, sizeof copy) == sizeof copy) return true;
  *reason = "process_vm_readv is not permitted here";
  return false;
}

int unwind_stack(const ucontext_t *context, UnwindState *state, uint64_t *addresses, int limit, bool *truncated) {
  // gregset_t order by DWARF register number.
  static constexpr int kContextOrder[kRegisterCount] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (int i = 0; i < kRegisterCount; i++)
    state->registers[i] = static_cast<uint64_t>(context->uc_mcontext.gregs[kContextOrder[i]]);
  state->scratch.self = getpid();
  state->window_size = 0;  // the stack has changed since the last walk
  bool is_exact = true;
  *truncated = false;
  for (int depth = 0;; depth++) {
    uint64_t pc = state->registers[kRegisterPc];
    if (pc == 0) return depth;
    if (depth == limit) {
      *truncated = true;
      return depth;
    }
    addresses[depth] = pc + (is_exact ? 1 : 0);
    Step result = unwind_step(state, &is_exact);
    if (result == Step::kCaller) continue;
    *truncated = result == Step::kLost;
    return depth + 1;
  }
}

#else

bool can_unwind(const char **reason) {
  *reason = "call stacks need x86-64 and glibc 2.35 or later";
  return false;
}

Step unwind_step(UnwindState *, bool *) { return Step::kLost; }

int unwind_stack(const ucontext_t *, UnwindState *, uint64_t *, int, bool *truncated) {
  *truncated = true;
  return 0;
}

#endif

}  // namespace slurmscope
