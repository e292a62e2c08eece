#include "analyse/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
        return error_set(error, "invalid --%s '%s': expected a number from %g to %g", name, text, least,
                         greatest);
    return 0;
}

int option_integer(const char *text, const char *name, int64_t least, int64_t greatest, int64_t *value,
                   struct error *error)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end || errno || *value < least || *value > greatest)
        return error_set(error, "invalid --%s '%s': expected an integer of at least %lld", name, text,
                         (long long)least);
    return 0;
}

int option_range(const char *text, const char *name, int64_t *first, int64_t *last, struct error *error)
{
    char *end = NULL;
    errno = 0;
    int is_number = *text >= '0' && *text <= '9';
    *first = *last = is_number ? strtoll(text, &end, 10) : 0;
    if (is_number && *end == '-' && end[1] >= '0' && end[1] <= '9')
        *last = strtoll(end + 1, &end, 10);
    if (!is_number || *end || errno || *last < *first)
        return error_set(error, "invalid --%s '%s': expected a number or a range A-B", name, text);
    return 0;
}

int option_thresholds(const char *min_gain_percent, const char *sigmas, struct diagnose_options *options,
                      struct error *error)
{
    double percent;
    if (option_real(min_gain_percent, "min-gain", 0, 100, &percent, error) ||
        option_real(sigmas, "sigmas", 0, 1000, &options->sigmas, error))
        return -1;
    options->min_gain = percent / 100;
    return 0;
}

int option_memory(const char *mib, int64_t *memory_bytes, struct error *error)
{
    int64_t count;
    if (option_integer(mib, "memory", 0, INT64_MAX >> 20, &count, error))
        return -1;
    *memory_bytes = count << 20;
    return 0;
}

static const char RULES_OFF[] = "NCCLPROF_RULES_OFF";

int option_rules_off(struct rule_set *off, struct error *error)
{
    const char *text = getenv(RULES_OFF);
    *off = (struct rule_set){0};
    while (text && *text) {
        size_t length = strcspn(text, ",");
        int rule = rule_find(text, length);
        if (rule < 0)
            return error_set(error, "%s names '%.*s', which is no rule", RULES_OFF, (int)length, text);
        off->has[rule] = 1;
        text += length + (text[length] == ',');
    }
    return 0;
}

int caution_rules_off(struct table *table, struct error *error)
{
    const char *text = getenv(RULES_OFF);
    return text && *text
               ? table_add_warning(table, error, "%s: these rules were not asked: %s", RULES_OFF, text)
               : 0;
}
