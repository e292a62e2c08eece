#include "plugin/write/allocator_hook.h"

#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

/* What PyTorch takes for true (torch/csrc/distributed/c10d/Utils.hpp, getCvarBool). */
static bool is_true(const char *value)
{
    static const char *const words[] = {"y", "yes", "1", "t", "true"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(value, words[i]) == 0)
            return true;
    return false;
}

/* Older versions know the second name. The first that is set counts, as there. */
bool allocator_hook_is_on(void)
{
    static const char *const names[] = {"TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
                                        "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value)
            return is_true(value);
    }
    return false;
}
