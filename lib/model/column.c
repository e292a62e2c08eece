/*
 * Packs a column of 64-bit integers into as few bytes as its range of values allows, and unpacks it exactly.
 * Also the variable-length numbers that block.c and pack.c use.
 */

#include "base/base.h"
#include "model/internal.h"
#include "model/model.h"

#include <endian.h>
#include <string.h>

int varint_put(struct buffer *buffer, uint64_t value)
{
    char bytes[VARINT_BYTES];
    return buffer_append(buffer, bytes, (size_t)(varint_write(bytes, value) - bytes));
}

int varint_put_signed(struct buffer *buffer, int64_t value)
{
    char bytes[VARINT_BYTES];
    return buffer_append(buffer, bytes, (size_t)(varint_write_signed(bytes, value) - bytes));
}

int varint_get_slowly(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    const unsigned char *next = *at;
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && next < end; shift += 7) {
        uint64_t byte = *next++;
        if (shift == 63 && byte > 1)
            return -1;
        result |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *at = next;
            *value = result;
            return 0;
        }
    }
    return -1;
}

enum form { FORM_NOTHING = 0, FORM_OFFSETS = 1, FORM_DIFFERENCES = 2, FORM_MASK = 3, HAS_BITMAP = 4 };

enum { WIDTH_SHIFT = 4, WIDTH_MOST = 8 };

/* Least and greatest of the values, and of the differences between neighbours (modulo 2^64). */
struct extent {
    int64_t least;
    int64_t most;
    int64_t least_step;
    int64_t most_step;
};

static int64_t step_between(int64_t from, int64_t to)
{
    return (int64_t)((uint64_t)to - (uint64_t)from);
}

static struct extent measure(const int64_t *values, size_t count)
{
    int64_t step = count > 1 ? step_between(values[0], values[1]) : 0;
    struct extent extent = {values[0], values[0], step, step};
    for (size_t i = 1; i < count; i++) {
        extent.least = values[i] < extent.least ? values[i] : extent.least;
        extent.most = values[i] > extent.most ? values[i] : extent.most;
        step = step_between(values[i - 1], values[i]);
        extent.least_step = step < extent.least_step ? step : extent.least_step;
        extent.most_step = step > extent.most_step ? step : extent.most_step;
    }
    return extent;
}

static unsigned bytes_for(int64_t least, int64_t most)
{
    uint64_t range = (uint64_t)most - (uint64_t)least;
    return range ? (71U - (unsigned)__builtin_clzll(range)) / 8 : 0;
}

static int put_offsets(struct buffer *buffer, const int64_t *values, size_t count, int64_t base,
                       unsigned width)
{
    if (buffer_reserve(buffer, count * width + WIDTH_MOST))
        return -1;
    /* Writes a full word each time; the next write replaces its excess bytes. */
    for (size_t i = 0; i < count && width; i++, buffer->length += width) {
        uint64_t offset = htole64((uint64_t)values[i] - (uint64_t)base);
        memcpy(buffer->data + buffer->length, &offset, sizeof offset);
    }
    buffer->data[buffer->length] = '\0';
    return 0;
}

static int put_differences(struct buffer *buffer, const int64_t *values, size_t count, int64_t base,
                           unsigned width)
{
    int64_t steps[COLUMN_ROWS] = {0}; /* differences, as in column_pack() */
    for (size_t i = 1; i < count; i++)
        steps[i - 1] = step_between(values[i - 1], values[i]);
    return put_offsets(buffer, steps, count - 1, base, width);
}

static size_t count_absent(const uint8_t *absent, size_t count)
{
    size_t found = 0;
    /* In most columns all flags are equal. */
    if (memcmp(absent, absent + 1, count - 1) == 0)
        return absent[0] ? count : 0;
    for (size_t i = 0; i < count; i++)
        found += absent[i] != 0;
    return found;
}

/* Copies the present values without gaps; `bitmap` marks the absent ones. */
static void gather(const int64_t *values, const uint8_t *absent, size_t count, int64_t *present,
                   unsigned char *bitmap)
{
    size_t found = 0;
    memset(bitmap, 0, COLUMN_ROWS / 8);
    for (size_t i = 0; i < count; i++) {
        present[found] = values[i];
        found += !absent[i];
        bitmap[i / 8] |= (unsigned char)((absent[i] != 0) << i % 8);
    }
}

static int put_head(struct buffer *buffer, unsigned form, unsigned width, const unsigned char *bitmap,
                    size_t bitmap_bytes)
{
    unsigned byte = form | (bitmap_bytes ? HAS_BITMAP : 0U) | width << WIDTH_SHIFT;
    return buffer_append_byte(buffer, (char)byte) ||
                   (bitmap_bytes && buffer_append(buffer, bitmap, bitmap_bytes))
               ? -1
               : 0;
}

