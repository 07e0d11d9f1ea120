// The only place that includes <slurm/spank.h>.
//
// In Slurm 22.05 its callback types are declared outside its extern "C", and SPANK_PLUGIN defines const
// objects, which are local to the file in C++: Slurm would then not find plugin_name and refuse the
// plugin. Everything is declared here with C linkage and default visibility, before it is defined.
#pragma once

extern "C" {
#include <slurm/slurm_version.h>
#include <slurm/spank.h>

#define SLURMSCOPE_EXPORT __attribute__((visibility("default")))
extern SLURMSCOPE_EXPORT const char plugin_name[];
extern SLURMSCOPE_EXPORT const char plugin_type[];
extern SLURMSCOPE_EXPORT const unsigned int plugin_version;
extern SLURMSCOPE_EXPORT const unsigned int spank_plugin_version;
}
