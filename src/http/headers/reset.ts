/**
 * When a quota is full again, in the many ways that servers say it: seconds from now, seconds or milliseconds since 1970, or a
 * duration such as `6m0s`. The plain numbers can be told apart by their size alone: nobody asks for a wait of thirty years, and no
 * server's clock stands before 2001.
 */
import { readDecimal, trimBlanks } from './field-value.ts'

const EARLIEST_EPOCH_SECONDS = 1e9
/** As seconds this is the year 5138, as milliseconds 1973. */
const EARLIEST_EPOCH_MS = 1e11

const AMOUNT = '(\\d{1,12}(?:\\.\\d{1,12})?)'
const DURATION = new RegExp(`^(?=.)(?:${AMOUNT}h)?(?:${AMOUNT}m(?!s))?(?:${AMOUNT}s)?(?:${AMOUNT}ms)?$`)
const UNITS_MS = [3_600_000, 60_000, 1_000, 1]

/** Milliseconds until the reset, NaN when it is malformed. The server's time is only asked for when it is needed. */
export function readReset(text: string, serverTime: () => number): number {
	const value = readDecimal(text)
	if (value === undefined) return readDuration(text)
	if (value < EARLIEST_EPOCH_SECONDS) return value * 1_000
	return Math.max(0, (value < EARLIEST_EPOCH_MS ? value * 1_000 : value) - serverTime())
}

/** A duration as Go prints it, down to milliseconds: `1h2m3.5s`, `120ms`. */
function readDuration(text: string): number {
	const amounts = DURATION.exec(trimBlanks(text))
	if (amounts === null) return Number.NaN
	return UNITS_MS.reduce((sum, unit, at) => sum + Number(amounts[at + 1] ?? 0) * unit, 0)
}
