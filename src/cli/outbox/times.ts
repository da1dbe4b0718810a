/**
 * Times as people type and read them: `2h` and `5m` go in, `3 min ago` comes out. Milliseconds are for programs, which get
 * them with `--json`.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { formatDuration } from '../../text/format.ts'

const UNITS_MS: Readonly<Record<string, number>> = {
	ms: 1,
	s: 1000,
	m: 60_000,
	min: 60_000,
	h: 3_600_000,
	d: 86_400_000,
}

const DURATION = /^(\d+(?:\.\d+)?) ?(ms|s|min|m|h|d)$/
const TAKES_DURATION = 'a time such as 500ms, 30s, 5m, 2h or 1d'

/** The milliseconds of `5m`, or an error that names the option. */
export function readDuration(flag: string, text: string, minMs = 0): number {
	const ms = durationOf(text)
	if (ms !== undefined && ms >= minMs) return ms
	const least = minMs === 0 ? '' : `, at least ${minMs}ms`
	throw new InvalidOptionError(flag, text, TAKES_DURATION + least)
}

/** `2h` is two hours before now; anything else must be a date. */
export function readMoment(flag: string, text: string, now: number): Date {
	const at = momentOf(text, -1, now)
	if (at !== undefined) return at
	throw new InvalidOptionError(
		flag,
		text,
		`${TAKES_DURATION}, counted back from now, or a date such as 2026-03-14T09:30Z`,
	)
}

/** `2h` is two hours after now; `never` is null. What is over already would be no expiry but a slow way to discard. */
export function readExpiry(flag: string, text: string, now: number): Date | null {
	if (text === 'never') return null
	const at = momentOf(text, 1, now)
	if (at !== undefined && at.getTime() > now) return at
	throw new InvalidOptionError(
		flag,
		text,
		`never, ${TAKES_DURATION}, counted from now, or a date to come such as 2030-03-14T09:30Z`,
	)
}

function momentOf(text: string, direction: 1 | -1, now: number): Date | undefined {
	const away = durationOf(text)
	// A bare number is a date to JavaScript, of some year that nobody meant.
	const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
	const at = new Date(away === undefined ? date : now + direction * away)
	return Number.isNaN(at.getTime()) ? undefined : at
}

function durationOf(text: string): number | undefined {
	const [, count = '', unit = ''] = DURATION.exec(text) ?? []
	const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN)
	return count !== '' && Number.isFinite(ms) ? ms : undefined
}

/** `3 min ago`, `in 12 s`; nothing where there is no time. */
export function relativeText(at: Date | undefined, now: number): string {
	if (at === undefined) return ''
	const away = at.getTime() - now
	return away > 0 ? `in ${formatDuration(away)}` : `${formatDuration(-away)} ago`
}
