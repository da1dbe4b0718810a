import { formatCount } from '../../text/format.ts'

const UNITS = [
	['d', 86_400_000, 'day'],
	['h', 3_600_000, 'hour'],
	['m', 60_000, 'minute'],
	['s', 1_000, 'second'],
	['ms', 1, 'millisecond'],
] as const

/** The largest unit that leaves no fraction: 90 s stay seconds. */
const unitOf = (ms: number) => UNITS.find(([, size]) => ms >= size && ms % size === 0) ?? UNITS[4]

/** Returns a duration as Prometheus writes it: `5m`. */
export function toPrometheusDuration(ms: number): string {
	const [unit, size] = unitOf(Math.round(ms))
	return `${Math.round(ms) / size}${unit}`
}

/** Returns a duration for a sentence: `5 minutes`. */
export function inWords(ms: number): string {
	const [, size, name] = unitOf(Math.round(ms))
	return formatCount(Math.round(ms) / size, name)
}