/* Packs the present values of a column, after its head and bitmap. */
static int put_present(struct buffer *buffer, const int64_t *present, size_t count,
                       const unsigned char *bitmap, size_t bitmap_bytes)
{
    if (memcmp(present, present + 1, (count - 1) * sizeof *present) == 0)
        return put_head(buffer, FORM_OFFSETS, 0, bitmap, bitmap_bytes) ||
               varint_put_signed(buffer, present[0]);
    struct extent extent = measure(present, count);
    unsigned width = bytes_for(extent.least, extent.most);
    unsigned step_width = bytes_for(extent.least_step, extent.most_step);
    if (width <= step_width)
        return put_head(buffer, FORM_OFFSETS, width, bitmap, bitmap_bytes) ||
               varint_put_signed(buffer, extent.least) ||
               put_offsets(buffer, present, count, extent.least, width);
    return put_head(buffer, FORM_DIFFERENCES, step_width, bitmap, bitmap_bytes) ||
           varint_put_signed(buffer, present[0]) || varint_put_signed(buffer, extent.least_step) ||
           put_differences(buffer, present, count, extent.least_step, step_width);
}

int column_pack(struct buffer *buffer, const int64_t *values, const uint8_t *absent, size_t count)
{
    int64_t present[COLUMN_ROWS + 1] = {
        0}; /* zeroed because clang's analyser does not see how much of it gather() fills */
    unsigned char bitmap[COLUMN_ROWS / 8];
    size_t missing = count_absent(absent, count);
    if (missing == count)
        return put_head(buffer, FORM_NOTHING, 0, NULL, 0);
    if (missing == 0)
        return put_present(buffer, values, count, NULL, 0) ? -1 : 0;
    gather(values, absent, count, present, bitmap);
    return put_present(buffer, present, count - missing, bitmap, (count + 7) / 8) ? -1 : 0;
}

/* Reading position: the bytes left, and the fields of the first byte. */
struct reading {
    const unsigned char *at;
    const unsigned char *end;
    unsigned form;
    unsigned width;
};

static uint64_t load(const unsigned char *bytes, size_t width)
{
    uint64_t value = 0;
    memcpy(&value, bytes, width);
    return le64toh(value);
}

static void take_offsets(struct reading *reading, int64_t base, int64_t *values, size_t count)
{
    unsigned width = reading->width;
    const unsigned char *at = reading->at;
    uint64_t mask = UINT64_MAX >> (64 - 8 * width) % 64;
    size_t i = 0;
    for (; i < count && !width; i++)
        values[i] = base;
    for (; i < count && (size_t)(reading->end - at) >= WIDTH_MOST; i++, at += width)
        values[i] = (int64_t)((uint64_t)base + (load(at, WIDTH_MOST) & mask));
    for (; i < count; i++, at += width)
        values[i] = (int64_t)((uint64_t)base + load(at, width));
    reading->at = at;
}

/* Whether exactly the offsets of `count` values are left. */
static int fits(const struct reading *reading, size_t count)
{
    return (size_t)(reading->end - reading->at) == count * reading->width;
}

static int get_offsets(struct reading *reading, int64_t *values, size_t count)
{
    int64_t least;
    if (varint_get_signed(&reading->at, reading->end, &least) || !fits(reading, count))
        return -1;
    take_offsets(reading, least, values, count);
    return 0;
}

static int get_differences(struct reading *reading, int64_t *values, size_t count)
{
    int64_t least;
    if (varint_get_signed(&reading->at, reading->end, &values[0]) ||
        varint_get_signed(&reading->at, reading->end, &least) || !fits(reading, count - 1))
        return -1;
    take_offsets(reading, least, values + 1, count - 1);
    for (size_t i = 1; i < count; i++)
        values[i] = (int64_t)((uint64_t)values[i] + (uint64_t)values[i - 1]);
    return 0;
}

/* Reads the bitmap into absent[]. Returns the number of present values; -1 if the bytes end early. */
static int get_absent(struct reading *reading, size_t count, uint8_t *absent)
{
    size_t bytes = (count + 7) / 8;
    if ((size_t)(reading->end - reading->at) < bytes)
        return -1;
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        absent[i] = reading->at[i / 8] >> i % 8 & 1;
        found += !absent[i];
    }
    reading->at += bytes;
    return found;
}

/* Moves the present values to their rows, starting from the last. */
static void spread(int64_t *values, const uint8_t *absent, size_t count, size_t found)
{
    for (size_t i = count; i-- > 0;)
        values[i] = absent[i] ? 0 : values[--found];
}

static int get_present(struct reading *reading, int64_t *values, size_t count)
{
    if (reading->form == FORM_OFFSETS)
        return get_offsets(reading, values, count);
    return reading->form == FORM_DIFFERENCES ? get_differences(reading, values, count) : -1;
}

int column_is_absent(const void *bytes, size_t length)
{
    return length == 1 && *(const unsigned char *)bytes == FORM_NOTHING;
}

int column_unpack(const void *bytes, size_t length, size_t count, int64_t *values, uint8_t *absent)
{
    struct reading reading = {.at = bytes, .end = (const unsigned char *)bytes + length};
    if (length == 0 || count == 0 || count > COLUMN_ROWS)
        return -1;
    unsigned head = *reading.at++;
    reading.form = head & FORM_MASK;
    reading.width = head >> WIDTH_SHIFT;
    if (reading.form == FORM_NOTHING) {
        memset(values, 0, count * sizeof *values);
        memset(absent, 1, count);
        return head == 0 && length == 1 ? 0 : -1;
    }
    memset(absent, 0, count);
    int found = head & HAS_BITMAP ? get_absent(&reading, count, absent) : (int)count;
    if (found <= 0 || reading.width > WIDTH_MOST || get_present(&reading, values, (size_t)found))
        return -1;
    if ((size_t)found < count)
        spread(values, absent, count, (size_t)found);
    return 0;
}
