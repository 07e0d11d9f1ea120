// See trace_mutator.h.
#include "tests/fuzz/trace_mutator.h"

#include <google/protobuf/stubs/logging.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "proto/slurmscope.pb.h"
#include "tests/fuzz/hostile_input.h"

namespace slurmscope::test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class Mutator {
 public:
  Mutator(unsigned seed, MutateBytes bytes) : random_(seed), bytes_(bytes) {}

  void mutate(v1::Trace *trace) {
    do {
      int count = trace->packet_size();
      int at = count == 0 ? 0 : below(count);
      switch (count == 0 ? 0 : below(12)) {
        case 0: mutate_message(trace->add_packet()); break;
        case 1: trace->mutable_packet()->DeleteSubrange(at, 1); break;
        case 2: trace->mutable_packet()->SwapElements(at, below(count)); break;
        case 3: {
          v1::Packet copy = trace->packet(at);
          *trace->add_packet() = std::move(copy);
          break;
        }
        default: mutate_message(trace->mutable_packet(at));
      }
    } while (below(3) == 0);
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  uint64_t number(uint64_t old) {
    constexpr uint64_t kEdges[] = {0, 1, UINT64_MAX, 0x7f, 0x80, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
                                   0x7fffffffffffffff, 0x8000000000000000, 1'000'000'000};
    switch (below(6)) {
      case 0: return kEdges[random_() % std::size(kEdges)];
      case 1: return old + static_cast<uint64_t>(below(9) - 4);
      case 2: return uint64_t{1} << below(64);
      case 3: return static_cast<uint64_t>(below(20));
      case 4: return old ^ uint64_t{1} << below(64);
      default: return (static_cast<uint64_t>(random_()) << 32 | random_()) >> below(64);
    }
  }
  double real(double old) {
    constexpr double kEdges[] = {0, -0.0, 1, -1, 1e308, -1e308, 1e-308, 1e9, std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
    return below(3) == 0 ? old * (below(100) - 50) : kEdges[random_() % std::size(kEdges)];
  }
  std::string text(std::string old) {
    size_t size = old.size();
    old.resize(size + 32);
    old.resize(bytes_(reinterpret_cast<uint8_t *>(old.data()), size, old.size()));
    return old;
  }

  void mutate_message(Message *message) {
    const Reflection *reflection = message->GetReflection();
    std::vector<const FieldDescriptor *> fields;
    reflection->ListFields(*message, &fields);
    const google::protobuf::Descriptor *type = message->GetDescriptor();
    const FieldDescriptor *field = fields.empty() || below(4) == 0 ? type->field(below(type->field_count()))
                                                                   : fields[random_() % fields.size()];
    if (!field->is_repeated()) {
      if (below(16) == 0) reflection->ClearField(message, field);
      else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) mutate_message(reflection->MutableMessage(message, field));
      else set_value(message, field, -1);
      return;
    }
    int count = reflection->FieldSize(*message, field);
    int what = below(8);
    if (count == 0 || what == 0) {
      for (int i = 0, add = below(4) == 0 ? 1 + below(64) : 1; i < add; i++) add_value(message, field);
    } else if (what == 1) {
      reflection->RemoveLast(message, field);
    } else if (what == 2) {
      reflection->SwapElements(message, field, below(count), below(count));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      mutate_message(reflection->MutableRepeatedMessage(message, field, below(count)));
    } else {
      set_value(message, field, below(count));
    }
  }

  void add_value(Message *message, const FieldDescriptor *field) {
    const Reflection *reflection = message->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: mutate_message(reflection->AddMessage(message, field)); break;
      case FieldDescriptor::CPPTYPE_STRING: reflection->AddString(message, field, text("x")); break;
      case FieldDescriptor::CPPTYPE_UINT32: reflection->AddUInt32(message, field, static_cast<uint32_t>(number(0))); break;
      case FieldDescriptor::CPPTYPE_UINT64: reflection->AddUInt64(message, field, number(0)); break;
      case FieldDescriptor::CPPTYPE_INT32: reflection->AddInt32(message, field, static_cast<int32_t>(number(0))); break;
      case FieldDescriptor::CPPTYPE_INT64: reflection->AddInt64(message, field, static_cast<int64_t>(number(0))); break;
      default: break;  // the schema has no repeated fields of other types
    }
  }

  // Of a repeated field at `index`; -1: of a single one.
  void set_value(Message *message, const FieldDescriptor *field, int index) {
    const Reflection *r = message->GetReflection();
    bool is_single = index < 0;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        if (is_single) r->SetString(message, field, text(r->GetString(*message, field)));
        else r->SetRepeatedString(message, field, index, text(r->GetRepeatedString(*message, field, index)));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        if (is_single) r->SetUInt32(message, field, static_cast<uint32_t>(number(r->GetUInt32(*message, field))));
        else r->SetRepeatedUInt32(message, field, index, static_cast<uint32_t>(number(r->GetRepeatedUInt32(*message, field, index))));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        if (is_single) r->SetUInt64(message, field, number(r->GetUInt64(*message, field)));
        else r->SetRepeatedUInt64(message, field, index, number(r->GetRepeatedUInt64(*message, field, index)));
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        if (is_single) r->SetInt32(message, field, static_cast<int32_t>(number(static_cast<uint64_t>(r->GetInt32(*message, field)))));
        else r->SetRepeatedInt32(message, field, index, static_cast<int32_t>(number(static_cast<uint64_t>(r->GetRepeatedInt32(*message, field, index)))));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        if (is_single) r->SetInt64(message, field, static_cast<int64_t>(number(static_cast<uint64_t>(r->GetInt64(*message, field)))));
        else r->SetRepeatedInt64(message, field, index, static_cast<int64_t>(number(static_cast<uint64_t>(r->GetRepeatedInt64(*message, field, index)))));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE: r->SetDouble(message, field, real(r->GetDouble(*message, field))); break;
      case FieldDescriptor::CPPTYPE_BOOL: r->SetBool(message, field, !r->GetBool(*message, field)); break;
      case FieldDescriptor::CPPTYPE_ENUM:
        r->SetEnumValue(message, field, below(4) == 0 ? static_cast<int>(number(0)) : below(50));
        break;
      default: break;
    }
  }

  std::minstd_rand random_;
  MutateBytes bytes_;
};

}  // namespace

size_t mutate_trace(uint8_t *data, size_t size, size_t max_size, unsigned seed, MutateBytes bytes) {
  google::protobuf::LogSilencer silencer;
  std::string_view input(reinterpret_cast<char *>(data), size);
  bool is_file = is_trace_file(input);
  v1::Trace trace;
  if (seed % (is_file ? 2 : 16) == 0 || !trace.ParseFromString(is_file ? trace_packets(input) : std::string(input)))
    return bytes(data, size, max_size);
  Mutator(seed, bytes).mutate(&trace);
  std::string changed = trace.SerializeAsString();
  if (changed.size() > max_size) return bytes(data, size, max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // namespace slurmscope::test
