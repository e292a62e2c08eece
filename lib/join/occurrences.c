#include "join/occurrences.h"

#include "base/array.h"

#include <stdlib.h>

void series_table_init(struct series_table *table)
{
    *table = (struct series_table){.last_number = -1};
    map_init(&table->numbers);
    map_init(&table->seen);
}

void series_table_release(struct series_table *table)
{
    map_release(&table->numbers);
    map_release(&table->seen);
    free(table->series);
}

static struct map_key series_key(int32_t member, int kind, int function)
{
    return (struct map_key){{(uint64_t)member, (uint64_t)kind << 8 | (uint64_t)function, 0, 0}};
}

static struct series *find(struct series_table *table, const struct swept *swept)
{
    if (table->last_number >= 0 && swept->member == table->last_member && swept->kind == table->last_kind &&
        swept->function == table->last_function)
        return &table->series[table->last_number];
    int added;
    int64_t *number = map_put(&table->numbers, series_key(swept->member, swept->kind, swept->function),
                              (int64_t)table->numbers.count, &added);
    if (!number ||
        array_reserve((void **)&table->series, &table->capacity, table->numbers.count, sizeof *table->series))
        return NULL;
    if (added)
        table->series[*number] = (struct series){.last = INT64_MIN};
    table->last_member = swept->member;
    table->last_kind = swept->kind;
    table->last_function = swept->function;
    table->last_number = *number;
    return &table->series[*number];
}

static int64_t count(struct series_table *table, const struct swept *swept, uint64_t number, uint64_t is_peer)
{
    struct map_key key = series_key(swept->member, swept->kind, swept->function);
    key.part[2] = number;
    key.part[3] = is_peer;
    int64_t *times = map_put(&table->seen, key, 0, NULL);
    return times ? (*times)++ : -1;
}

int64_t series_number(struct series_table *table, const struct swept *swept)
{
    if (function_is_point_to_point(swept->function) && swept->sequence >= 0)
        return swept->sequence;
    if (function_is_point_to_point(swept->function))
        return count(table, swept, (uint64_t)swept->peer, 1);
    struct series *series = find(table, swept);
    if (!series)
        return -1;
    if (series->repeats)
        return count(table, swept, (uint64_t)swept->sequence, 0);
    if (swept->sequence <= series->last)
        series->repeats = table->has_found = 1;
    series->last = swept->sequence;
    return 0;
}

void series_forget_counts(struct series_table *table)
{
    map_release(&table->seen);
    table->has_found = 0;
}

int series_repeats(const struct series_table *table, int32_t member, uint8_t kind, uint8_t function)
{
    const int64_t *number = map_get(&table->numbers, series_key(member, kind, function));
    return number && table->series[*number].repeats;
}
