#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_WORDS_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_WORDS_H

#include "model/vocab.h"

#include <stddef.h>
#include <stdint.h>

/* The words of Flight Recorder dumps. */

struct call_name {
    enum function function;
    int is_closing;   /* "coalesced" */
    int64_t own_rank; /* of "send 0->1" and "recv 0<-1": ranks in the group; COUNT_UNKNOWN */
    int64_t peer;
};

/*
 * "nccl:all_reduce", "xccl:_reduce_scatter_base", "nccl:recv 0<-1": whatever the backend is called. Suffixes
 * ("_base", "_single", "_coalesced"...) say how it was called from Python, not what NCCL does. What is no
 * collective that we know is FUNCTION_OTHER.
 */
struct call_name call_name(const char *text, size_t length);

/* "BFloat16" (c10::ScalarType), or "c10::BFloat16" (a C++ type, torch 2.4). */
enum datatype call_datatype(const char *text, size_t length);

#endif
