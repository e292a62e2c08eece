/*
 * The format "call": text output of a program that contains call descriptions (call_line.c), from one rank or
 * several. All other lines are noted as other output.
 */
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static const char other_output[] = "other output";

static int take_line(struct call_reader *reader, const struct input_line *line,
                     const struct format_sink *sink, struct error *error)
{
    static const struct origin nobody = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
    struct text text = {line->text, line->length};
    size_t taken = 0;
    if (call_line_is_candidate(text) &&
        call_line_read(reader, text, line->offset, &nobody, TIME_UNKNOWN, 0, sink, &taken, error))
        return -1;
    return !taken && text.length
               ? sink->note(sink->context, other_output, 0, line->offset, text.data, text.length, error)
               : 0;
}

static int call_read(struct input *input, const struct format_sink *sink, char *dialect, size_t dialect_bytes,
                     struct error *error)
{
    struct call_reader reader;
    struct input_line line;
    int more;
    call_reader_init(&reader, 1);
    snprintf(dialect, dialect_bytes, "call-description");
    while ((more = input_line(input, &line, error)) == 1)
        if (take_line(&reader, &line, sink, error)) {
            more = -1;
            break;
        }
    call_reader_release(&reader);
    return more;
}

/* Less than an NCCL log or torch's watchdog, as those formats read call descriptions, too. */
enum { SURE = 45 };

/* Both keys, as either end of a description may be cut off, after a brace on one line. */
static int is_description(struct text line)
{
    const char *brace = line.length ? memchr(line.data, '{', line.length) : NULL;
    struct text behind = {brace, brace ? line.length - (size_t)(brace - line.data) : 0};
    return brace && text_contains(behind, "\"source_line\"") && text_contains(behind, "\"message_size\"");
}

static int call_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    if (memchr(bytes, '\0', length))
        return 0;
    for (const char *end = bytes + length; bytes < end;) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t of_line = line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes);
        if (is_description((struct text){bytes, of_line}))
            return SURE;
        bytes += of_line + 1;
    }
    return 0;
}

const struct format format_call = {
    .name = "call",
    .version = 1,
    .description = "torch.distributed calls printed by a program (monitor_collectives)",
    .unknown = other_output,
    .sniff = call_sniff,
    .read = call_read,
};
