#include "join/series.h"

#include "base/array.h"

#include <stdlib.h>

void series_table_init(struct series_table *table)
{
    *table = (struct series_table){.series = NULL};
    map_init(&table->numbers);
    map_init(&table->seen);
}

void series_table_release(struct series_table *table)
{
    map_release(&table->numbers);
    map_release(&table->seen);
    free(table->series);
}

static struct map_key series_key(int32_t member, uint8_t kind, uint8_t function)
{
    return (struct map_key){{(uint64_t)member, (uint64_t)kind << 8 | function, 0, 0}};
}

static struct map_key key_of(const struct swept *swept)
{
    return series_key(swept->member, swept->kind, swept->function);
}

static struct series *find(struct series_table *table, const struct swept *swept)
{
    int added;
    int64_t *number = map_put(&table->numbers, key_of(swept), (int64_t)table->numbers.count, &added);
    if (!number ||
        array_reserve((void **)&table->series, &table->capacity, table->numbers.count, sizeof *table->series))
        return NULL;
    if (added)
        table->series[*number] = (struct series){.last = INT64_MIN};
    return &table->series[*number];
}

int series_survey(struct series_table *table, const struct swept *swept)
{
    if (function_is_point_to_point(swept->function))
        return 0;
    struct series *series = find(table, swept);
    if (!series)
        return -1;
    series->repeats |= swept->sequence <= series->last;
    series->last = swept->sequence;
    return 0;
}

static int64_t count(struct series_table *table, struct map_key key)
{
    int64_t *times = map_put(&table->seen, key, 0, NULL);
    return times ? (*times)++ : -1;
}

int64_t series_number(struct series_table *table, const struct swept *swept)
{
    struct map_key key = key_of(swept);
    if (function_is_point_to_point(swept->function)) {
        key.part[2] = (uint64_t)swept->peer;
        key.part[3] = 1;
        return count(table, key);
    }
    if (!series_repeats(table, swept->member, swept->kind, swept->function))
        return 0;
    key.part[2] = (uint64_t)swept->sequence;
    return count(table, key);
}

void series_forget_counts(struct series_table *table)
{
    map_release(&table->seen);
}

int series_repeats(const struct series_table *table, int32_t member, uint8_t kind, uint8_t function)
{
    const int64_t *number = map_get(&table->numbers, series_key(member, kind, function));
    return number && table->series[*number].repeats;
}
