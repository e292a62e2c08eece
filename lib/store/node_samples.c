/*
 * Packs the samples of nodes: those of one series (a metric of a device of a host) in a batch become blocks
 * of up to BLOCK_ROWS rows. A gauge that keeps its value takes one row, and so does a counter that does not
 * move.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/records.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of a block are stored as whole numbers: times the least of these that makes them whole. */
enum { DIVISOR_MOST = 1000000 };

/* Beyond it not every whole number is a double. */
static const double WHOLE_MOST = 9007199254740992.0;

void node_series_release(struct node_series_list *list)
{
    map_release(&list->numbers);
    free(list->items);
    block_writer_release(&list->writer);
    *list = (struct node_series_list){.items = NULL};
}

/* The number of a name among those of the file plus 1; 0: no name; -1 if memory is out. */
static int64_t name_number(struct intern *names, const char *name)
{
    int64_t number = name ? intern_put(names, name, strlen(name)) : -1;
    return !name ? 0 : number < 0 ? -1 : number + 1;
}

/* Returns -1 if memory is out. */
static int64_t find_series(struct batch_builder *builder, const struct node_sample *sample)
{
    struct node_series_list *list = &builder->series;
    struct node_series series = {.host = name_number(&builder->hosts, sample->host),
                                 .device = name_number(&builder->hosts, sample->device),
                                 .place = sample->place,
                                 .metric = sample->metric};
    if (!list->items)
        map_init(&list->numbers);
    if (series.host < 0 || series.device < 0 ||
        array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return -1;
    struct map_key key = {
        {(uint64_t)series.host, (uint64_t)series.device, (uint64_t)series.place, (uint64_t)series.metric}};
    int added;
    int64_t *number = map_put(&list->numbers, key, (int64_t)list->count, &added);
    if (number && added)
        list->items[list->count++] = series;
    return number ? *number : -1;
}

int node_sample_add(struct batch_builder *builder, struct batch *batch, const struct node_sample *sample)
{
    int64_t series = find_series(builder, sample);
    if (series < 0 || array_reserve((void **)&batch->node_samples.items, &batch->node_samples.capacity,
                                    batch->node_samples.count + 1, sizeof *batch->node_samples.items))
        return -1;
    batch->node_samples.items[batch->node_samples.count++] =
        (struct batch_node_sample){.series = (uint32_t)series,
                                   .begin_ns = sample->begin_ns,
                                   .at_ns = sample->at_ns,
                                   .error_ns = sample->error_ns,
                                   .value = sample->value};
    return 0;
}

/* Whether the two are one: the second continues the first without a change. */
static int continues(const struct batch_node_sample *sample, const struct batch_node_sample *before,
                     enum node_metric metric)
{
    return sample->at_ns != TIME_UNKNOWN && before->begin_ns != TIME_UNKNOWN &&
           sample->begin_ns == before->at_ns && sample->error_ns == before->error_ns &&
           sample->value == before->value && (sample->value == 0 || !node_metric_is_counter(metric));
}

/* The samples by series, each series in the order of the batch. NULL if memory is out. */
static struct batch_node_sample *order_by_series(const struct batch_builder *builder,
                                                 const struct batch *batch)
{
    size_t count = batch->node_samples.count;
    struct batch_node_sample *ordered = array_new(count, sizeof *ordered);
    size_t *next = array_new(builder->series.count + 1, sizeof *next);
    for (size_t i = 0; ordered && next && i < count; i++)
        next[batch->node_samples.items[i].series + 1]++;
    for (size_t i = 1; ordered && next && i < builder->series.count; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; ordered && next && i < count; i++)
        ordered[next[batch->node_samples.items[i].series]++] = batch->node_samples.items[i];
    if (!next) {
        free(ordered);
        ordered = NULL;
    }
    free(next);
    return ordered;
}

/* Unites samples of one series that continue each other; returns how many are left. */
static size_t unite(struct batch_node_sample *samples, size_t count, enum node_metric metric)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept && continues(&samples[i], &samples[kept - 1], metric))
            samples[kept - 1].at_ns = samples[i].at_ns;
        else
            samples[kept++] = samples[i];
    return kept;
}

static int is_whole(double value, double divisor)
{
    double times = value * divisor;
    return !isfinite(value) || (fabs(times) < WHOLE_MOST && round(times) / divisor == value);
}

/* The least power of ten, up to a millionth, by which all values can be stored exactly; else the greatest. */
static int64_t divisor_of(const struct batch_node_sample *samples, size_t count)
{
    int64_t divisor = 1;
    for (size_t i = 0; i < count; i++)
        while (divisor < DIVISOR_MOST && !is_whole(samples[i].value, (double)divisor) &&
               fabs(samples[i].value) < WHOLE_MOST / DIVISOR_MOST)
            divisor *= 10;
    return divisor;
}

