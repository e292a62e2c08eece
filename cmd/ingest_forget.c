#include "cmd/ingest_forget.h"

#include "cmd/cmd.h"
#include "cmd/ingest_report.h"
#include "join/forget.h"
#include "store/forget.h"
#include "store/store.h"

#include <stdio.h>
#include <time.h>

static int list_files(const struct forgotten *forgotten, struct report *report, struct error *error)
{
    for (size_t i = 0; i < forgotten->count; i++) {
        const struct forgotten_file *file = &forgotten->files[i];
        struct file_result result = {.path = file->path,
                                     .status = FILE_FORGOTTEN,
                                     .events = file->events,
                                     .skipped = file->skipped,
                                     .bytes = (uint64_t)file->bytes};
        snprintf(result.dialect, sizeof result.dialect, "%s", file->dialect);
        if (report_add(report, &result, error))
            return -1;
    }
    return 0;
}

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) / 1e9;
}

int ingest_forget(struct context *context, const struct arguments *arguments, const char *runs, size_t jobs)
{
    struct report report = {.results = NULL};
    struct forgotten forgotten = {.files = NULL};
    struct timespec begun;
    int status = EXIT_NOT_DONE;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    if (!context->store)
        context->store = store_open(context->store_path, STORE_WRITE, &context->error);
    if (context->store && join_forget(context->store, runs, jobs, &forgotten, &context->error) == 0 &&
        list_files(&forgotten, &report, &context->error) == 0) {
        report.seconds = seconds_since(&begun);
        status = report_show(context, arguments, &report);
    }
    report_release(&report);
    forgotten_release(&forgotten);
    return status;
}
