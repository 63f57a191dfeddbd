/* What the programs of the bench share: the clock, whole writes, lines, and the frames that they exchange.
 *
 * Every frame is valid ACP, so that a recorder has its usual work, and has its number (and in updates the time of
 * its writing) at a fixed place, so that the bench has little. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (1 << 20)      /* of a read; a pipe seldom has more than 64 KiB */
#define FIRST_ID 1000000000L /* ids have ten digits, so that all frames of a run have one size */
#define MIN_SIZE 256         /* the smallest frame that holds every head */

#define INITIALIZE "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1," \
                   "\"clientCapabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}}\n"
#define PROMPT "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"bench\"," \
               "\"prompt\":[{\"type\":\"text\",\"text\":\"go\"}]}}\n"
#define PROMPTED "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}\n"

#define REQUEST "{\"jsonrpc\":\"2.0\",\"id\":%010ld,\"method\":\"_bench/echo\",\"params\":{\"pad\":\""
#define RESPONSE "{\"jsonrpc\":\"2.0\",\"id\":%010ld,\"result\":{\"pad\":\""
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"_bench/note\",\"params\":{\"text\":\"%010ld "
#define UPDATE "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"bench\",\"update\":" \
               "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"%010ld "
#define STAMP "%020llu "
#define END "\"}}\n"
#define UPDATE_END "\"}}}}\n"

/* Where the number stands in a head: before its conversion nothing is converted. */
#define NUMBER_AT(head) ((size_t)(strchr(head, '%') - (head)))
#define STAMP_AT (NUMBER_AT(UPDATE) + 11)

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void fail(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static inline int write_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return -1;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static inline ssize_t read_some(int fd, char *data, size_t size) {
    ssize_t got;
    do got = read(fd, data, size);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Fill in what is between a head of `used` bytes and the end of a frame of `size`. */
static inline void pad(char *frame, size_t used, size_t size, const char *end) {
    static const char words[] = "the quick brown fox jumps over the lazy dog and then patches src/main.rs; ";
    size_t stop = size - strlen(end);
    for (size_t i = used; i < stop; i++) frame[i] = words[(i - used) % (sizeof words - 1)];
    memcpy(frame + stop, end, strlen(end));
}

/* Write `value` in place as decimal digits with leading zeros. */
static inline void put_digits(char *at, int digits, uint64_t value) {
    while (digits--) {
        at[digits] = (char)('0' + value % 10);
        value /= 10;
    }
}

static inline uint64_t get_digits(const char *at, int digits) {
    uint64_t value = 0;
    while (digits--) {
        if (*at < '0' || *at > '9') fail("a frame without its number");
        value = value * 10 + (uint64_t)(*at++ - '0');
    }
    return value;
}

struct lines {
    int fd;
    char *data;
    size_t start, end;
};

/* Return the next line of at most BLOCK bytes and its length with the newline; NULL at the end of the stream. */
static inline char *next_line(struct lines *from, size_t *size) {
    if (!from->data && !(from->data = malloc(BLOCK))) fail("no memory");
    for (size_t seen = from->start;;) {
        char *newline = memchr(from->data + seen, '\n', from->end - seen);
        if (newline) {
            char *line = from->data + from->start;
            *size = (size_t)(newline - line) + 1;
            from->start += *size;
            return line;
        }
        memmove(from->data, from->data + from->start, from->end - from->start);
        from->end -= from->start;
        from->start = 0;
        seen = from->end;
        if (from->end == BLOCK) fail("a line is too long");
        ssize_t got = read_some(from->fd, from->data + from->end, BLOCK - from->end);
        if (got <= 0) return NULL;
        from->end += (size_t)got;
    }
}
