#include "analyse/html_run.h"

#include <string.h>

/* "run 2 (traces-b): 1 finding": of several runs that is all that leads to one. */
static int say_link(const struct html_run *run, struct buffer *text)
{
    size_t told = html_run_told(run);
    if (buffer_printf(text, "Run %lld (%s): ", (long long)run->job->run_id, run->job->run_name))
        return -1;
    if (told)
        return buffer_printf(text, "%zu finding%s", told, told == 1 ? "" : "s");
    if (run->judgement->standstill.is_known)
        return buffer_append_text(text, "cannot be determined");
    return buffer_append_text(text, run->judgement->scope.blindness == BLIND_NOT ? "no problem found"
                                                                                 : "not enough data");
}

int html_run_section(const struct html_run *run, const char *key, const char *heading)
{
    struct buffer id = BUFFER_INIT, text = BUFFER_INIT, link = BUFFER_INIT;
    int is_linked = !run->names_run || strcmp(key, "summary") == 0;
    int failed = buffer_printf(&id, "run-%lld-%s", (long long)run->job->run_id, key) ||
                 (run->names_run &&
                  buffer_printf(&text, "Run %lld (%s): ", (long long)run->job->run_id, run->job->run_name)) ||
                 buffer_append_text(&text, heading) ||
                 (run->names_run ? say_link(run, &link) : buffer_append_text(&link, heading)) ||
                 html_section_begin(run->whole, id.data, text.data, is_linked ? link.data : NULL);
    buffer_release(&id);
    buffer_release(&text);
    buffer_release(&link);
    return failed ? -1 : 0;
}

size_t html_run_told(const struct html_run *run)
{
    size_t told = 0;
    for (size_t i = 0; i < run->findings->count; i++)
        told += finding_is_told(&run->findings->items[i]) != 0;
    return told;
}
