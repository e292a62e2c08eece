/* Arbitrary bytes as a packed blob: refused or read, but never beyond its end. */
#include "model/model.h"
#include "require.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct unpack unpack;
    struct proxy_step step;
    struct kernel_channel channel;
    struct proxy_operation proxy;
    if (!unpack_steps(&unpack, bytes, length, 77))
        while (unpack_next_step(&unpack, &step) == 1)
            if (unpack.at > unpack.end)
                abort();
    if (!unpack_channels(&unpack, bytes, length, 77, 99))
        while (unpack_next_channel(&unpack, &channel) == 1)
            if (unpack.at > unpack.end)
                abort();
    unpack_states(bytes, length, 77, &proxy);
    return 0;
}
