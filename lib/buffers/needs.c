#include "buffers/needs.h"

static uint64_t times(uint64_t bytes, int64_t ranks)
{
    uint64_t product;
    uint64_t factor = ranks > 0 ? (uint64_t)ranks : 1;
    return __builtin_mul_overflow(bytes, factor, &product) ? UINT64_MAX : product;
}

struct needs needs_of(enum function function, int64_t bytes, int64_t ranks, int is_root)
{
    uint64_t one = bytes > 0 ? (uint64_t)bytes : 0, all = times(one, ranks);
    switch (function) {
    case FUNCTION_ALL_REDUCE:
        return (struct needs){one, one};
    case FUNCTION_ALL_GATHER:
        return (struct needs){one, all};
    case FUNCTION_REDUCE_SCATTER:
        return (struct needs){all, one};
    case FUNCTION_ALL_TO_ALL:
        return (struct needs){all, all};
    case FUNCTION_GATHER:
        return (struct needs){one, is_root ? all : 0};
    case FUNCTION_SCATTER:
        return (struct needs){is_root ? all : 0, one};
    case FUNCTION_BROADCAST:
        return (struct needs){is_root ? one : 0, one};
    case FUNCTION_REDUCE:
        return (struct needs){one, is_root ? one : 0};
    case FUNCTION_SEND:
        return (struct needs){one, 0};
    case FUNCTION_RECV:
        return (struct needs){0, one};
    default:
        return (struct needs){0, 0};
    }
}
