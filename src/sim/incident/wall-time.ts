/** Wall times as text, to the second, in UTC. */

/** Formats date and time. */
export const formatTime = (wall: number): string =>
	new Date(Math.round(wall / 1_000) * 1_000).toISOString().slice(0, 19).replace('T', ' ')

/** Formats the time of day. */
export const formatClock = (wall: number): string => formatTime(wall).slice(11)
