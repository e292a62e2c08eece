#include "report/samples.h"

#include "model/event.h"
#include "model/vocab.h"
#include "schemas.h"
#include "store/statement.h"

#include <string.h>

/* Columns of the statement that lists samples. */
enum {
    INSTANT,
    NODE,
    GPU,
    COMMUNICATOR,
    NODES,
    RANKS,
    FUNCTION,
    BYTES,
    ALGORITHM,
    PROTOCOL,
    BANDWIDTH,
    DURATION,
    TAG
};

static int is_text(const char *wanted, const char *text)
{
    return !wanted || (text && strcmp(wanted, text) == 0);
}

/* Samples tell no ranks and no steps. */
static int is_looked_at(const struct report_filter *filter, struct statement *row)
{
    return filter->first_step == 0 && filter->last_step == INT64_MAX && !filter->has_rank &&
           is_text(filter->communicator, statement_text(row, COMMUNICATOR)) &&
           is_text(filter->tag, statement_text(row, TAG)) &&
           (!filter->cross_node || statement_integer(row, NODES) > 1);
}

/* The number in "GPU4"; -1. */
static int64_t device_of(const char *gpu)
{
    int64_t number = 0;
    if (!gpu || strncmp(gpu, "GPU", 3) != 0 || !gpu[3])
        return -1;
    for (const char *at = gpu + 3; *at; at++) {
        if (*at < '0' || *at > '9' || number > INT32_MAX)
            return -1;
        number = number * 10 + (*at - '0');
    }
    return number;
}

static int take(struct report_groups *report, struct statement *row)
{
    enum function function = (enum function)statement_integer(row, FUNCTION);
    int64_t ranks = statement_integer(row, RANKS);
    double gbs = statement_is_null(row, BANDWIDTH) ? -1 : statement_real(row, BANDWIDTH);
    struct report_row sample = {
        .key = {[KEY_TAG] = report_groups_text(report, statement_text(row, TAG)),
                [KEY_FUNCTION] = report_groups_text(report, function_name(function)),
                [KEY_COMMUNICATOR] = report_groups_text(report, statement_text(row, COMMUNICATOR)),
                [KEY_SIZE] = function_size_bytes(function, statement_integer_or(row, BYTES, -1), ranks),
                [KEY_ALGORITHM] = report_groups_text(
                    report, algorithm_name((enum algorithm)statement_integer(row, ALGORITHM))),
                [KEY_PROTOCOL] = report_groups_text(
                    report, protocol_name((enum protocol)statement_integer(row, PROTOCOL))),
                [KEY_RANK] = -1,
                [KEY_STEP] = -1,
                [KEY_RUN] = -1,
                [KEY_REGISTERED] = -1,
                [KEY_SOURCE] = -1,
                [KEY_GPU_SERIAL] = -1,
                [KEY_VM] = -1,
                [KEY_DEVICE] = device_of(statement_text(row, GPU)),
                [KEY_HOST] = report_groups_text(report, statement_text(row, NODE)),
                [KEY_PEER] = -1,
                [KEY_TIME] = report_groups_text(report, statement_text(row, INSTANT))},
        .instance = -1,
        .ranks = ranks,
        .transfer_ns = TIME_UNKNOWN,
        .effective_ns = statement_integer_or(row, DURATION, TIME_UNKNOWN),
        .wait_ns = TIME_UNKNOWN,
        .effective_gbs = gbs,
        .function = (int)function,
        .is_sample = 1};
    for (int i = 0; i < KEY_COUNT; i++)
        if (sample.key[i] < -1)
            return -1;
    return report_groups_add(report, &sample);
}

int report_samples_read(struct report_groups *report, struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_report_samples, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (is_looked_at(&report->filter, row) && take(report, row))
            more = error_no_memory(error);
    statement_free(row);
    return more;
}

int report_samples_count(struct store *store, int64_t *count, int64_t *jobs, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_analysis_report_sample_count, error);
    int row = statement ? statement_step(statement, error) : -1;
    *count = row == 1 ? statement_integer(statement, 0) : 0;
    *jobs = row == 1 ? statement_integer(statement, 1) : 0;
    statement_free(statement);
    return row < 0 ? -1 : 0;
}
