/**
 * The three forms of a date in HTTP (RFC 9110, 5.6.7), read by their grammar. `Date.parse` is not used: it takes much that is
 * no HTTP date, it reads the asctime form in the time zone of the machine, and it has its own idea of a two-digit year.
 * The day name must be one, but not the right one: it adds nothing to the date, and a server that gets it wrong still said when.
 */

const SHORT_DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const MONTH = `(?<month>${MONTHS.match(/.../g)?.join('|')})`
const DAY = '(?<day>\\d\\d)'
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)'

const FORMS: readonly RegExp[] = [
	// Sun, 06 Nov 1994 08:49:37 GMT
	new RegExp(`^${SHORT_DAY}, ${DAY} ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
	// Sunday, 06-Nov-94 08:49:37 GMT
	new RegExp(`^${LONG_DAY}, ${DAY}-${MONTH}-(?<shortYear>\\d\\d) ${TIME} GMT$`),
	// Sun Nov  6 08:49:37 1994
	new RegExp(`^${SHORT_DAY} ${MONTH} (?<day>\\d\\d| \\d) ${TIME} (?<year>\\d{4})$`),
]

const SECOND_MS = 1_000
const DAY_MS = 86_400_000
/** After 400 years the calendar repeats itself. */
const CYCLE_YEARS = 400
const CYCLE_MS = 146_097 * DAY_MS
const YEAR_MS = CYCLE_MS / CYCLE_YEARS
const FORESEEN_MS = 50 * YEAR_MS

/** The first moment of a month. A cycle later and back, for `Date.UTC` takes the years 0 to 99 for 1900 to 1999. */
const startOfMonth = (year: number, month: number): number =>
	Date.UTC(year + CYCLE_YEARS, month, 1) - CYCLE_MS

/**
 * Two digits mean the year that makes the date at most 50 years later than now, and less than 50 years earlier.
 * Not simply this century: at the end of 2099, `01-Jan-00` is tomorrow.
 */
function fullYear(digits: number, month: number, sinceMonth: number, nowMs: number): number {
	const latest = nowMs + FORESEEN_MS
	// One more than the mean length of a year may be off by.
	const bound = 1971 + Math.floor(latest / YEAR_MS)
	const year = bound - ((((bound - digits) % 100) + 100) % 100)
	return startOfMonth(year, month) + sinceMonth > latest ? year - 100 : year
}

/**
 * Milliseconds since 1970 of an HTTP date, or undefined when it is none or when there is no such day or time. Second 60, a leap
 * second, is the first of the next minute. `nowMs` decides the century of a two-digit year.
 *
 * @example
 * parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT', runtime.wallNow())   // 784111777000
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
	for (const form of FORMS) {
		const parts = form.exec(text)?.groups
		if (parts) return timeOf(parts, nowMs)
	}
	return undefined
}

function timeOf(parts: Readonly<Record<string, string | undefined>>, nowMs: number): number | undefined {
	const month = MONTHS.indexOf(parts['month'] ?? '') / 3
	const days = (Number(parts['day']) - 1) * DAY_MS
	const clock = (Number(parts['hour']) * 60 + Number(parts['minute'])) * 60 + Number(parts['second'])
	const sinceMonth = days + clock * SECOND_MS
	const year =
		parts['year'] === undefined
			? fullYear(Number(parts['shortYear']), month, sinceMonth, nowMs)
			: Number(parts['year'])
	const start = startOfMonth(year, month)
	// With a clock that is not a number there is no year either, and the comparison fails as it should.
	const isInMonth = days >= 0 && start + days < startOfMonth(year, month + 1)
	return isInMonth ? start + sinceMonth : undefined
}
