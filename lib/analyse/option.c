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

static int refuse_key(const char *key, size_t length, const char *const *words, size_t count,
                      struct error *error)
{
    struct buffer list = BUFFER_INIT;
    int failed = buffer_append_text(&list, words[0]);
    for (size_t i = 1; !failed && i < count; i++)
        failed = buffer_printf(&list, i + 1 < count ? ", %s" : " or %s", words[i]);
    failed = failed ? error_no_memory(error)
                    : error_set(error, "invalid --by key '%.*s': expected %s", (int)length, key, list.data);
    buffer_release(&list);
    return failed;
}

static int add_key(const char *key, size_t length, const char *const *words, size_t word_count,
                   size_t *numbers, size_t *count, struct error *error)
{
    size_t number = 0;
    while (number < word_count &&
           (strlen(words[number]) != length || memcmp(words[number], key, length) != 0))
        number++;
    if (number == word_count)
        return refuse_key(key, length, words, word_count, error);
    for (size_t i = 0; i < *count; i++)
        if (numbers[i] == number)
            return error_set(error, "--by contains '%s' twice", words[number]);
    numbers[(*count)++] = number;
    return 0;
}

int option_keys(const char *text, const char *const *words, size_t word_count, size_t *numbers, size_t *count,
                struct error *error)
{
    *count = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        if (add_key(text, length, words, word_count, numbers, count, error))
            return -1;
        text += length + (text[length] == ',');
    }
    return *count ? 0 : error_set(error, "--by needs at least one key");
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
