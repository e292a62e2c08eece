/*
 * read_bench FILE...: reads traces as ingest's threads do and discards them, to measure the cost of reading.
 */
#include "base/base.h"
#include "format/format.h"
#include "ingest/internal.h"
#include "input/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

struct counts {
    uint64_t bytes;
    uint64_t events;
    uint64_t notes;
    uint64_t damage;
};

static int count_event(void *context, const struct event *event, struct error *error)
{
    (void)event;
    (void)error;
    ((struct counts *)context)->events++;
    return 0;
}

static int count_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                      size_t detail_length, struct error *error)
{
    (void)error;
    struct counts *counts = context;
    counts->notes++;
    counts->damage += damage != 0;
    return 0;
}

static int read_file(const char *path, struct counts *counts, struct error *error)
{
    struct input *input = input_open(path, NULL, error);
    if (!input)
        return -1;
    struct format_sink sink = {.context = counts, .event = count_event, .note = count_note};
    char dialect[64];
    const struct format *format = format_detect(input, error);
    int outcome =
        format ? ingest_read(format, input, path, NULL, NULL, &sink, dialect, sizeof dialect, error) : -1;
    counts->bytes += input_bytes_unpacked(input);
    input_close(input);
    return outcome;
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

int main(int count, char **paths)
{
    struct counts counts = {0};
    double begin = now();
    for (int i = 1; i < count; i++) {
        struct error error = ERROR_INIT;
        if (read_file(paths[i], &counts, &error) == 0)
            continue;
        fprintf(stderr, "read_bench: cannot read %s\n", paths[i]);
        return 1;
    }
    double seconds = now() - begin;
    printf("{\"bytes\": %" PRIu64 ", \"events\": %" PRIu64 ", \"notes\": %" PRIu64 ", \"damage\": %" PRIu64
           ", \"seconds\": %.6f}\n",
           counts.bytes, counts.events, counts.notes, counts.damage, seconds);
    return 0;
}
