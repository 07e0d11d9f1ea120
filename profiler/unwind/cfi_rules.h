// Unwind rules (DWARF call frame information, .eh_frame) of one instruction address.
//
// Called by unwind.cc in a signal handler. Everything is copied out of the object with read_memory()
// into the caller's scratch space, so that an object that goes away makes a lookup fail, not crash.
// No locks, no allocation, little stack. x86-64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace slurmscope {

constexpr int kRegisterCount = 17;  // DWARF numbers 0 to 16
constexpr int kRegisterSp = 7;
constexpr int kRegisterPc = 16;

enum class RuleKind : uint8_t {
  kSame,             // the caller's value is still in the register
  kUndefined,        // lost; for the return address: this is the outermost frame
  kOffset,           // saved at CFA + value
  kValueOffset,      // is CFA + value
  kRegister,         // is in register `value`
  kExpression,       // saved where the expression at bytes[value] points to
  kValueExpression,  // is the value of the expression at bytes[value]
};

struct Rule {
  RuleKind kind;
  uint16_t size;  // of an expression
  int32_t value;
};

/// How to get from one frame to its caller. The canonical frame address (CFA) is a register + offset
/// (cfa.kind kRegister: cfa_register, cfa.value) or an expression.
struct CfiRow {
  Rule cfa;
  uint8_t cfa_register;
  bool is_signal_frame;
  Rule registers[kRegisterCount];
};

struct CfiScratch {
  pid_t self;
  size_t fde_size, cie_size;
  CfiRow row, initial, saved[4];
  uint8_t bytes[4096];  // the function's description (FDE), then the common one (CIE)
};

/// Fills scratch->row with the rules at `pc`, which lies in the object whose .eh_frame_hdr is at
/// `header`. False: there are none, or they are of a form that compilers do not emit.
bool find_cfi_row(uint64_t pc, uint64_t header, CfiScratch *scratch);

/// Evaluates the expression `rule` (of scratch->row); `initial` is pushed first when it is not NULL.
/// False: it uses an unknown operation or reads memory that does not exist.
bool evaluate_expression(const CfiScratch *scratch, const Rule &rule, const uint64_t *registers,
                         const uint64_t *initial, uint64_t *result);

}  // namespace slurmscope
