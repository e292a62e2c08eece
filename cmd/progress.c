#include "cmd/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { REDRAW_MS = 200 };

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

void progress_begin(struct progress *progress, int quiet, uint64_t total_files, uint64_t total_bytes)
{
    *progress = (struct progress){
        .shown = !quiet && isatty(STDERR_FILENO), .total_files = total_files, .total_bytes = total_bytes};
    clock_gettime(CLOCK_MONOTONIC, &progress->begun);
    progress->last = progress->begun;
}

double progress_seconds(const struct progress *progress)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return seconds_between(&progress->begun, &now);
}

static void put_bar(double share)
{
    enum { BAR_WIDTH = 20 };
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < (int)(share * BAR_WIDTH) ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "[%s] %3d%%", bar, (int)(share * 100));
}

void progress_show(struct progress *progress)
{
    struct timespec now;
    if (!progress->shown)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (seconds_between(&progress->last, &now) * 1000 < REDRAW_MS)
        return;
    progress->last = now;
    double done = (double)progress->bytes, seconds = seconds_between(&progress->begun, &now);
    fputs("\r\033[K", stderr);
    if (progress->total_bytes) {
        double share = done / (double)progress->total_bytes;
        put_bar(share < 1 ? share : 1);
    }
    fprintf(stderr, " %llu/%llu files  %.0f MB  %.0f MB/s", (unsigned long long)progress->files,
            (unsigned long long)progress->total_files, done / 1e6, done / 1e6 / seconds);
    if (progress->total_bytes && done > 0 && done < (double)progress->total_bytes)
        fprintf(stderr, "  %.0f s left", ((double)progress->total_bytes - done) * seconds / done);
    fflush(stderr);
    progress->drawn = 1;
}

void progress_clear(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = 0;
}
