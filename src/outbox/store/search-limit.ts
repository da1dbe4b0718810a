/**
 * How many due messages of a destination are searched for claims. In the order in which messages are due, what a relay has claimed is among the first, and
 * moves forward while relays send what is before it. Only behind blocked keys of an ordered destination it may not be found.
 */
export const MAX_SEARCHED = 20_000