static int64_t stored_value(double value, int64_t divisor)
{
    double times = round(value * (double)divisor);
    return times >= 0x1p63 ? INT64_MAX : times < -0x1p63 ? INT64_MIN : (int64_t)times;
}

/* What the row of a block says of its samples. */
struct block_summary {
    int64_t earliest_ns;
    int64_t latest_ns;
    int64_t error_ns;
    int64_t divisor;
};

static struct block_summary sum_up(const struct batch_node_sample *samples, size_t count)
{
    struct block_summary block = {
        .earliest_ns = TIME_UNKNOWN, .latest_ns = TIME_UNKNOWN, .divisor = divisor_of(samples, count)};
    for (size_t i = 0; i < count; i++) {
        const struct batch_node_sample *sample = &samples[i];
        block.error_ns = sample->error_ns > block.error_ns ? sample->error_ns : block.error_ns;
        if (sample->at_ns == TIME_UNKNOWN)
            continue;
        int64_t begin_ns = sample->begin_ns == TIME_UNKNOWN ? sample->at_ns : sample->begin_ns;
        if (block.earliest_ns == TIME_UNKNOWN || begin_ns < block.earliest_ns)
            block.earliest_ns = begin_ns;
        if (block.latest_ns == TIME_UNKNOWN || sample->at_ns > block.latest_ns)
            block.latest_ns = sample->at_ns;
    }
    return block;
}

static void add_rows(struct block_writer *writer, const struct batch_node_sample *samples, size_t count,
                     int64_t divisor)
{
    for (size_t i = 0; i < count; i++) {
        block_add_row(writer);
        block_set(writer, NODE_SAMPLE_ORDINAL, (int64_t)i);
        if (samples[i].at_ns != TIME_UNKNOWN)
            block_set(writer, NODE_SAMPLE_AT, samples[i].at_ns);
        if (samples[i].at_ns != TIME_UNKNOWN && samples[i].begin_ns != TIME_UNKNOWN)
            block_set(writer, NODE_SAMPLE_BEGIN, samples[i].begin_ns);
        if (isfinite(samples[i].value))
            block_set(writer, NODE_SAMPLE_VALUE, stored_value(samples[i].value, divisor));
    }
}

static int put_name(struct row *row, const struct intern *names, int64_t number)
{
    return row_text(row, number ? intern_text(names, number - 1) : NULL);
}

static int put_block(struct batch_builder *builder, struct batch *batch, const struct node_series *series,
                     const struct batch_node_sample *samples, size_t count)
{
    struct block_summary block = sum_up(samples, count);
    struct buffer *bytes = &batch->rows.bytes;
    struct span span;
    struct row row;
    add_rows(&builder->series.writer, samples, count, block.divisor);
    size_t at = bytes->length;
    if (rows_put_bytes(&batch->rows, at, block_pack(&builder->series.writer, bytes), &span) ||
        row_begin(&row, &batch->rows, EVENT_NODE_SAMPLE))
        return -1;
    row_integer(&row, builder->ordinals[EVENT_NODE_SAMPLE]);
    builder->ordinals[EVENT_NODE_SAMPLE] += (int64_t)count;
    int failed = put_name(&row, &builder->hosts, series->host);
    row_integer(&row, series->place);
    failed |= put_name(&row, &builder->hosts, series->device);
    row_integer(&row, series->metric);
    row_integer(&row, (int64_t)count);
    row_integer_or_null(&row, block.earliest_ns, TIME_UNKNOWN);
    row_integer_or_null(&row, block.latest_ns, TIME_UNKNOWN);
    row_integer(&row, block.error_ns);
    row_integer(&row, block.divisor);
    failed |= row_span(&row, ROW_BLOB, span);
    row_end(&row);
    return failed ? -1 : 0;
}

static int pack_series(struct batch_builder *builder, struct batch *batch, struct batch_node_sample *samples,
                       size_t count)
{
    const struct node_series *series = &builder->series.items[samples[0].series];
    size_t kept = unite(samples, count, (enum node_metric)series->metric);
    for (size_t at = 0; at < kept; at += BLOCK_ROWS)
        if (put_block(builder, batch, series, samples + at, kept - at < BLOCK_ROWS ? kept - at : BLOCK_ROWS))
            return -1;
    return 0;
}

int node_samples_pack(struct batch_builder *builder, struct batch *batch)
{
    size_t count = batch->node_samples.count;
    if (count == 0)
        return 0;
    if (!builder->series.writer.values && block_writer_init(&builder->series.writer, &node_sample_layout))
        return -1;
    struct batch_node_sample *samples = order_by_series(builder, batch);
    int failed = !samples;
    for (size_t at = 0, to; at < count && !failed; at = to) {
        for (to = at + 1; to < count && samples[to].series == samples[at].series;)
            to++;
        failed = pack_series(builder, batch, samples + at, to - at);
    }
    free(samples);
    batch->node_samples.count = 0;
    return failed ? -1 : 0;
}
