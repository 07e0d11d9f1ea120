# Builds the fuzzer in build-fuzz with clang and its sanitizers: `make -f tests/fuzz/fuzz.mk` in the top folder.
# Apart from the product's build, which knows nothing of it: other compiler, other flags, a few sources only.
B = build-fuzz
CXX = clang++
PROTOC = protoc
PACKAGES = protobuf libzstd fmt libdw
SANITIZE = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer
CPPFLAGS = -I. -I$B -D_GNU_SOURCE -DSLURMSCOPE_PKGLIBDIR='"/nowhere"' -DPACKAGE_VERSION='"fuzz"' $(shell pkg-config --cflags $(PACKAGES))
CXXFLAGS = -std=c++20 -O1 -g -w $(SANITIZE)
LDLIBS = $(shell pkg-config --libs $(PACKAGES)) -lelf

reader = $(wildcard proto/*.cc tools/model/*.cc tools/export/*.cc tools/report/*.cc)
# Of the drainer without its daemon: what writes to a trace's path, and main.
drainer = $(filter-out %/drain_main.cc %/drain_output.cc %/drain_worker.cc %/supervisor.cc, $(wildcard profiler/drain/*.cc))
common = $(reader) $(drainer) tests/fuzz/hostile_trace.cc tests/fuzz/hostile_spool.cc tests/unit/ring_maker.cc
objects = $(patsubst %.cc, $B/%.o, $1) $B/proto/slurmscope.pb.o
targets = frames verify report spool

all: $(targets:%=$B/%)
$B/fuzz: $(call objects, $(common) tests/fuzz/fuzz_main.cc tests/fuzz/trace_mutator.cc)
	@echo "  CXX $@"; $(CXX) $(SANITIZE) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)
$(targets:%=$B/%): $B/fuzz
	ln -sf fuzz $@
$B/%.o: %.cc $B/proto/slurmscope.pb.h
	@mkdir -p $(@D)
	@echo "  CXX $@"; $(CXX) $(CPPFLAGS) $(CXXFLAGS) -fsanitize=fuzzer-no-link -MMD -c -o $@ $<
# Generated code is not what is looked at.
$B/proto/slurmscope.pb.o: $B/proto/slurmscope.pb.cc
	@echo "  CXX $@"; $(CXX) $(CPPFLAGS) -std=c++20 -O1 -w $(SANITIZE) -c -o $@ $<
$B/proto/slurmscope.pb.cc: proto/slurmscope.proto
	@mkdir -p $(@D)
	$(PROTOC) --cpp_out=$B proto/slurmscope.proto
$B/proto/slurmscope.pb.h: $B/proto/slurmscope.pb.cc ;
-include $(shell find $B -name '*.d' 2>/dev/null)
.PHONY: all
