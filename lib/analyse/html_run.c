#include "analyse/html_run.h"

int html_run_section(const struct html_run *run, const char *key, const char *heading)
{
    struct buffer id = BUFFER_INIT, text = BUFFER_INIT;
    int failed = buffer_printf(&id, "run-%lld-%s", (long long)run->job->run_id, key) ||
                 (run->names_run &&
                  buffer_printf(&text, "Run %lld (%s): ", (long long)run->job->run_id, run->job->run_name)) ||
                 buffer_append_text(&text, heading) || html_section_begin(run->whole, id.data, text.data);
    buffer_release(&id);
    buffer_release(&text);
    return failed ? -1 : 0;
}

size_t html_run_told(const struct html_run *run)
{
    size_t told = 0;
    for (size_t i = 0; i < run->findings->count; i++)
        told += finding_is_told(&run->findings->items[i]) != 0;
    return told;
}
