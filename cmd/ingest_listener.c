#include "cmd/ingest_listener.h"

#include "cmd/ingest_report.h"
#include "cmd/interrupt.h"

static void show_progress(void *context, size_t files, uint64_t bytes)
{
    struct ingest_listener *listener = context;
    listener->progress.files = files;
    listener->progress.bytes = bytes;
    progress_show(&listener->progress);
}

static void tell_file(void *context, const struct file_result *result)
{
    struct ingest_listener *listener = context;
    progress_clear(&listener->progress);
    if (!listener->is_silent)
        report_tell(result);
}

static int take_result(void *context, struct file_result *result, struct error *error)
{
    struct ingest_listener *listener = context;
    return report_add(listener->report, result, error);
}

struct ingest_hooks ingest_listener_hooks(struct ingest_listener *listener)
{
    return (struct ingest_hooks){.context = listener,
                                 .interrupted = interrupt_wanted,
                                 .progress = show_progress,
                                 .tell = tell_file,
                                 .take = take_result};
}
