#include "postmortem/say_call.h"

#include "verdict/words.h"

int say_source(const struct job *job, int32_t operation, struct buffer *text)
{
    const char *source = job_source(job, operation);
    return source ? buffer_printf(text, ", at %s", source) : 0;
}

static int say_size(const struct job *job, int32_t operation, struct buffer *text)
{
    const struct job_operation *of = &job->operations[operation];
    const char *type = datatype_name((enum datatype)of->datatype);
    if (of->function == FUNCTION_ALL_TO_ALL && job->calls && job->calls[operation].count >= 0)
        return buffer_printf(text, " (rows of %lld%s%s)", (long long)job->calls[operation].count,
                             type ? " " : "", type ? type : "");
    if (of->bytes < 0 && job->calls && job->calls[operation].count >= 0)
        return buffer_printf(text, " (%lld elements)", (long long)job->calls[operation].count);
    if (of->bytes < 0)
        return 0;
    return buffer_printf(text, " (%lld bytes%s%s)", (long long)of->bytes, type ? ", " : "", type ? type : "");
}

int say_call(const struct job *job, int32_t operation, struct buffer *text)
{
    const struct job_operation *of = &job->operations[operation];
    return text_operation(text, job, &job->instances[of->instance], of->function) ||
                   say_size(job, operation, text) || say_source(job, operation, text)
               ? -1
               : 0;
}
