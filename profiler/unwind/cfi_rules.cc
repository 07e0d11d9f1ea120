// See cfi_rules.h. The formats are those of the DWARF 5 standard (6.4, 2.5) and of the LSB for
// .eh_frame and .eh_frame_hdr.
#include "profiler/unwind/cfi_rules.h"

#include <cstring>

#include "profiler/unwind/safe_memory.h"

namespace slurmscope {
namespace {

constexpr size_t kFdeRoom = 3584;  // of CfiScratch::bytes; the rest is for the CIE

/// A bounded reader of copied bytes that remembers where they came from (for pc-relative pointers).
class Cursor {
 public:
  Cursor(const uint8_t *start, size_t size, uint64_t address)
      : start_(start), at_(start), end_(start + size), address_(address) {}
  bool failed() const { return failed_; }
  bool at_end() const { return failed_ || at_ >= end_; }
  size_t position() const { return static_cast<size_t>(at_ - start_); }
  uint64_t address() const { return address_ + position(); }
  void skip(uint64_t count) {
    if (count > static_cast<uint64_t>(end_ - at_)) failed_ = true; else at_ += count;
  }
  template <typename T> T fixed() {
    T value = 0;
    if (sizeof(T) > static_cast<size_t>(end_ - at_)) { failed_ = true; return 0; }
    memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      uint8_t byte = fixed<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    failed_ = true;
    return 0;
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      uint8_t byte = fixed<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if (!(byte & 0x80)) {
        if ((byte & 0x40) && shift < 64) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
      }
    }
    failed_ = true;
    return 0;
  }
  /// A pointer in one of the encodings that link editors emit (absolute or pc-relative).
  uint64_t pointer(uint8_t encoding) {
    uint64_t base = (encoding & 0x70) == 0x10 ? address() : 0;
    if ((encoding & 0x70) > 0x10) failed_ = true;
    switch (encoding & 0x0f) {
      case 0x00: case 0x04: case 0x0c: return base + fixed<uint64_t>();
      case 0x02: return base + fixed<uint16_t>();
      case 0x03: return base + fixed<uint32_t>();
      case 0x0a: return base + static_cast<uint64_t>(static_cast<int64_t>(fixed<int16_t>()));
      case 0x0b: return base + static_cast<uint64_t>(static_cast<int64_t>(fixed<int32_t>()));
      default: failed_ = true; return 0;
    }
  }

