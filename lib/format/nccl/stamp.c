#include "format/nccl/stamp.h"

#include "model/event.h"

static const int64_t SECOND_NS = 1000000000;

/* Digits at a place, exactly so many, as a number; -1 where they are not there. */
static int64_t digits(struct text text, size_t at, size_t count)
{
    int64_t number = 0;
    if (at + count > text.length)
        return -1;
    for (size_t i = 0; i < count; i++) {
        char byte = text.data[at + i];
        if (byte < '0' || byte > '9')
            return -1;
        number = number * 10 + (byte - '0');
    }
    return number;
}

static char byte_at(struct text text, size_t at)
{
    if (at >= text.length)
        return '\0';
    return text.data[at];
}

int64_t stamp_days(int64_t year, int64_t month, int64_t day)
{
    /* Years begin in March: the leap day is the last one. */
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Seconds since 1970 of "YYYY-MM-DD?HH:MM:SS" at a place; -1. */
static int64_t seconds_at(struct text text, size_t at)
{
    int64_t year = digits(text, at, 4), month = digits(text, at + 5, 2), day = digits(text, at + 8, 2);
    int64_t hour = digits(text, at + 11, 2), minute = digits(text, at + 14, 2),
            second = digits(text, at + 17, 2);
    char between = byte_at(text, at + 10), dash = byte_at(text, at + 4);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || second < 0 || second > 60)
        return -1;
    if ((dash != '-' && dash != '/') || byte_at(text, at + 7) != dash || (between != ' ' && between != 'T') ||
        byte_at(text, at + 13) != ':' || byte_at(text, at + 16) != ':')
        return -1;
    return ((stamp_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
}

/* Decimals of a second at a place, as nanoseconds; `*at` goes behind them. */
static int64_t fraction_at(struct text text, size_t *at, int *decimals)
{
    int64_t ns = 0;
    *decimals = 0;
    if (byte_at(text, *at) != '.' && byte_at(text, *at) != ',')
        return 0;
    for ((*at)++; digits(text, *at, 1) >= 0; (*at)++)
        if (*decimals < 9) {
            ns = ns * 10 + digits(text, *at, 1);
            (*decimals)++;
        }
    for (int i = *decimals; i < 9; i++)
        ns *= 10;
    return ns;
}

/* What "+01:00", "-0730" or "+02" at a place is ahead of UTC, in seconds. */
static int64_t zone_at(struct text text, size_t at)
{
    char sign = byte_at(text, at);
    int64_t hours = digits(text, at + 1, 2);
    if ((sign != '+' && sign != '-') || hours < 0)
        return 0;
    int64_t minutes = digits(text, at + 3 + (byte_at(text, at + 3) == ':'), 2);
    int64_t ahead = hours * 3600 + (minutes < 0 ? 0 : minutes * 60);
    return sign == '+' ? ahead : -ahead;
}

enum { STAMP_LENGTH = 19 };

int64_t stamp_find(struct text prefix, int *decimals)
{
    *decimals = 0;
    for (size_t at = prefix.length < STAMP_LENGTH ? 0 : prefix.length - STAMP_LENGTH + 1; at-- > 0;) {
        int64_t seconds = prefix.data[at] >= '0' && prefix.data[at] <= '9' ? seconds_at(prefix, at) : -1;
        if (seconds < 0)
            continue;
        size_t behind = at + STAMP_LENGTH;
        int64_t fraction_ns = fraction_at(prefix, &behind, decimals);
        return (seconds - zone_at(prefix, behind)) * SECOND_NS + fraction_ns;
    }
    return TIME_UNKNOWN;
}
