import { formatDuration } from '../../text/format.ts'

/** Formats a countdown, which changes every second. Its end is `0 s` and not `0 ms`. */
export function formatSeconds(ms: number): string {
	const whole = Math.round(ms / 1000) * 1000
	return whole <= 0 ? '0 s' : formatDuration(whole, ms < 120_000 ? 1 : 2)
}
