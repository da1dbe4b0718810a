/**
 * Names of destinations that end with `*`: an entry of a relay for all destinations whose names start with the
 * rest, each with its own limits and circuit. One `*` at the end is enough for names such as `webhook:ID`, and
 * every program reads it the same way.
 */

export const isPattern = (name: string): boolean => name.endsWith('*')

/** Returns true if a name of a relay's destinations, which may be a pattern, serves the destination. */
export const servesBy = (name: string, destination: string): boolean =>
	name === destination || (isPattern(name) && destination.startsWith(name.slice(0, -1)))
