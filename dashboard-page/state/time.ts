/** Times as the reader's clock shows them. The time zone is always part of the text. */
import type { Words } from '../../src/dashboard/words/words.ts'

/** Returns `2026-11-19 13:52:01 GMT+9`. Without `timeZone`: the one of the reader. */
export function formatAbsolute(ms: number, timeZone?: string): string {
	const { year, month, day, hour, minute, second, timeZoneName } = partsOf(ms, timeZone)
	return `${year}-${month}-${day} ${hour}:${minute}:${second} ${timeZoneName}`
}

/** The clock of the page moves once a second, so what has just happened is a little later than its time. */
const CLOCK_STEP_MS = 1_000

/** Returns `3 min ago` or `in 5 s`. */
export function formatRelative(words: Pick<Words, 'ago' | 'inTime'>, at: number, now: number): string {
	const distance = at - now
	return distance > CLOCK_STEP_MS ? words.inTime(distance) : words.ago(Math.max(0, -distance))
}

/** Returns the text that `<input type="datetime-local">` expects, to the second. */
export function toLocalInput(ms: number, timeZone?: string): string {
	const { year, month, day, hour, minute, second } = partsOf(ms, timeZone)
	return `${year}-${month}-${day}T${hour}:${minute}:${second}`
}

/** Reads what `<input type="datetime-local">` returns, in the reader's time zone. */
export function fromLocalInput(text: string): number | undefined {
	const ms = new Date(text).getTime()
	return text === '' || Number.isNaN(ms) ? undefined : ms
}

/** Reads a time of the URL, in milliseconds since 1970. */
export function readTime(text: string | undefined): number | undefined {
	return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function partsOf(ms: number, timeZone: string | undefined): Record<string, string> {
	const format = new Intl.DateTimeFormat('en-US', {
		...(timeZone === undefined ? {} : { timeZone }),
		year: 'numeric',
		month: '2-digit',
		day: '2-digit',
		hour: '2-digit',
		minute: '2-digit',
		second: '2-digit',
		hourCycle: 'h23',
		timeZoneName: 'short',
	})
	return Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]))
}
