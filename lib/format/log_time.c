/* Times of logs in their several forms as UNIX time. */
#include "base/base.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>
#include <strings.h>
#include <time.h>

static const int64_t SECOND_NS = 1000000000, DAY_NS = INT64_C(86400) * 1000000000;

/* The parts of a date that were read so far. */
struct date {
    struct text rest;
    int64_t year; /* COUNT_UNKNOWN */
    int64_t month;
    int64_t day;
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t fraction_ns;
    int64_t step_ns;   /* of the last digit of the time */
    int64_t offset_ns; /* of the zone, to the east */
    int has_zone;
};

static struct text skip(struct text text, size_t bytes)
{
    return (struct text){text.data + bytes, text.length - bytes};
}

static int take_byte(struct text *text, const char *any)
{
    if (!text->length || !text->data[0] || !strchr(any, text->data[0]))
        return 0;
    *text = skip(*text, 1);
    return 1;
}

/* Takes a number of `least` to `most` digits. */
static int take_number(struct text *text, size_t least, size_t most, int64_t *number)
{
    size_t digits = 0;
    *number = 0;
    while (digits < text->length && is_digit(text->data[digits])) {
        if (++digits > most)
            return 0;
        *number = *number * 10 + (text->data[digits - 1] - '0');
    }
    *text = skip(*text, digits);
    return digits >= least;
}

static void take_spaces(struct text *text)
{
    while (text->length && text->data[0] == ' ')
        *text = skip(*text, 1);
}

/* Takes one of some words of three letters. Returns its number, or -1. */
static int take_name(struct text *text, const char *names)
{
    for (int i = 0; names[(size_t)i * 3]; i++)
        if (text->length >= 3 && memcmp(text->data, names + (size_t)i * 3, 3) == 0) {
            *text = skip(*text, 3);
            return i;
        }
    return -1;
}

/*
 * dmesg -T and journalctl write the names of the months in the language of the locale. A name is told by how
 * it begins; a longer one comes before one that it begins with.
 */
static const struct {
    const char *begins;
    int month;
} months[] = {{"gen", 1},      {"ene", 1},       {"fev", 2},  {"f\u00e9v", 2}, {"mrz", 3},  {"m\u00e4r", 3},
              {"mrt", 3},      {"avr", 4},       {"abr", 4},  {"mai", 5},      {"mei", 5},  {"mag", 5},
              {"maj", 5},      {"juin", 6},      {"giu", 6},  {"juil", 7},     {"lug", 7},  {"ago", 8},
              {"ao\u00fb", 8}, {"set", 9},       {"okt", 10}, {"ott", 10},     {"out", 10}, {"dez", 12},
              {"dic", 12},     {"d\u00e9c", 12}, {"jan", 1},  {"feb", 2},      {"mar", 3},  {"apr", 4},
              {"may", 5},      {"jun", 6},       {"jul", 7},  {"aug", 8},      {"sep", 9},  {"oct", 10},
              {"nov", 11},     {"dec", 12}};

