/* Names what the process does from now on: if (ncclprof_tag) ncclprof_tag("forward"); null or "" ends it.
 * Weak: 0 unless libnccl-profiler-ncclprof.so is linked or preloaded. */
#ifdef __cplusplus
extern "C"
#endif
    void
    ncclprof_tag(const char *tag) __attribute__((weak));
