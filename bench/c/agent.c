/* The agent of the bench: answers the first line it gets, then does what its arguments say.
 *
 *   agent echo                        answer every line with one of the same size
 *   agent stream COUNT SIZE GAP_US    after the next line write COUNT updates of SIZE bytes, each with the time of its
 *                                     writing, GAP_US apart (0: as fast as they are taken), then answer that line
 *   agent sink COUNT SIZE             take COUNT notes of SIZE bytes, check each, then answer
 *
 * One write per frame, as real agents do. It ends with its input, or when its output is taken no more. */
#include "bench.h"
#include <sys/prctl.h>

static struct lines input = {.fd = 0};

static void say(const char *data, size_t size) {
    if (write_all(1, data, size)) _exit(1);
}

static void echo(void) {
    char *frame = malloc(BLOCK), *line;
    size_t size, padded = 0;
    while ((line = next_line(&input, &size))) {
        if (size < MIN_SIZE) fail("a request is too short");
        long id = (long)get_digits(line + NUMBER_AT(REQUEST), 10);
        if (size == padded) {
            put_digits(frame + NUMBER_AT(RESPONSE), 10, (uint64_t)id);
        } else {
            pad(frame, (size_t)sprintf(frame, RESPONSE, id), size, END);
            padded = size;
        }
        say(frame, size);
    }
}

static void stream(long count, size_t size, uint64_t gap_us) {
    size_t asked, whole = size < 2 * BLOCK ? size : MIN_SIZE;
    char *frame = malloc(whole), *filler = malloc(BLOCK);
    if (size < MIN_SIZE || !next_line(&input, &asked)) fail("no prompt for a stream of frames that are large enough");
    int head = sprintf(frame, UPDATE STAMP, 0L, 0ull);
    pad(frame, (size_t)head, whole, UPDATE_END);
    memset(filler, 'x', BLOCK);
    uint64_t due = now_ns();
    for (long i = 0; i < count; i++) {
        if (gap_us) {
            due += gap_us * 1000;
            struct timespec at = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
            while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {}
        }
        put_digits(frame + NUMBER_AT(UPDATE), 10, (uint64_t)i);
        put_digits(frame + STAMP_AT, 20, now_ns());
        if (whole == size) {
            say(frame, size);
            continue;
        }
        /* A huge line goes out in blocks, so that this process does not look like one that holds it. */
        say(frame, (size_t)head);
        for (size_t left = size - whole; left;) {
            size_t part = left < BLOCK ? left : BLOCK;
            say(filler, part);
            left -= part;
        }
        say(frame + head, whole - (size_t)head);
    }
    say(PROMPTED, strlen(PROMPTED));
}

static void sink(long count, size_t size) {
    for (long i = 0; i < count; i++) {
        size_t got;
        char *line = next_line(&input, &got);
        if (!line) fail("the notes ended early");
        if (got != size || get_digits(line + NUMBER_AT(NOTE), 10) != (uint64_t)i) fail("a note is not the expected one");
    }
    say(PROMPTED, strlen(PROMPTED));
}

int main(int count, char **words) {
    long number[3] = {0};
    size_t size;
    for (int i = 0; i < 3 && i + 2 < count; i++) number[i] = atol(words[i + 2]);
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    if (!next_line(&input, &size)) return 0;
    say(INITIALIZED, strlen(INITIALIZED));
    const char *what = count > 1 ? words[1] : "echo";
    if (!strcmp(what, "echo")) echo();
    else if (!strcmp(what, "stream")) stream(number[0], (size_t)number[1], (uint64_t)number[2]);
    else if (!strcmp(what, "sink")) sink(number[0], (size_t)number[1]);
    else fail("expected echo, stream or sink");
    while (next_line(&input, &size)) {}
    return 0;
}
