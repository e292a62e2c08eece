#include "analyse/records.h"

#include "base/buffer.h"
#include "schemas.h"
#include "store/store.h"
#include "verdict/words.h"

/* What records show that has to be known of them, whatever is judged. */

static int warn_of_repeated(struct store *store, const struct runs *runs, struct table *table,
                            struct error *error)
{
    struct statement *statement =
        store_prepare_for(store, schema_analysis_caution_repeated, runs->only, error);
    int row = statement ? statement_step(statement, error) : -1;
    long long repeated = row == 1 ? (long long)statement_integer(statement, 0) : 0;
    statement_free(statement);
    if (!repeated)
        return row == 1 ? 0 : -1;
    return table_add_warning(
        table, error,
        "%lld collectives have the same sequence number in several Inspector logs of one "
        "process, but differ: the process may have been restarted with the same process ID",
        repeated);
}

/* A run's clocks, as they come. */
struct clocks {
    int64_t run_id;
    size_t told;
    size_t more;
};

enum { MOST_TOLD = 4 };

enum clock_column {
    CLOCK_RUN,
    CLOCK_RANK,
    CLOCK_HOST,
    CLOCK_PID,
    CLOCK_STEPS,
    CLOCK_STEP_NS,
    CLOCK_IS_MEASURED,
    CLOCK_FUNCTION,
    CLOCK_SEQUENCE,
    CLOCK_COMMUNICATOR,
    CLOCK_STEP
};

static int say_whose(struct statement *row, struct buffer *text)
{
    const char *rank = statement_text(row, CLOCK_RANK), *host = statement_text(row, CLOCK_HOST);
    if (buffer_append_text(text, "the clock of ") || (rank && buffer_printf(text, "rank %s (", rank)) ||
        buffer_printf(text, "%s%sprocess %lld", host ? host : "", host && *host ? ", " : "",
                      (long long)statement_integer(row, CLOCK_PID)))
        return -1;
    return rank ? buffer_append_byte(text, ')') : 0;
}

static int say_where(struct statement *row, struct buffer *text)
{
    const char *function = statement_text(row, CLOCK_FUNCTION);
    if (buffer_printf(text, " before %s", function ? function : "operation") ||
        (!statement_is_null(row, CLOCK_SEQUENCE) &&
         buffer_printf(text, " #%lld", (long long)statement_integer(row, CLOCK_SEQUENCE))) ||
        (!statement_is_null(row, CLOCK_COMMUNICATOR) &&
         text_on_label(text, statement_text(row, CLOCK_COMMUNICATOR))))
        return -1;
    return statement_is_null(row, CLOCK_STEP)
               ? 0
               : buffer_printf(text, ", step %lld", (long long)statement_integer(row, CLOCK_STEP));
}

/* "the clock of rank 2 (node2, process 22) jumped back by 1.50 s before AllReduce #30 ..." */
static int say_clock(struct statement *row, struct buffer *text)
{
    int64_t step_ns = statement_integer(row, CLOCK_STEP_NS), steps = statement_integer(row, CLOCK_STEPS);
    int is_measured = statement_integer(row, CLOCK_IS_MEASURED) != 0;
    if (say_whose(row, text) || buffer_printf(text, " jumped %s by ", step_ns < 0 ? "back" : "forward") ||
        (!is_measured && buffer_append_text(text, "about ")) ||
        text_time(text, step_ns < 0 ? -step_ns : step_ns) || say_where(row, text))
        return -1;
    if (steps > 1 &&
        buffer_printf(text, ", and %lld more time%s by less", (long long)(steps - 1), steps == 2 ? "" : "s"))
        return -1;
    return buffer_append_text(text, "; later timestamps are corrected");
}

static int tell_more(struct clocks *clocks, struct table *table, struct error *error)
{
    size_t more = clocks->more;
    clocks->more = clocks->told = 0;
    return more ? table_add_warning(table, error, "run %lld: the clocks of %zu more processes jumped",
                                    (long long)clocks->run_id, more)
                : 0;
}

