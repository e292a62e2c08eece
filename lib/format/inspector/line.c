#include "format/inspector/line.h"

#include <string.h>

enum inspector_timing inspector_timing_from_text(const char *text, size_t length)
{
    static const struct {
        const char *text;
        enum inspector_timing timing;
    } words[] = {{"kernel_gpu", TIMING_KERNEL_GPU},
                 {"kernel_cpu", TIMING_KERNEL_CPU},
                 {"collective_cpu", TIMING_OPERATION_CPU}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length == strlen(words[i].text) && memcmp(text, words[i].text, length) == 0)
            return words[i].timing;
    return TIMING_UNKNOWN;
}

static int is_unknown_word(const char *text, size_t length)
{
    return length == 7 && memcmp(text, "unknown", 7) == 0;
}

enum algorithm inspector_algorithm_from_text(const char *text, size_t length)
{
    return is_unknown_word(text, length) ? ALGORITHM_UNKNOWN : algorithm_from_text(text, length);
}

enum protocol inspector_protocol_from_text(const char *text, size_t length)
{
    return is_unknown_word(text, length) ? PROTOCOL_UNKNOWN : protocol_from_text(text, length);
}

void inspector_leave_out(struct inspector_line *line, const char *key)
{
    if (line->unkept++ == 0)
        line->first_unkept = (struct scan_text){key, strlen(key)};
}
