#include "join/call_list.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/ids.h"
#include "base/sort.h"
#include "join/call_home.h"
#include "schemas.h"
#include "store/members.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

void call_list_init(struct call_list *list)
{
    *list = (struct call_list){.items = NULL};
    intern_init(&list->groups);
    intern_init(&list->correlations);
}

void call_list_release(struct call_list *list)
{
    free(list->items);
    intern_release(&list->groups);
    intern_release(&list->correlations);
    list->items = NULL;
}

int64_t call_group(struct call_list *list, int64_t *ranks, size_t count)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    sort_integers(ranks, count);
    for (size_t i = 0; i < count && !failed; i++)
        failed = buffer_printf(&text, "%lld,", (long long)ranks[i]);
    int64_t number = failed || !text.length ? -1 : intern_put(&list->groups, text.data, text.length);
    buffer_release(&text);
    return number;
}

/* Of a group that a description lists; of all where it lists none. */
static int read_group(struct call_list *list, const char *text, int32_t *group)
{
    int64_t *ranks = NULL;
    size_t count = 0;
    *group = !text ? GROUP_OF_ALL : GROUP_ANY;
    if (!text || !text[0])
        return 0;
    if (members_read(text, &ranks, &count))
        return -1;
    int64_t number = count ? call_group(list, ranks, count) : GROUP_DAMAGED;
    free(ranks);
    *group = (int32_t)number;
    return count && number < 0 ? -1 : 0;
}

/* Numbers of columns of the statement that lists descriptions. */
enum { ID, PROCESS, RANK, NAME, BYTES, SAID, GROUP, PEER, CORRELATION, AT };

static int take(struct call_list *list, const struct work *work, struct statement *row)
{
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return -1;
    struct call *call = &list->items[list->count];
    struct call_kind kind = call_kind_of(statement_text(row, NAME));
    const char *correlation = statement_text(row, CORRELATION);
    int64_t process = statement_integer_or(row, PROCESS, -1);
    int64_t number = correlation ? intern_put(&list->correlations, correlation, strlen(correlation)) : -1;
    if (process >= 0)
        process = find_id(work->processes, work->process_count, sizeof *work->processes, 0, process);
    *call = (struct call){.id = statement_integer(row, ID),
                          .process = (int32_t)process,
                          .correlation = (int32_t)number,
                          .said_rank = statement_integer(row, RANK),
                          .at_ns = statement_integer_or(row, AT, TIME_UNKNOWN),
                          .said_ns = statement_integer_or(row, SAID, TIME_UNKNOWN),
                          .of = {.rank = -1,
                                 .function = (int32_t)kind.function,
                                 .is_barrier = kind.is_barrier,
                                 .message_bytes = kind.is_barrier ? 0 : statement_integer_or(row, BYTES, -1),
                                 .peer = statement_integer_or(row, PEER, COUNT_UNKNOWN)},
                          .class = -1};
    if ((correlation && number < 0) || read_group(list, statement_text(row, GROUP), &call->of.group))
        return -1;
    list->count++;
    return 0;
}

int call_list_load(struct call_list *list, const struct work *work, struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_join_call_descriptions, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take(list, work, row))
            more = error_no_memory(error);
    statement_free(row);
    return more || !list->count ? more : call_list_find_homes(list, work, store, error);
}
