/*
 * Tags, from the application to libnccl-profiler-ncclprof.so. Weak: each is 0 unless the library is linked or
 * preloaded. ncclprof-plugin(7) says more.
 */
#ifndef NCCLPROF_TAG_H
#define NCCLPROF_TAG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names what the process does from now on: if (ncclprof_tag) ncclprof_tag("forward"); null or "" ends it. */
void ncclprof_tag(const char *tag) __attribute__((weak));

/*
 * Names a number that operations are tagged with (ncclCollConfig_t's userProfilerTag, NCCL 2.31), for all of
 * the process's operations: if (ncclprof_tag_name) ncclprof_tag_name(42, "forward"). A name given later
 * replaces it.
 */
void ncclprof_tag_name(uint64_t number, const char *name) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
