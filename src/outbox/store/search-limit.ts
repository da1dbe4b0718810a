/**
 * How many due messages of a destination are searched for claims. Relays claim messages in the order in which they are due, so a claimed message is among the
 * first, and comes nearer to the front while relays send the messages before it. A message may be missed only if more than this many messages of blocked keys
 * are before it.
 */
export const MAX_SEARCHED = 20_000
