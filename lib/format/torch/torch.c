#include "format/torch/torch.h"

#include "format/call_line.h"
#include "format/torch/emit.h"
#include "format/torch/reader.h"
#include "input/input.h"

#include <stdio.h>
#include <string.h>

static int take_line(struct torch_reader *reader, struct call_reader *calls, const struct input_line *line,
                     const struct format_sink *sink, struct error *error)
{
    static const struct origin nobody = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
    size_t described = 0;
    struct text text = {line->text, line->length};
    int taken = torch_reader_take(reader, text, line->offset);
    if (taken < 0)
        return error_no_memory(error);
    if (taken && call_line_may(text) &&
        call_line_read(calls, text, line->offset, &nobody, TIME_UNKNOWN, 0, sink, &described, error))
        return -1;
    return taken && !described && text.length
               ? sink->note(sink->context, "other output", 0, line->offset, text.data, text.length, error)
               : 0;
}

static int end_file(struct torch_reader *reader, const struct format_sink *sink, struct error *error)
{
    return torch_reader_end(reader) ? error_no_memory(error) : torch_emit(&reader->ranks, sink, error);
}

static int torch_read(struct input *input, const struct format_sink *sink, char *dialect,
                      size_t dialect_bytes, struct error *error)
{
    struct torch_reader reader;
    struct call_reader calls;
    struct input_line line;
    int more;
    torch_reader_init(&reader);
    call_reader_init(&calls, 0);
    snprintf(dialect, dialect_bytes, "torch-log");
    while ((more = input_line(input, &line, error)) == 1)
        if (take_line(&reader, &calls, &line, sink, error)) {
            more = -1;
            break;
        }
    int status = more < 0 || end_file(&reader, sink, error) ? -1 : 0;
    torch_reader_release(&reader);
    call_reader_release(&calls);
    return status;
}

/* Less than a line of NCCL's: where both are, its format has the more to say. A line of the process groups
 * that is no record may come before those that are. */
enum { SURE = 50, LIKELY = 40 };

static int torch_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    struct watchdog_line said = {.rank = COUNT_UNKNOWN};
    int sure = 0;
    if (memchr(bytes, '\0', length))
        return 0;
    for (const char *end = bytes + length; bytes < end;) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t of_line = line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes);
        struct text line = {bytes, of_line};
        int is_prefixed = watchdog_prefix(line) >= 0;
        int is_record = is_prefixed && (watchdog_read(line, &said) || watchdog_is_cut(line));
        if (is_prefixed && said.rank != COUNT_UNKNOWN) {
            if (is_record)
                return SURE;
            sure = LIKELY;
        }
        bytes += of_line + 1;
    }
    return sure;
}

const struct format format_torch = {
    .name = "torch",
    .version = 1,
    .description = "log of PyTorch's watchdog (stuck process groups)",
    .unknown = "other watchdog line",
    .sniff = torch_sniff,
    .read = torch_read,
};
