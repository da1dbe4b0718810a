/** Numbers and times as people read them. */

/** 12345 as 12,345. */
export const number = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',')

export const milliseconds = (value: number): string => `${Number(value.toPrecision(3))} ms`

/** Of a share, 0 to 1. */
export const percent = (share: number): string => `${Number((share * 100).toPrecision(3))} %`

/** A wall time to the second, with its day and without. Both are UTC. */
export const moment = (wall: number): string =>
	new Date(Math.round(wall / 1_000) * 1_000).toISOString().slice(0, 19).replace('T', ' ')
export const clock = (wall: number): string => moment(wall).slice(11)

/** A length of time in at most two units. */
export function lasting(ms: number): string {
	const seconds = ms / 1_000
	if (seconds < 120) return `${Number(seconds.toPrecision(3))} s`
	const minutes = Math.floor(seconds / 60)
	if (minutes < 120) return `${minutes} min ${Math.floor(seconds % 60)} s`
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
