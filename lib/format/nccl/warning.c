#include "format/nccl/warning.h"

#include "input/number.h"
#include "model/event.h"

#include <string.h>

static int64_t number_of(struct text word)
{
    int64_t number;
    return word.length && number_int64(word.data, word.length, &number) == 0 ? number : COUNT_UNKNOWN;
}

/* "status=12", "status=IBV_WC_RETRY_EXC_ERR(12)", before 2.22 "with error 12". */
static int64_t status_of(struct text message)
{
    struct text behind = text_after(message, "status=");
    if (!behind.data)
        return text_holds(message, "Got completion from peer")
                   ? number_of(text_word(text_after(message, "with error ")))
                   : COUNT_UNKNOWN;
    struct text word = text_word(behind);
    int64_t number = number_of(word);
    if (number != COUNT_UNKNOWN || word.length == behind.length || behind.data[word.length] != '(')
        return number;
    return number_of(text_word((struct text){word.data + word.length + 1, behind.length - word.length - 1}));
}

/* "hca mlx5_0" at the end, or "NET/IB : mlx5_0:1 Got async error event". */
static struct text nic_of(struct text message)
{
    struct text word = text_value(message, "hca");
    struct text event = text_after(message, "NET/IB : ");
    if (word.length || !event.data || !text_holds(message, "async"))
        return word;
    word = text_word(event);
    const char *port = memchr(word.data, ':', word.length);
    return port ? (struct text){word.data, (size_t)(port - word.data)} : word;
}

void warning_read(struct text message, struct warning *warning)
{
    *warning = (struct warning){.peer = text_word(text_after(message, " peer ")),
                                .nic = nic_of(message),
                                .status = status_of(message)};
}
