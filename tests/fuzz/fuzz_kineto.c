/*
 * Arbitrary bytes as events of Kineto, up to each NUL: the fast path, which remembers how the events before
 * were printed, and the general JSON reader give the same result.
 */
#include "require.h"
#include "support/same_kineto.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct kineto_layouts layouts = {.of_kind = {{{.count = 0}}}};
    const char *at = (const char *)bytes, *end = at + length;
    while (at < end) {
        const char *past = memchr(at, '\0', (size_t)(end - at));
        past = past ? past : end;
        struct raw_json text = {at, (size_t)(past - at)};
        const char *difference = difference_of_kineto_readings(text, &layouts);
        if (difference)
            fprintf(stderr, "difference in %s: %.*s\n", difference, (int)text.length, text.text);
        require(!difference, "both readings are the same");
        at = past + 1;
    }
    return 0;
}
