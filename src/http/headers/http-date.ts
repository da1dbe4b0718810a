/**
 * Parses the three forms of an HTTP date (RFC 9110, 5.6.7) by their grammar. `Date.parse` is not used: it
 * accepts many strings that are not HTTP dates, reads the asctime form in the machine's time zone, and
 * interprets two-digit years differently. The day name must be valid but need not match the date: it adds no
 * information.
 */

const DAY = '(\\d\\d)'
const MONTHS = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec'
const TIME = '([01]\\d|2[0-3]):([0-5]\\d):([0-5]\\d|60) GMT$'

const FORMS: readonly RegExp[] = [
	// Sun, 06 Nov 1994 08:49:37 GMT
	new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), ${DAY} (${MONTHS}) (\\d{4}) ${TIME}`),
	// Sunday, 06-Nov-94 08:49:37 GMT
	new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, ${DAY}-(${MONTHS})-(\\d\\d) ${TIME}`),
]

/** Sun Nov  6 08:49:37 1994 */
const ASCTIME = /^(\w{3}) (\w{3}) (?: (\d)|(\d\d)) (\S{8}) (\d{4})$/

/** 50 years of 365.2425 days. */
const MAX_FUTURE_MS = 50 * 31_556_952_000

/**
 * Returns an HTTP date in milliseconds since 1970, or undefined if the text is not a valid HTTP date. Second
 * 60 (a leap second) is the first second of the next minute. `nowMs` determines the century of a two-digit
 * year.
 *
 * @example
 * parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT', Date.now()) // => 784111777000
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
	const normalized = text.replace(ASCTIME, (_, name, month, digit, digits, time, year) =>
		[`${name},`, digits ?? `0${digit}`, month, year, time, 'GMT'].join(' '),
	)
	for (const form of FORMS) {
		const parts = form.exec(normalized)
		if (parts) return timeOf(parts, nowMs)
	}
	return undefined
}

function timeOf(
	[, day, month = '', year = '', ...clock]: readonly string[],
	nowMs: number,
): number | undefined {
	const clockMs = clock.reduce((sum, part) => sum * 60 + Number(part), 0) * 1_000
	// `Date.UTC` would map the years 0 to 99 to 1900 to 1999.
	const timeIn = (years: number): number =>
		new Date(0).setUTCFullYear(years, MONTHS.indexOf(month) / 4, Number(day)) + clockMs
	const time = timeIn(year.length === 2 ? fullYear(Number(year), timeIn, nowMs) : Number(year))
	// A day that the month does not have is one of the next month. If `nowMs` is NaN, so is the time.
	return new Date(time - clockMs).getUTCDate() === Number(day) ? time : undefined
}

/**
 * Expands a two-digit year to the year that puts the date at most 50 years after and less than 50 years
 * before now. Using the current century would be wrong: at the end of 2099, `01-Jan-00` is tomorrow.
 */
function fullYear(digits: number, timeIn: (year: number) => number, nowMs: number): number {
	const thisYear = new Date(nowMs).getUTCFullYear()
	let year = thisYear - (thisYear % 100) + 100 + digits
	while (timeIn(year) > nowMs + MAX_FUTURE_MS) year -= 100
	return year
}
