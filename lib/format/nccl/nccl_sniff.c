#include "format/nccl/nccl_sniff.h"

#include "format/nccl/head.h"

#include <string.h>

/* A file that holds nothing of JSON's, and a line of NCCL's. */
enum { SURE = 60 };

/* What speaks of a log, as programs and pages do, is none. */
static int is_quoted(struct text before)
{
    for (size_t i = 0; i < before.length; i++)
        if (strchr("\"'`", before.data[i]))
            return 1;
    return 0;
}

int nccl_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    struct head head;
    if (memchr(bytes, '\0', length))
        return 0;
    for (const char *end = bytes + length; bytes < end;) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t of_line = line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes);
        if (head_find((struct text){bytes, of_line}, &head) && !is_quoted(head.before))
            return SURE;
        bytes += of_line + 1;
    }
    return 0;
}
