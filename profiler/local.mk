include profiler/preload/local.mk
include profiler/sampler/local.mk
include profiler/drain/local.mk
