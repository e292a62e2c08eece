#include "analyse/unfinished.h"

#include "stalls/pending.h"
#include "stalls/seats.h"

/* "2 'sent, not delivered' (rank 1 to rank 2, and others)". */
static int say_reading(const struct stalls *stalls, const struct reading_count *count, struct buffer *text)
{
    return buffer_printf(text, "%s%lld '%s' (rank %s to rank %s%s)", text->length ? ", " : "",
                         (long long)count->count, count->reading, stalls->seats[count->sender].name,
                         stalls->seats[count->receiver].name, count->has_others ? ", and others" : "");
}

static int warn(const struct stalls *stalls, const struct readings_counted *counted, int64_t run_id,
                struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int64_t all = 0;
    int failed = 0;
    for (size_t i = 0; !failed && i < counted->count; i++) {
        all += counted->items[i].count;
        failed = say_reading(stalls, &counted->items[i], &text);
    }
    if (failed)
        error_no_memory(error);
    else if (counted->count)
        failed = table_add_warning(
            table, error,
            "run %lld: %lld proxy operation%s never finished: %s. List them with: ncclprof stalls "
            "--states",
            (long long)run_id, (long long)all, all == 1 ? "" : "s", text.data);
    buffer_release(&text);
    return failed ? -1 : 0;
}

int caution_unfinished(const struct job *job, struct table *table, struct error *error)
{
    struct stalls stalls;
    struct readings_counted counted;
    stalls_init(&stalls);
    int failed = stalls_load_names(&stalls, job->store, job->run_id, error) ||
                 stalls_count_states(&stalls, job->store, &counted, error) ||
                 warn(&stalls, &counted, job->run_id, table, error);
    stalls_release(&stalls);
    return failed ? -1 : 0;
}
