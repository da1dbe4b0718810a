/**
 * Parses the three forms of an HTTP date (RFC 9110, 5.6.7) by their grammar. `Date.parse` is not used: it accepts many strings that are
 * not HTTP dates, reads the asctime form in the machine's time zone, and interprets two-digit years differently.
 * The day name must be valid but need not match the date: it adds no information.
 */

const SHORT_DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'
const MONTHS = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec'
const MONTH = `(?<month>${MONTHS})`
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
/** The calendar repeats every 400 years. */
const CYCLE_YEARS = 400
const CYCLE_MS = 146_097 * DAY_MS
const YEAR_MS = CYCLE_MS / CYCLE_YEARS
const MAX_FUTURE_MS = 50 * YEAR_MS

/** Returns the start of a month. The year is shifted by a cycle and back, because `Date.UTC` maps the years 0 to 99 to 1900 to 1999. */
const startOfMonth = (year: number, month: number): number =>
	Date.UTC(year + CYCLE_YEARS, month, 1) - CYCLE_MS

/**
 * Expands a two-digit year to the year that puts the date at most 50 years after and less than 50 years before now.
 * Using the current century would be wrong: at the end of 2099, `01-Jan-00` is tomorrow.
 */
function fullYear(digits: number, month: number, sinceMonth: number, nowMs: number): number {
	const latest = nowMs + MAX_FUTURE_MS
	// One more than the estimate: the mean length of a year can be off by one.
	const bound = 1971 + Math.floor(latest / YEAR_MS)
	const year = bound - ((((bound - digits) % 100) + 100) % 100)
	return startOfMonth(year, month) + sinceMonth > latest ? year - 100 : year
}

/**
 * Returns an HTTP date in milliseconds since 1970, or undefined if the text is not a valid HTTP date. Second 60 (a leap second) is the
 * first second of the next minute. `nowMs` determines the century of a two-digit year.
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
	const month = MONTHS.indexOf(parts['month'] ?? '') / 4
	const days = (Number(parts['day']) - 1) * DAY_MS
	const clock = (Number(parts['hour']) * 60 + Number(parts['minute'])) * 60 + Number(parts['second'])
	const sinceMonth = days + clock * SECOND_MS
	const year =
		parts['year'] === undefined
			? fullYear(Number(parts['shortYear']), month, sinceMonth, nowMs)
			: Number(parts['year'])
	const start = startOfMonth(year, month)
	// If `nowMs` is NaN, so is the year, and the comparison is false.
	const isInMonth = days >= 0 && start + days < startOfMonth(year, month + 1)
	return isInMonth ? start + sinceMonth : undefined
}