static int is_of_word(char byte)
{
    return byte == '.' || (byte & 0x80) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* Takes a word, "mars" or "janv."; returns its length in bytes. */
static size_t take_word(struct text *text)
{
    size_t length = 0;
    while (length < text->length && is_of_word(text->data[length]))
        length++;
    *text = skip(*text, length);
    return length;
}

/* "11\u6708", in Chinese, Japanese and Korean */
static int take_numbered_month(struct date *date)
{
    struct text rest = date->rest;
    return take_number(&rest, 1, 2, &date->month) &&
           (text_begins(rest, "\u6708") || text_begins(rest, "\uc6d4")) && ((date->rest = skip(rest, 3)), 1);
}

static int take_month(struct date *date)
{
    int month = take_name(&date->rest, "JanFebMarAprMayJunJulAugSepOctNovDec");
    date->month = month + 1;
    if (month >= 0 && date->rest.length && date->rest.data[0] == ' ')
        return 1;
    if (month >= 0) {
        take_word(&date->rest);
        return 1;
    }
    for (size_t i = 0; i < sizeof months / sizeof *months; i++) {
        size_t length = strlen(months[i].begins);
        if (date->rest.length < length || strncasecmp(date->rest.data, months[i].begins, length) != 0)
            continue;
        date->month = months[i].month;
        return take_word(&date->rest) > 0;
    }
    return take_numbered_month(date);
}

/* Digits below a nanosecond are dropped. */
static void take_fraction(struct date *date)
{
    struct text rest = date->rest;
    date->step_ns = SECOND_NS;
    if (!take_byte(&rest, ".,") || !rest.length || !is_digit(rest.data[0]))
        return;
    for (; rest.length && is_digit(rest.data[0]); rest = skip(rest, 1)) {
        date->step_ns /= 10;
        date->fraction_ns += (rest.data[0] - '0') * date->step_ns;
    }
    date->step_ns = date->step_ns ? date->step_ns : 1;
    date->rest = rest;
}

/* "10:11:12.5" */
static int take_clock(struct date *date)
{
    if (!take_number(&date->rest, 1, 2, &date->hour) || !take_byte(&date->rest, ":") ||
        !take_number(&date->rest, 2, 2, &date->minute) || !take_byte(&date->rest, ":") ||
        !take_number(&date->rest, 2, 2, &date->second))
        return 0;
    take_fraction(date);
    return 1;
}

/* "Z", "UTC", "+01:00", "-0700"; other names of zones have several meanings and are not taken. */
static void take_zone(struct date *date)
{
    struct text rest = date->rest;
    int64_t hours, minutes;
    take_spaces(&rest);
    if (text_begins(rest, "UTC") || text_begins(rest, "GMT") || (rest.length && rest.data[0] == 'Z')) {
        date->has_zone = 1;
        date->rest = skip(rest, rest.data[0] == 'Z' ? 1 : 3);
        return;
    }
    int is_west = rest.length && rest.data[0] == '-';
    /* The offset follows the time at once: " -0700" could be a number of the message. */
    if (rest.data != date->rest.data || !take_byte(&rest, "+-") || !take_number(&rest, 2, 4, &hours))
        return;
    minutes = hours % 100;
    if (hours < 100) {
        minutes = 0;
        struct text after = rest;
        if (take_byte(&after, ":") && take_number(&after, 2, 2, &minutes))
            rest = after;
    } else {
        hours /= 100;
    }
    date->has_zone = 1;
    date->offset_ns = (is_west ? -1 : 1) * (hours * 60 + minutes) * 60 * SECOND_NS;
    date->rest = rest;
}

/* "2026-11-26T10:11:12" */
static int take_iso(struct date *date)
{
    const char *separator = "-";
    if (!take_number(&date->rest, 4, 4, &date->year))
        return 0;
    if (date->rest.length && date->rest.data[0] == '/')
        separator = "/";
    if (!take_byte(&date->rest, separator) || !take_number(&date->rest, 2, 2, &date->month) ||
        !take_byte(&date->rest, separator) || !take_number(&date->rest, 2, 2, &date->day) ||
        !take_byte(&date->rest, "T _"))
        return 0;
    take_spaces(&date->rest);
    if (!take_clock(date))
        return 0;
    take_zone(date);
    return 1;
}

/* "20261126   10:11:12" */
static int take_digits(struct date *date)
{
    int64_t day;
    if (!take_number(&date->rest, 8, 8, &day) || !take_byte(&date->rest, " ,\t"))
        return 0;
    take_spaces(&date->rest);
    date->year = day / 10000;
    date->month = day / 100 % 100;
    date->day = day % 100;
    return take_clock(date);
}

/* "Nov 26 10:11:12" and, after a weekday, a year behind it. */
static int take_syslog(struct date *date, int has_weekday)
{
    date->year = COUNT_UNKNOWN;
    if (!take_month(date) || !take_byte(&date->rest, " "))
        return 0;
    take_spaces(&date->rest);
    if (!take_number(&date->rest, 1, 2, &date->day) || !take_byte(&date->rest, " ") || !take_clock(date))
        return 0;
    struct text rest = date->rest;
    int64_t year;
    take_spaces(&rest);
    if (text_begins(rest, "UTC ")) {
        date->has_zone = 1;
        rest = skip(rest, 4);
    } else if (has_weekday && rest.length > 4 && !is_digit(rest.data[0])) {
        /* A zone that is not known: CET, PST. */
        const char *space = memchr(rest.data, ' ', rest.length < 6 ? rest.length : 6);
        rest = space ? skip(rest, (size_t)(space - rest.data) + 1) : rest;
    }
    if (has_weekday && take_number(&rest, 4, 4, &year)) {
        date->year = year;
        date->rest = rest;
    }
    return !has_weekday || date->year != COUNT_UNKNOWN;
}

/* "26 Nov 2026 10:11:12 AM UTC" */
static int take_day_first(struct date *date)
{
    if (!take_number(&date->rest, 1, 2, &date->day) || !take_byte(&date->rest, " ") || !take_month(date) ||
        !take_byte(&date->rest, " ") || !take_number(&date->rest, 4, 4, &date->year) ||
        !take_byte(&date->rest, " ") || !take_clock(date))
        return 0;
    struct text rest = date->rest;
    if (text_begins(rest, " AM") || text_begins(rest, " PM")) {
        date->hour = date->hour % 12 + (rest.data[1] == 'P' ? 12 : 0);
        date->rest = skip(rest, 3);
    }
    take_zone(date);
    return 1;
}

/* After a weekday in another language. */
static int take_foreign(struct date *date, struct text begin)
{
    *date = (struct date){.rest = begin};
    if (!take_word(&date->rest) || !take_byte(&date->rest, " "))
        return 0;
    take_spaces(&date->rest);
    return take_syslog(date, 1);
}

static int take_dated(struct date *date)
{
    struct text begin = date->rest;
    if (!begin.length)
        return 0;
    if (is_digit(begin.data[0])) {
        if (take_iso(date))
            return 1;
        *date = (struct date){.rest = begin};
        return take_digits(date);
    }
    int has_weekday = take_name(&date->rest, "MonTueWedThuFriSatSun") >= 0 &&
                      !(date->rest.length && is_of_word(date->rest.data[0]));
    if (!has_weekday) {
        date->rest = begin;
        return take_syslog(date, 0) || take_foreign(date, begin);
    }
    take_spaces(&date->rest);
    if (!date->rest.length || !is_digit(date->rest.data[0]))
        return take_syslog(date, 1);
    return (date->rest.length > 4 && date->rest.data[4] == '-' ? take_iso(date) : take_day_first(date)) ||
           take_foreign(date, begin);
}

/* As UNIX time, -1 for a date that does not exist. */
static int64_t seconds_of(const struct date *date, int64_t year)
{
    struct tm tm = {.tm_year = (int)year - 1900,
                    .tm_mon = (int)date->month - 1,
                    .tm_mday = (int)date->day,
                    .tm_hour = (int)date->hour,
                    .tm_min = (int)date->minute,
                    .tm_sec = (int)date->second};
    if (year < 1970 || year > 2200 || date->month < 1 || date->month > 12 || date->day < 1 ||
        date->day > 31 || date->hour > 24 || date->minute > 59 || date->second > 60)
        return -1;
    return timegm(&tm);
}

static int64_t moment_of(const struct date *date, int64_t year)
{
    int64_t seconds = seconds_of(date, year);
    return seconds < 0 ? TIME_UNKNOWN : seconds * SECOND_NS + date->fraction_ns - date->offset_ns;
}

/* The latest year in which the time is not more than a day after the file's last change: zones differ. */
static int64_t moment_of_latest(const struct date *date, int64_t modified_ns)
{
    time_t seconds = (time_t)(modified_ns / SECOND_NS);
    struct tm tm;
    if (modified_ns < 0 || !gmtime_r(&seconds, &tm))
        return TIME_UNKNOWN;
    for (int64_t year = tm.tm_year + 1901; year > tm.tm_year + 1892; year--) {
        int64_t at_ns = moment_of(date, year);
        int is_leap_day = date->month == 2 && date->day == 29;
        if (at_ns != TIME_UNKNOWN && at_ns <= modified_ns + DAY_NS &&
            (!is_leap_day || (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))))
            return at_ns;
    }
    return TIME_UNKNOWN;
}