 private:
  const uint8_t *start_, *at_, *end_;
  uint64_t address_;
  bool failed_ = false;
};

struct CommonInformation {
  uint64_t code_align;
  int64_t data_align;
  uint8_t pointer_encoding;
  bool has_augmentation_data, is_signal_frame;
  size_t instructions, end;  // positions in the CIE's bytes
};

/// Address of the FDE that covers `pc`, by binary search of the header's sorted table; 0 = none. Each look costs a
/// system call, so the last part of the table is copied as a whole (into scratch->bytes).
uint64_t find_fde(uint64_t pc, uint64_t header, CfiScratch *scratch) {
  pid_t self = scratch->self;
  struct { uint8_t version, frame_encoding, count_encoding, table_encoding; int32_t frame; uint32_t count; } head;
  if (read_memory(self, header, &head, sizeof head) != sizeof head || head.version != 1) return 0;
  if (head.frame_encoding != 0x1b || head.count_encoding != 0x03 || head.table_encoding != 0x3b) return 0;
  struct Entry { int32_t start, fde; };
  constexpr uint32_t kBlock = sizeof scratch->bytes / sizeof(Entry);
  int64_t target = static_cast<int64_t>(pc - header);
  uint64_t table = header + sizeof head, found = 0;
  auto fde_of = [&](const Entry &entry) { return header + static_cast<uint64_t>(static_cast<int64_t>(entry.fde)); };
  uint32_t low = 0, high = head.count;  // the last entry with start <= target is in [low-1, high-1]
  while (high - low > kBlock) {
    uint32_t middle = low + (high - low) / 2;
    Entry entry;
    if (read_memory(self, table + middle * sizeof entry, &entry, sizeof entry) != sizeof entry) return 0;
    if (entry.start <= target) {
      found = fde_of(entry);
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  size_t size = (high - low) * sizeof(Entry);
  if (read_memory(self, table + low * sizeof(Entry), scratch->bytes, size) != size) return 0;
  for (uint32_t first = 0, end = high - low; first < end;) {
    uint32_t middle = first + (end - first) / 2;
    Entry entry;
    memcpy(&entry, scratch->bytes + middle * sizeof entry, sizeof entry);
    if (entry.start <= target) {
      found = fde_of(entry);
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return found;
}

bool parse_cie(Cursor in, size_t size, CommonInformation *cie) {
  in.skip(8);  // length, id
  uint8_t version = in.fixed<uint8_t>();
  if (version != 1 && version != 3) return false;
  char augmentation[8];
  size_t length = 0;
  while (true) {
    char c = static_cast<char>(in.fixed<uint8_t>());
    if (length == sizeof augmentation) return false;
    augmentation[length++] = c;
    if (c == '\0') break;
  }
  cie->code_align = in.uleb();
  cie->data_align = in.sleb();
  uint64_t return_register = version == 1 ? in.fixed<uint8_t>() : in.uleb();
  cie->pointer_encoding = 0;
  cie->has_augmentation_data = augmentation[0] == 'z';
  cie->is_signal_frame = false;
  cie->end = size;
  if (return_register != kRegisterPc || (augmentation[0] != '\0' && augmentation[0] != 'z')) return false;
  if (cie->has_augmentation_data) {
    uint64_t bytes = in.uleb();
    size_t start = in.position();
    for (size_t i = 1; augmentation[i] != '\0'; i++) {
      if (augmentation[i] == 'R') cie->pointer_encoding = in.fixed<uint8_t>();
      else if (augmentation[i] == 'L') in.skip(1);
      else if (augmentation[i] == 'P') in.pointer(in.fixed<uint8_t>() & 0x0f);
      else if (augmentation[i] == 'S') cie->is_signal_frame = true;
      else return false;
    }
    if (in.failed() || in.position() - start > bytes) return false;
    in.skip(bytes - (in.position() - start));
  }
  cie->instructions = in.position();
  return !in.failed();
}

/// Sets `rule` to the expression that follows; `offset` is where the cursor's bytes start in `bytes`.
void take_expression(Cursor *in, size_t offset, RuleKind kind, Rule *rule) {
  uint64_t size = in->uleb();
  size_t at = offset + in->position();
  in->skip(size);
  if (!in->failed()) *rule = {kind, static_cast<uint16_t>(size), static_cast<int32_t>(at)};
}

/// Runs call frame instructions until they describe an address beyond `pc`. If `is_cut`, there are
/// more than the cursor holds: reaching its end is a failure.
bool execute(Cursor in, size_t offset, const CommonInformation &cie, uint64_t location, uint64_t pc,
             CfiScratch *scratch, bool is_cut) {
  CfiRow &row = scratch->row;
  int depth = 0;
  Rule unused;
  auto rule_of = [&](uint64_t number) -> Rule & { return number < kRegisterCount ? row.registers[number] : unused; };
  auto scaled = [&](int64_t factor) { return static_cast<int32_t>(factor * cie.data_align); };
  auto restore = [&](uint64_t number) {
    if (number < kRegisterCount) row.registers[number] = scratch->initial.registers[number];
  };
  while (!in.at_end()) {
    uint8_t byte = in.fixed<uint8_t>();
    uint64_t number = byte & 0x3f;
    if ((byte & 0xc0) == 0x40) {
      location += number * cie.code_align;
      if (location > pc) return true;
      continue;
    }
    if ((byte & 0xc0) == 0x80) {
      rule_of(number) = {RuleKind::kOffset, 0, scaled(static_cast<int64_t>(in.uleb()))};
      continue;
    }
    if ((byte & 0xc0) == 0xc0) {
      restore(number);
      continue;
    }
    switch (byte) {
      case 0x00: break;                                                // nop
      case 0x01: location = in.pointer(cie.pointer_encoding); break;   // set_loc
      case 0x02: location += in.fixed<uint8_t>() * cie.code_align; break;
      case 0x03: location += in.fixed<uint16_t>() * cie.code_align; break;
      case 0x04: location += in.fixed<uint32_t>() * cie.code_align; break;
      case 0x05: number = in.uleb(); rule_of(number) = {RuleKind::kOffset, 0, scaled(static_cast<int64_t>(in.uleb()))}; break;
      case 0x06: restore(in.uleb()); break;
      case 0x07: rule_of(in.uleb()) = {RuleKind::kUndefined, 0, 0}; break;
      case 0x08: rule_of(in.uleb()) = {RuleKind::kSame, 0, 0}; break;
      case 0x09: number = in.uleb(); rule_of(number) = {RuleKind::kRegister, 0, static_cast<int32_t>(in.uleb())}; break;
      case 0x0a:                                                       // remember_state
        if (depth == 4) return false;
        scratch->saved[depth++] = row;
        break;
      case 0x0b:                                                       // restore_state
        if (depth == 0) return false;
        row = scratch->saved[--depth];
        break;
      case 0x0c: case 0x12:                                            // def_cfa, def_cfa_sf
        row.cfa_register = static_cast<uint8_t>(in.uleb());
        row.cfa = {RuleKind::kRegister, 0, byte == 0x0c ? static_cast<int32_t>(in.uleb()) : scaled(in.sleb())};
        break;
      case 0x0d: row.cfa_register = static_cast<uint8_t>(in.uleb()); break;
      case 0x0e: row.cfa.value = static_cast<int32_t>(in.uleb()); break;
      case 0x13: row.cfa.value = scaled(in.sleb()); break;
      case 0x0f: take_expression(&in, offset, RuleKind::kExpression, &row.cfa); break;
      case 0x10: take_expression(&in, offset, RuleKind::kExpression, &rule_of(in.uleb())); break;
      case 0x16: take_expression(&in, offset, RuleKind::kValueExpression, &rule_of(in.uleb())); break;
      case 0x11: number = in.uleb(); rule_of(number) = {RuleKind::kOffset, 0, scaled(in.sleb())}; break;
      case 0x14: number = in.uleb(); rule_of(number) = {RuleKind::kValueOffset, 0, scaled(static_cast<int64_t>(in.uleb()))}; break;
      case 0x15: number = in.uleb(); rule_of(number) = {RuleKind::kValueOffset, 0, scaled(in.sleb())}; break;
      case 0x2e: in.uleb(); break;                                     // GNU_args_size
      default: return false;
    }
    if (location > pc) return true;
  }
  return !in.failed() && !is_cut;
}

}  // namespace

bool find_cfi_row(uint64_t pc, uint64_t header, CfiScratch *scratch) {
  uint64_t fde = find_fde(pc, header, scratch);
  if (fde == 0) return false;
  uint8_t *fde_bytes = scratch->bytes, *cie_bytes = scratch->bytes + kFdeRoom;
  uint32_t head[2];  // length, distance back to the CIE
  size_t available = read_memory(scratch->self, fde, fde_bytes, kFdeRoom);
  if (available < sizeof head) return false;
  memcpy(head, fde_bytes, sizeof head);
  if (head[0] >= 0xfffffff0 || head[0] < 12 || head[1] == 0) return false;
  // A description longer than the room is read in part: execute() mostly ends before its end.
  size_t whole = head[0] + size_t{4}, size = whole < kFdeRoom ? whole : kFdeRoom;
  if (available < size) return false;
  uint64_t cie_address = fde + 4 - head[1];
  uint32_t cie_length;
  available = read_memory(scratch->self, cie_address, cie_bytes, sizeof scratch->bytes - kFdeRoom);
  if (available < sizeof cie_length) return false;
  memcpy(&cie_length, cie_bytes, sizeof cie_length);
  size_t cie_size = cie_length + size_t{4};
  if (available < cie_size) return false;

  CommonInformation cie;
  if (!parse_cie(Cursor(cie_bytes, cie_size, cie_address), cie_size, &cie)) return false;
  Cursor in(fde_bytes, size, fde);
  in.skip(8);
  uint64_t start = in.pointer(cie.pointer_encoding);
  uint64_t length = in.pointer(cie.pointer_encoding & 0x0f);
  if (cie.has_augmentation_data) in.skip(in.uleb());
  if (in.failed() || pc < start || pc - start >= length) return false;

  memset(&scratch->row, 0, sizeof scratch->row);  // every register: kSame
  scratch->row.is_signal_frame = cie.is_signal_frame;
  scratch->initial = scratch->row;
  // The CIE's instructions apply to the whole function.
  if (!execute(Cursor(cie_bytes + cie.instructions, cie.end - cie.instructions, cie_address + cie.instructions),
               kFdeRoom + cie.instructions, cie, start, pc, scratch, false))
    return false;
  scratch->initial = scratch->row;
  size_t at = in.position();
  if (!execute(Cursor(fde_bytes + at, size - at, fde + at), at, cie, start, pc, scratch, size < whole))
    return false;
  return scratch->row.cfa.kind == RuleKind::kExpression ||
         (scratch->row.cfa.kind == RuleKind::kRegister && scratch->row.cfa_register < kRegisterCount);
}

bool evaluate_expression(const CfiScratch *scratch, const Rule &rule, const uint64_t *registers,
                         const uint64_t *initial, uint64_t *result) {
  uint64_t stack[16];
  int top = 0;  // values on the stack
  if (initial != nullptr) stack[top++] = *initial;
  Cursor in(scratch->bytes + rule.value, rule.size, 0);
  while (!in.at_end()) {
    uint8_t op = in.fixed<uint8_t>();
    if (top >= 15) return false;
    if (op >= 0x30 && op <= 0x4f) { stack[top++] = op - 0x30u; continue; }  // lit0..31
    if (op >= 0x70 && op <= 0x80) {                                         // breg0..16
      stack[top++] = registers[op - 0x70] + static_cast<uint64_t>(in.sleb());
      continue;
    }
    switch (op) {
      case 0x08: stack[top++] = in.fixed<uint8_t>(); continue;
      case 0x09: stack[top++] = static_cast<uint64_t>(static_cast<int64_t>(in.fixed<int8_t>())); continue;
      case 0x0a: stack[top++] = in.fixed<uint16_t>(); continue;
      case 0x0b: stack[top++] = static_cast<uint64_t>(static_cast<int64_t>(in.fixed<int16_t>())); continue;
      case 0x0c: stack[top++] = in.fixed<uint32_t>(); continue;
      case 0x0d: stack[top++] = static_cast<uint64_t>(static_cast<int64_t>(in.fixed<int32_t>())); continue;
      case 0x10: stack[top++] = in.uleb(); continue;
      case 0x11: stack[top++] = static_cast<uint64_t>(in.sleb()); continue;
    }
    if (top < 1) return false;
    uint64_t &last = stack[top - 1];
    switch (op) {
      case 0x06:                                                            // deref
        if (read_memory(scratch->self, last, &last, 8) != 8) return false;
        continue;
      case 0x12: stack[top] = last; top++; continue;                        // dup
      case 0x13: top--; continue;                                           // drop
      case 0x1f: last = 0 - last; continue;                                 // neg
      case 0x20: last = ~last; continue;                                    // not
      case 0x23: last += in.uleb(); continue;                               // plus_uconst
    }
    if (top < 2) return false;
    uint64_t right = last;
    uint64_t &left = stack[top - 2];
    int64_t signed_left = static_cast<int64_t>(left), signed_right = static_cast<int64_t>(right);
    top--;
    switch (op) {
      case 0x16: last = left; left = right; top++; break;                   // swap
      case 0x1a: left &= right; break;
      case 0x1c: left -= right; break;
      case 0x1e: left *= right; break;
      case 0x21: left |= right; break;
      case 0x22: left += right; break;
      case 0x24: left = right < 64 ? left << right : 0; break;
      case 0x25: left = right < 64 ? left >> right : 0; break;
      case 0x27: left ^= right; break;
      case 0x29: left = signed_left == signed_right; break;
      case 0x2a: left = signed_left >= signed_right; break;
      case 0x2b: left = signed_left > signed_right; break;
      case 0x2c: left = signed_left <= signed_right; break;
      case 0x2d: left = signed_left < signed_right; break;
      case 0x2e: left = signed_left != signed_right; break;
      default: return false;
    }
  }
  if (in.failed() || top < 1) return false;
  *result = stack[top - 1];
  return true;
}

}  // namespace slurmscope
