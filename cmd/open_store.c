#include "cmd/open_store.h"

#include "cmd/cmd.h"
#include "cmd/temporary_store.h"
#include "join/join.h"
#include "store/shard.h"
#include "store/store.h"

#include <errno.h>
#include <unistd.h>

/* Makes the derived tables match the files when they do not; returns 1 when it did. */
static int join_if_needed(struct context *context)
{
    int current = join_is_current(context->store, &context->error);
    if (current)
        return current < 0 ? -1 : 0;
    struct store *store = store_open(context->store_path, STORE_WRITE, &context->error);
    int outcome = store ? join_store(store, 1, &context->error) : -1;
    store_close(store);
    return outcome ? error_wrap(&context->error, "cannot bring the store's joined tables up to date") : 1;
}

int open_store(struct context *context, int needs)
{
    enum store_mode mode = needs & NEEDS_STORE_IF_ANY ? STORE_CREATE
                           : needs & NEEDS_STORE      ? STORE_WRITE
                                                      : STORE_READ;
    if (!(needs & (NEEDS_STORE | NEEDS_STORE_IF_ANY | NEEDS_STORE_READ)))
        return 0;
    if (needs & NEEDS_STORE_IF_ANY && access(context->store_path, F_OK) && errno == ENOENT)
        return 0;
    context->store = store_open(context->store_path, mode, &context->error);
    if (!context->store)
        return -1;
    if (!(needs & NEEDS_JOINED))
        return 0;
    int is_shard = store_is_shard(context->store, &context->error);
    if (is_shard)
        return is_shard < 0 ? -1 : temporary_store_of_shard(context);
    return join_if_needed(context) < 0 ? -1 : 0;
}
