/** The three forms of an HTTP date, written from a time: what the parser has to read back. */

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const padded = (value: number, length: number, fill = '0'): string => String(value).padStart(length, fill)

function partsOf(ms: number) {
	const date = new Date(ms)
	const day = DAYS[date.getUTCDay()] ?? ''
	const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]
	return {
		longDay: day,
		shortDay: day.slice(0, 3),
		date: date.getUTCDate(),
		month: MONTHS[date.getUTCMonth()],
		year: padded(date.getUTCFullYear(), 4),
		time: clock.map((value) => padded(value, 2)).join(':'),
	}
}

export function imfFixdate(ms: number): string {
	const { shortDay, date, month, year, time } = partsOf(ms)
	return `${shortDay}, ${padded(date, 2)} ${month} ${year} ${time} GMT`
}

export function rfc850(ms: number): string {
	const { longDay, date, month, year, time } = partsOf(ms)
	return `${longDay}, ${padded(date, 2)}-${month}-${year.slice(2)} ${time} GMT`
}

export function asctime(ms: number): string {
	const { shortDay, date, month, year, time } = partsOf(ms)
	return `${shortDay} ${month} ${padded(date, 2, ' ')} ${time} ${year}`
}
