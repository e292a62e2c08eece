#include "verdict/words.h"

#include "base/json_text.h"

#include <string.h>
#include <time.h>

int text_json_us(struct buffer *json, const char *name, int64_t time_ns)
{
    if (text_json_key(json, name))
        return -1;
    return time_ns == TIME_UNKNOWN ? buffer_append_text(json, "null")
                                   : buffer_printf(json, "%.3f", (double)time_ns / 1e3);
}

int text_utc(struct buffer *text, int64_t time_ns)
{
    enum { NS_PER_US = 1000, US_PER_S = 1000000 };
    int64_t us = time_ns / NS_PER_US;
    time_t seconds = (time_t)(us / US_PER_S);
    struct tm parts;
    char date[32];
    if (time_ns < 0 || !gmtime_r(&seconds, &parts) ||
        !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts))
        return 0;
    return buffer_printf(text, "%s.%06lldZ", date, (long long)(us % US_PER_S));
}

const char *text_ordinal(int32_t number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    int32_t last = number % 10;
    return last > 3 || (number / 10) % 10 == 1 ? endings[0] : endings[last];
}

int text_gaps(struct buffer *text, int64_t peers_ns, int64_t other_steps_ns, const char *rank)
{
    if (peers_ns != TIME_UNKNOWN && (buffer_append_text(text, "; peers ") || text_time(text, peers_ns)))
        return -1;
    if (other_steps_ns == TIME_UNKNOWN)
        return 0;
    return buffer_printf(text, "%c rank %s in other steps ", peers_ns == TIME_UNKNOWN ? ';' : ',', rank) ||
           text_time(text, other_steps_ns);
}

/* A group may be named by a number, as torch's are. */
static int is_ranks(const char *label)
{
    return label[strspn(label, "0123456789,-")] == '\0' && strpbrk(label, ",-");
}

int text_communicator(struct buffer *text, const struct job_communicator *communicator)
{
    const char *label = communicator->label;
    return buffer_append_text(text, is_ranks(label) ? "ranks " : "communicator ") ||
           buffer_append_text(text, label);
}

int text_on_communicator(struct buffer *text, const struct job_communicator *communicator)
{
    return text_on_label(text, communicator->label);
}

int text_on_label(struct buffer *text, const char *label)
{
    return buffer_printf(text, is_ranks(label) ? " on communicator {%s}" : " on communicator %s", label);
}

int text_place(struct buffer *text, int32_t number, const char *step, const char *function,
               const struct job_communicator *communicator)
{
    return buffer_printf(text, "operation %d of %s (%s", (int)number, step,
                         function ? function : "function unknown") ||
           (communicator && (buffer_append_text(text, ", ") || text_communicator(text, communicator))) ||
           buffer_append_byte(text, ')');
}

int text_operation(struct buffer *text, const struct job *job, const struct job_instance *instance,
                   uint8_t function)
{
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    const char *name = function_name(function);
    int64_t lacking = communicator->size - (int64_t)communicator->seat_count;
    if (buffer_append_text(text, name ? name : "operation") ||
        (instance->sequence >= 0 && buffer_printf(text, " #%lld", (long long)instance->sequence)) ||
        (instance->sender >= 0 && buffer_printf(text, " from rank %s", job->ranks[instance->sender].name)) ||
        (instance->receiver >= 0 &&
         buffer_printf(text, " to rank %s", job->ranks[instance->receiver].name)) ||
        text_on_communicator(text, communicator))
        return -1;
    return communicator->hash && lacking > 0
               ? buffer_printf(text, " of %s%lld ranks", communicator->size_is_known ? "" : "at least ",
                               (long long)communicator->size)
               : 0;
}
