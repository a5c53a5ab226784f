/** Longest a connection (DNS, TCP, proxy and TLS included) may take before its request is given up, ms. */
export const CONNECT_DEADLINE_MS = 10_000;

/** Longest silence between a written request and the headers of its answer, ms. */
export const HEADERS_DEADLINE_MS = 30_000;

/** Longest silence between two chunks of a body, ms. */
export const IDLE_DEADLINE_MS = 30_000;

/** Longest whole exchange, ms: a server that drips bytes passes every other deadline. */
export const TOTAL_DEADLINE_MS = 120_000;

/**
 * A reservation older than this belongs to a dead process, ms: its headers would have come or timed out, and it would
 * have left the burst window. If it does not, it counts as a request without an answer all the same.
 */
export const RESERVATION_LIFETIME_MS = CONNECT_DEADLINE_MS + HEADERS_DEADLINE_MS + 2_000;

/** Longest that a written request is on its way to the server, ms; an assumption of the own count. */
export const LONGEST_TRANSIT_MS = 500;
