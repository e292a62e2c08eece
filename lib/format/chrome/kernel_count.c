#include "format/chrome/kernel_count.h"

#include "format/chrome/emit.h"

enum {
    SELF_SEND_LEFT_OUT = 1,
    BROADCAST_LEFT_OUT = 2,
    OTHER_LEFT_OUT = 4 /* a collective that NCCL counts: the recorder left kernels out, and tells nothing */
};

static struct map_key member_key(uint64_t hash, int64_t rank)
{
    return (struct map_key){{hash, (uint64_t)rank}};
}

static int set(struct chrome_reader *reader, struct map_key key, int64_t left_out, struct error *error)
{
    int64_t *known = map_put(&reader->counted, key, 0, NULL);
    if (!known)
        return error_no_memory(error);
    *known |= left_out;
    return 0;
}

/* 0: it is none of those that the host leaves out, or was counted. */
static int64_t left_out_by(const struct chrome_assembly *assembly)
{
    const struct operation *operation = &assembly->operation;
    if (assembly->has_kernel_lines || assembly->unfinished)
        return 0;
    if (operation->kind == OPERATION_POINT_TO_POINT)
        return operation->peer != COUNT_UNKNOWN && operation->peer == assembly->origin.rank
                   ? SELF_SEND_LEFT_OUT
                   : 0;
    if (operation->kind != OPERATION_COLLECTIVE || operation->graph_captured)
        return 0;
    return operation->function == FUNCTION_BROADCAST ? BROADCAST_LEFT_OUT : OTHER_LEFT_OUT;
}

int kernel_count_operation(struct chrome_reader *reader, struct error *error)
{
    const struct origin *origin = &reader->assembly.origin;
    int64_t left_out = left_out_by(&reader->assembly);
    if (reader->assembly.has_stale_kernel && !reader->assembly.channel_count &&
        chrome_note(reader, "operation whose kernel began before it", 0, origin->offset, NULL, 0, error))
        return -1;
    return left_out ? set(reader, member_key(origin->communicator_hash, origin->rank), left_out, error) : 0;
}

/* Its line does not tell the communicator: that of the file. */
int kernel_count_bare_broadcast(struct chrome_reader *reader, struct error *error)
{
    return reader->is_of_member && !reader->is_bundled
               ? set(reader, member_key(reader->communicator_hash, reader->rank), BROADCAST_LEFT_OUT, error)
               : 0;
}

const char *kernel_count_astray(struct chrome_reader *reader)
{
    const struct origin *origin = &reader->assembly.origin;
    int64_t *known = map_get(&reader->counted, member_key(origin->communicator_hash, origin->rank));
    if (!known)
        return NULL;
    /* This NCCL counts them: the kernel of an earlier one was lost. */
    if (reader->assembly.operation.function == FUNCTION_BROADCAST)
        *known &= ~(int64_t)BROADCAST_LEFT_OUT;
    if (*known & SELF_SEND_LEFT_OUT)
        return "kernel channel of another operation";
    return (*known & (BROADCAST_LEFT_OUT | OTHER_LEFT_OUT)) == BROADCAST_LEFT_OUT
               ? "kernel channel of another operation after a Broadcast"
               : NULL;
}
