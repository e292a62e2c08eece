#include "model/call.h"

#include <string.h>

/* The longest element that NCCL knows: a barrier is an AllReduce of one, of whichever type. */
enum { ELEMENT_BYTES_MOST = 8 };

struct call_kind call_kind_of(const char *name)
{
    static const struct {
        const char *name;
        struct call_kind kind;
    } known[] = {
        {"all_reduce", {FUNCTION_ALL_REDUCE, 0}},
        {"all_gather", {FUNCTION_ALL_GATHER, 0}},
        {"all_gather_into_tensor", {FUNCTION_ALL_GATHER, 0}},
        {"reduce_scatter", {FUNCTION_REDUCE_SCATTER, 0}},
        {"reduce_scatter_tensor", {FUNCTION_REDUCE_SCATTER, 0}},
        {"all_to_all", {FUNCTION_ALL_TO_ALL, 0}},
        {"all_to_all_single", {FUNCTION_ALL_TO_ALL, 0}},
        {"gather", {FUNCTION_GATHER, 0}},
        {"scatter", {FUNCTION_SCATTER, 0}},
        {"broadcast", {FUNCTION_BROADCAST, 0}},
        {"broadcast_object_list", {FUNCTION_BROADCAST, 0}},
        {"reduce", {FUNCTION_REDUCE, 0}},
        {"barrier", {FUNCTION_ALL_REDUCE, 1}},
        {"send", {FUNCTION_SEND, 0}},
        {"isend", {FUNCTION_SEND, 0}},
        {"recv", {FUNCTION_RECV, 0}},
        {"irecv", {FUNCTION_RECV, 0}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].kind;
    return (struct call_kind){FUNCTION_UNKNOWN, 0};
}

/* How many times what NCCL gets a message is. */
static int64_t messages(enum function function, int64_t ranks)
{
    if (function == FUNCTION_ALL_GATHER)
        return ranks;
    if (function == FUNCTION_ALL_TO_ALL || function == FUNCTION_GATHER || function == FUNCTION_SCATTER)
        return ranks - 1;
    return 1;
}

int64_t call_message_bytes(enum function function, int64_t bytes, int64_t ranks)
{
    int64_t size;
    if (bytes < 0 || ranks < 1 || __builtin_mul_overflow(bytes, messages(function, ranks), &size))
        return -1;
    return size;
}

int64_t call_message_of_size(enum function function, int64_t size_bytes, int64_t ranks)
{
    if (size_bytes < 0 || ranks < 1)
        return -1;
    switch (function) {
    case FUNCTION_REDUCE_SCATTER:
        return size_bytes / ranks;
    case FUNCTION_ALL_TO_ALL:
    case FUNCTION_GATHER:
    case FUNCTION_SCATTER:
        return size_bytes / ranks * (ranks - 1);
    default:
        return size_bytes;
    }
}

double call_bandwidth_factor(enum function function, int64_t ranks)
{
    double n = (double)ranks;
    switch (ranks < 1 ? FUNCTION_UNKNOWN : function) {
    case FUNCTION_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case FUNCTION_ALL_GATHER:
    case FUNCTION_REDUCE_SCATTER:
        return (n - 1) / n;
    case FUNCTION_ALL_TO_ALL:
        return n;
    default:
        return 1;
    }
}

int call_may_be_barrier(int64_t bytes)
{
    return bytes > 0 && bytes <= ELEMENT_BYTES_MOST;
}
