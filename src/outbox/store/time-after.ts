/** The last time that a JavaScript Date can represent, in milliseconds since 1970. */
export const MAX_TIME = 8_640_000_000_000_000

/** Returns the time `ms` after `now`, rounded up to a whole millisecond, which is what the columns hold. */
export const timeAfter = (now: number, ms: number): number => Math.min(MAX_TIME, now + Math.ceil(ms))
