/** Parses durations and moments as people type them: `2h`, `5m`, `2026-03-14`. */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { formatRelativeTime } from '../../text/format.ts'

const UNITS_MS: Readonly<Record<string, number>> = {
	ms: 1,
	s: 1000,
	m: 60_000,
	min: 60_000,
	h: 3_600_000,
	d: 86_400_000,
}

const DURATION = /^(\d+(?:\.\d+)?) ?(ms|s|min|m|h|d)$/
const EXPECTED_DURATION = 'a duration such as 500ms, 30s, 5m, 2h or 1d'

export function parseDuration(flag: string, text: string, minMs = 0): number {
	const ms = durationMs(text)
	if (ms !== undefined && ms >= minMs) return ms
	const limit = minMs === 0 ? '' : `, at least ${minMs}ms`
	throw new InvalidOptionError(flag, text, EXPECTED_DURATION + limit)
}

/** Returns a moment in the past: `2h` is two hours ago. */
export function parseMoment(flag: string, text: string, now: number): Date {
	const moment = momentAt(text, -1, now)
	if (moment !== undefined) return moment
	throw new InvalidOptionError(flag, text, `${EXPECTED_DURATION} ago, or a date such as 2026-03-14T09:30Z`)
}

/** Returns a future moment, or null for `never`. A past expiry would discard the messages. */
export function parseExpiry(flag: string, text: string, now: number): Date | null {
	if (text === 'never') return null
	const moment = momentAt(text, 1, now)
	if (moment !== undefined && moment.getTime() > now) return moment
	throw new InvalidOptionError(
		flag,
		text,
		`never, ${EXPECTED_DURATION} from now, or a future date such as 2030-03-14T09:30Z`,
	)
}

function momentAt(text: string, direction: 1 | -1, now: number): Date | undefined {
	const offset = durationMs(text)
	// Date.parse accepts a bare number as a year.
	const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
	const moment = new Date(offset === undefined ? date : now + direction * offset)
	return Number.isNaN(moment.getTime()) ? undefined : moment
}

function durationMs(text: string): number | undefined {
	const [, count = '', unit = ''] = DURATION.exec(text) ?? []
	const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN)
	return count !== '' && Number.isFinite(ms) ? ms : undefined
}

/** Returns `3 min ago` or `in 12 s`. */
export const relativeTo = (now: number, moment: Date): string => formatRelativeTime(moment.getTime() - now)
