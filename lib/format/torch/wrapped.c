#include "format/torch/wrapped.h"

#include "format/torch/watchdog.h"

#include <string.h>

/* A record has at most so many bytes, and is broken into so many lines. */
enum { RECORD_BYTES_MOST = 4096, LINES_MOST = 16 };

/* No terminal is narrower. */
enum { WIDTH_LEAST = 40 };

void wrapped_record_init(struct wrapped_record *record)
{
    *record = (struct wrapped_record){.text = BUFFER_INIT};
}

void wrapped_record_release(struct wrapped_record *record)
{
    buffer_release(&record->text);
}

int wrapped_record_begin(struct wrapped_record *record, struct text line, uint64_t offset)
{
    int64_t prefix = watchdog_prefix(line);
    buffer_clear(&record->text);
    record->offset = offset;
    record->lines = 1;
    record->prefix = prefix > 0 ? (size_t)prefix : 0;
    record->last_line = line.length;
    return buffer_append(&record->text, line.data, line.length);
}

struct text wrapped_record_strip(const struct wrapped_record *record, struct text line)
{
    size_t prefix = record->prefix;
    return prefix && line.length >= prefix && memcmp(line.data, record->text.data, prefix) == 0
               ? (struct text){line.data + prefix, line.length - prefix}
               : line;
}

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Where lines are broken at a width, a number that ends there may go on in the next. */
static int may_break_number(const struct wrapped_record *record, struct text rest)
{
    return record->last_line == record->width && is_digit(record->text.data[record->text.length - 1]) &&
           is_digit(rest.data[0]);
}

int wrapped_record_add(struct wrapped_record *record, struct text line)
{
    struct text rest = wrapped_record_strip(record, line);
    if (!record->lines || record->lines == LINES_MOST || record->last_line < WIDTH_LEAST || !rest.length ||
        line.length > record->last_line || watchdog_prefix(line) >= 0 ||
        record->text.length + rest.length > RECORD_BYTES_MOST)
        return 0;
    if (!watchdog_is_cut((struct text){record->text.data, record->text.length}) &&
        !may_break_number(record, rest))
        return 0;
    record->width = record->last_line;
    record->last_line = line.length;
    record->lines++;
    return buffer_append(&record->text, rest.data, rest.length) ? -1 : 1;
}