static int tell_clock(struct clocks *clocks, struct statement *row, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int64_t run_id = statement_integer(row, CLOCK_RUN);
    if (run_id != clocks->run_id && tell_more(clocks, table, error))
        return -1;
    clocks->run_id = run_id;
    if (clocks->told == MOST_TOLD) {
        clocks->more++;
        return 0;
    }
    clocks->told++;
    int failed = say_clock(row, &text)
                     ? error_no_memory(error)
                     : table_add_warning(table, error, "run %lld: %s", (long long)run_id, text.data);
    buffer_release(&text);
    return failed;
}

int caution_clock_steps(struct store *store, const struct runs *runs, struct table *table,
                        struct error *error)
{
    struct clocks clocks = {.told = 0};
    struct statement *statement =
        store_prepare_for(store, schema_analysis_caution_clock_steps, runs->only, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1)
        if (tell_clock(&clocks, statement, table, error))
            row = -1;
    statement_free(statement);
    return row ? -1 : tell_more(&clocks, table, error);
}

enum pair_column {
    PAIR_RUN,
    PAIR_COUNT,
    PAIR_COMMUNICATOR,
    PAIR_SEQUENCE,
    PAIR_SENT,
    PAIR_RECEIVED,
    PAIR_SENDER,
    PAIR_RECEIVER
};

static int say_pairs(struct statement *row, struct buffer *text)
{
    long long count = (long long)statement_integer(row, PAIR_COUNT);
    const char *sender = statement_text(row, PAIR_SENDER), *receiver = statement_text(row, PAIR_RECEIVER);
    if (buffer_printf(text, "Send #%lld from rank %s to rank %s",
                      (long long)statement_integer(row, PAIR_SEQUENCE), sender ? sender : "?",
                      receiver ? receiver : "?") ||
        text_on_label(text, statement_text(row, PAIR_COMMUNICATOR)) ||
        buffer_printf(text, " and its receive differ in size: %lld bytes sent, %lld received",
                      (long long)statement_integer(row, PAIR_SENT),
                      (long long)statement_integer(row, PAIR_RECEIVED)))
        return -1;
    if (count > 1 && buffer_printf(text, "; %lld more pair%s differ%s", count - 1, count == 2 ? "" : "s",
                                   count == 2 ? "s" : ""))
        return -1;
    return buffer_append_text(text, "; the program does this, or records between them are lost");
}

static int warn_of_unequal(struct store *store, const struct runs *runs, struct table *table,
                           struct error *error)
{
    struct statement *statement =
        store_prepare_for(store, schema_analysis_caution_unequal_pairs, runs->only, error);
    int row = statement ? 1 : -1;
    int64_t told = 0;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        struct buffer text = BUFFER_INIT;
        int64_t run_id = statement_integer(statement, PAIR_RUN);
        if (run_id != told && say_pairs(statement, &text))
            row = error_no_memory(error);
        else if (run_id != told &&
                 table_add_warning(table, error, "run %lld: %s", (long long)run_id, text.data))
            row = -1;
        told = run_id;
        buffer_release(&text);
    }
    statement_free(statement);
    return row;
}

int caution_records(struct store *store, const struct runs *runs, struct table *table, struct error *error)
{
    return warn_of_repeated(store, runs, table, error) || caution_clock_steps(store, runs, table, error) ||
                   warn_of_unequal(store, runs, table, error)
               ? -1
               : 0;
}

int caution_copies(struct store *store, const struct runs *runs, struct table *table, struct error *error)
{
    struct statement *statement = store_prepare_for(store, schema_analysis_caution_copies, runs->only, error);
    int row = statement ? statement_step(statement, error) : -1;
    long long copies = row == 1 ? (long long)statement_integer(statement, 0) : 0;
    long long doubles = row == 1 ? (long long)statement_integer(statement, 1) : 0;
    statement_free(statement);
    if (row != 1)
        return -1;
    if (copies && table_add_warning(table, error,
                                    "%lld file%s duplicate%s another file or its beginning; the longest file "
                                    "is used",
                                    copies, copies == 1 ? "" : "s", copies == 1 ? "s" : ""))
        return -1;
    return doubles ? table_add_warning(table, error,
                                       "%lld operations are in several files (copies, or parts of one log); "
                                       "duplicate records are counted once",
                                       doubles)
                   : 0;
}
