#include "analyse/buffers_cautions.h"

/* Calls of all groups in a state. */
static int64_t calls_in(const struct shares *shares, enum memory_state state)
{
    int64_t calls = 0;
    for (size_t i = 0; i < shares->count; i++)
        calls += shares->groups[i].state_calls[state];
    return calls;
}

static int64_t all_calls(const struct shares *shares)
{
    int64_t calls = 0;
    for (size_t i = 0; i < shares->count; i++)
        calls += shares->groups[i].calls;
    return calls;
}

static int caution_no_buffers(int64_t lacking, int64_t calls, struct table *table, struct error *error)
{
    return lacking ? table_add_warning(table, error,
                                       "%lld of %lld calls have no buffer addresses. Record with ncclprof "
                                       "record, or with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,REG",
                                       (long long)lacking, (long long)calls)
                   : 0;
}

static int caution_no_source(int64_t lacking, int64_t calls, struct table *table, struct error *error)
{
    return lacking
               ? table_add_warning(
                     table, error,
                     "registered memory is not recorded for %lld of %lld calls. NCCL 2.23 and later log it "
                     "with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,REG. With PyTorch's allocator hook, a "
                     "memory snapshot of each rank is enough (torch.cuda.memory._record_memory_history() at "
                     "the start, torch.cuda.memory._dump_snapshot('memory_rank0.pickle') at the end)",
                     (long long)lacking, (long long)calls)
               : 0;
}

static int caution_silent_log(const struct shares *shares, const struct known_memory *known,
                              struct table *table, struct error *error)
{
    return known->watched && !known->registrations && shares->source_calls[SOURCE_LOG]
               ? table_add_warning(table, error,
                                   "NCCL's log contains calls, but no registration: nothing was registered, "
                                   "unless NCCL_DEBUG_SUBSYS lacked REG or NCCL is older than 2.23")
               : 0;
}

int caution_snapshot_rule(int64_t calls, struct table *table, struct error *error)
{
    return table_add_warning(table, error,
                             "%lld call%s compared with allocator snapshots on the assumption that "
                             "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK=1 was set, which the traces do "
                             "not show. If it was not set, run ncclprof buffers --allocator-hook off",
                             (long long)calls, calls == 1 ? " is" : "s are");
}

static int caution_snapshot(const struct shares *shares, const struct known_memory *known,
                            struct table *table, struct error *error)
{
    if (known->assumed && caution_snapshot_rule(known->assumed, table, error))
        return -1;
    if (shares->timeless_calls &&
        table_add_warning(table, error,
                          "%lld call%s no wall-clock time to compare with a snapshot; memory that was "
                          "allocated later or freed earlier counts as registered there",
                          (long long)shares->timeless_calls, shares->timeless_calls == 1 ? " has" : "s have"))
        return -1;
    return known->strange_snapshots
               ? table_add_warning(table, error,
                                   "%lld allocator snapshot%s ignored because the rank is unknown. Put the "
                                   "rank into the file name (memory_rank0.pickle), and the file into the "
                                   "directory of the traces or a directory above it",
                                   (long long)known->strange_snapshots,
                                   known->strange_snapshots == 1 ? " is" : "s are")
               : 0;
}

int caution_buffers(const struct shares *shares, const struct known_memory *known, struct table *table,
                    struct error *error)
{
    int64_t calls = all_calls(shares);
    return caution_no_buffers(calls_in(shares, MEMORY_NO_BUFFERS), calls, table, error) ||
                   caution_no_source(calls_in(shares, MEMORY_NO_SOURCE), calls, table, error) ||
                   caution_silent_log(shares, known, table, error) ||
                   caution_snapshot(shares, known, table, error)
               ? -1
               : 0;
}
