/* Arbitrary bytes as an event of Kineto: the fast path and the general JSON reader give the same result. */
#include "require.h"
#include "support/same_kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const char *difference = difference_of_kineto_readings((struct raw_json){(const char *)bytes, length});
    if (difference)
        fprintf(stderr, "difference in %s: %.*s\n", difference, (int)length, (const char *)bytes);
    require(!difference, "both readings are the same");
    return 0;
}
