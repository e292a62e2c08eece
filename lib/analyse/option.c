#include "analyse/option.h"

#include <errno.h>
#include <stdlib.h>

int option_is_given(const struct analysis_request *request, const struct analysis_option *options,
                    size_t option)
{
    return request->values[option] != options[option].fallback;
}

int option_real(const char *text, const char *name, double least, double greatest, double *value,
                struct error *error)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    if (end == text || *end || errno || !(*value >= least && *value <= greatest))
        return error_set(error, "--%s takes a number from %g to %g, not '%s'", name, least, greatest, text);
    return 0;
}

int option_integer(const char *text, const char *name, int64_t least, int64_t greatest, int64_t *value,
                   struct error *error)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end || errno || *value < least || *value > greatest)
        return error_set(error, "--%s takes a whole number of at least %lld, not '%s'", name,
                         (long long)least, text);
    return 0;
}
