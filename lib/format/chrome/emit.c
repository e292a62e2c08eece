#include "format/chrome/emit.h"

#include <inttypes.h>
#include <stdio.h>

int chrome_note(struct chrome_reader *reader, const char *reason, int damage, uint64_t offset,
                const char *detail, size_t detail_length, struct error *error)
{
    return reader->sink->note(reader->sink->context, reason, damage, offset, detail, detail_length, error);
}

int chrome_emit(struct chrome_reader *reader, const struct event *event, struct error *error)
{
    return reader->sink->event(reader->sink->context, event, error);
}

struct origin chrome_origin(const struct chrome_reader *reader, uint64_t offset)
{
    return (struct origin){
        .host = reader->host.length ? reader->host.data : NULL,
        .pid = reader->pid,
        .started_ns = reader->started_ns,
        .rank = COUNT_UNKNOWN,
        .offset = offset,
    };
}

int chrome_set_end(struct chrome_reader *reader, struct interval_ns *interval, int64_t end_ns,
                   uint64_t offset, struct error *error)
{
    int is_stale = end_ns != TIME_UNKNOWN && end_ns < interval->begin_ns;
    interval->end_ns = is_stale ? TIME_UNKNOWN : end_ns;
    return is_stale ? chrome_note(reader, "stale end", 0, offset, NULL, 0, error) : 0;
}

int64_t chrome_bytes(int64_t count, enum datatype datatype)
{
    int64_t bytes;
    int64_t size = datatype_bytes(datatype);
    if (count < 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes))
        return COUNT_UNKNOWN;
    return bytes;
}

int chrome_has_root(enum function function)
{
    return function == FUNCTION_BROADCAST || function == FUNCTION_REDUCE || function == FUNCTION_GATHER ||
           function == FUNCTION_SCATTER;
}

const char *chrome_user_tag(uint64_t user_tag, char text[CHROME_NUMBER_BYTES])
{
    snprintf(text, CHROME_NUMBER_BYTES, "%" PRIu64, user_tag);
    return user_tag ? text : NULL;
}

int64_t chrome_kernel_time(int64_t noticed_ns, int64_t mapped_ns, int64_t not_before_ns)
{
    if (noticed_ns == TIME_UNKNOWN || mapped_ns == TIME_UNKNOWN || mapped_ns > noticed_ns)
        return noticed_ns;
    return mapped_ns > not_before_ns ? mapped_ns : not_before_ns;
}