/* UNIX time in seconds has ten digits from 2001 to 2286. */
enum { UNIX_DIGITS = 10 };

static size_t read_unix(struct text text, struct log_time *time)
{
    int64_t seconds;
    struct date date = {.rest = text};
    if (!take_number(&date.rest, UNIX_DIGITS, UNIX_DIGITS, &seconds) || text.data[0] == '0')
        return 0;
    take_fraction(&date);
    if (__builtin_mul_overflow(seconds, SECOND_NS, &time->at_ns) || time->at_ns > INT64_MAX - SECOND_NS)
        return 0;
    time->at_ns += date.fraction_ns;
    time->error_ns = date.step_ns;
    return text.length - date.rest.length;
}

size_t log_time_read(struct text text, int64_t modified_ns, struct log_time *time)
{
    struct date date = {.rest = text};
    *time = (struct log_time){.at_ns = TIME_UNKNOWN, .since_boot_ns = TIME_UNKNOWN};
    if (!take_dated(&date)) {
        size_t length = text.length ? read_unix(text, time) : 0;
        if (!length)
            *time = (struct log_time){.at_ns = TIME_UNKNOWN, .since_boot_ns = TIME_UNKNOWN};
        return length;
    }
    time->is_of_year = date.year == COUNT_UNKNOWN;
    time->is_local = !date.has_zone;
    time->error_ns = date.step_ns;
    time->at_ns = time->is_of_year ? moment_of_latest(&date, modified_ns) : moment_of(&date, date.year);
    return text.length - date.rest.length;
}

/* "20261126-101112", "20261126T101112Z" */
static int64_t joined_moment(struct text text)
{
    struct date date = {.rest = text};
    int64_t day, clock;
    if (!take_number(&date.rest, 8, 8, &day))
        return TIME_UNKNOWN;
    (void)take_byte(&date.rest, "T_-.");
    if (!take_number(&date.rest, 6, 6, &clock))
        return TIME_UNKNOWN;
    date.month = day / 100 % 100;
    date.day = day % 100;
    date.hour = clock / 10000;
    date.minute = clock / 100 % 100;
    date.second = clock % 100;
    return moment_of(&date, day / 10000);
}

int64_t log_time_of_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t at = 0; name[at]; at++) {
        struct text rest = {name + at, strlen(name + at)};
        struct log_time time;
        if (!is_digit(name[at]) || (at && is_digit(name[at - 1])))
            continue;
        int64_t at_ns = joined_moment(rest);
        if (at_ns == TIME_UNKNOWN && log_time_read(rest, TIME_UNKNOWN, &time))
            at_ns = time.at_ns;
        if (at_ns != TIME_UNKNOWN)
            return at_ns;
    }
    return TIME_UNKNOWN;
}
