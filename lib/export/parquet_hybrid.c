#include "export/parquet_hybrid.h"

#include "model/varint.h"

/* Packed values come in eights, and a shorter run costs more than they do. */
enum { GROUP = 8 };

static int append_run(struct buffer *buffer, uint32_t value, size_t count, unsigned width)
{
    int failed = varint_put(buffer, (uint64_t)count << 1);
    for (unsigned bit = 0; bit < width && !failed; bit += 8)
        failed = buffer_append_byte(buffer, (char)(value >> bit & 0xff));
    return failed;
}

/* From the least bit of each byte on; what is missing of the last eight is 0. */
static int append_packed(struct buffer *buffer, const uint32_t *values, size_t count, unsigned width)
{
    if (count == 0)
        return 0;
    size_t groups = (count + GROUP - 1) / GROUP;
    if (varint_put(buffer, (uint64_t)groups << 1 | 1) || buffer_reserve(buffer, groups * width))
        return -1;
    uint64_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < groups * GROUP; i++) {
        bits |= (uint64_t)(i < count ? values[i] : 0) << held;
        for (held += width; held >= 8; held -= 8, bits >>= 8)
            buffer->data[buffer->length++] = (char)(bits & 0xff);
    }
    buffer->data[buffer->length] = '\0';
    return 0;
}

static size_t run_from(const uint32_t *values, size_t at, size_t count)
{
    size_t end = at + 1;
    while (end < count && values[end] == values[at])
        end++;
    return end - at;
}

int parquet_hybrid_append(struct buffer *buffer, const uint32_t *values, size_t count, unsigned width)
{
    size_t packed = 0; /* from here on nothing is written yet */
    for (size_t at = 0; at < count;) {
        size_t run = run_from(values, at, count), filling = (GROUP - (at - packed) % GROUP) % GROUP;
        if (run < filling + GROUP) {
            at += run;
            continue;
        }
        if (append_packed(buffer, values + packed, at + filling - packed, width) ||
            append_run(buffer, values[at], run - filling, width))
            return -1;
        packed = at += run;
    }
    return append_packed(buffer, values + packed, count - packed, width);
}

unsigned parquet_hybrid_width(uint32_t greatest)
{
    unsigned width = 1;
    while (width < 32 && greatest >> width)
        width++;
    return width;
}
