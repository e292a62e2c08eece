#include "base/base64.h"

#include <stdint.h>

static int append_group(struct buffer *text, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits =
        (uint32_t)bytes[0] << 16 | (count > 1 ? (uint32_t)bytes[1] << 8 : 0) | (count > 2 ? bytes[2] : 0);
    char group[4];
    for (size_t i = 0; i < sizeof group; i++)
        group[i] = (char)(i <= count ? digits[bits >> (18 - 6 * i) & 63] : '=');
    return buffer_append(text, group, sizeof group);
}

int base64_append(struct buffer *text, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    if (buffer_reserve(text, length / 3 * 4 + 4))
        return -1;
    for (size_t done = 0; done < length; done += 3)
        if (append_group(text, at + done, length - done < 3 ? length - done : 3))
            return -1;
    return 0;
}
