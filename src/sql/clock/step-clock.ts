/**
 * The clock of a database without a server: the wall clock, except where it jumps. Time that an operator or a
 * time server sets back continues from the greatest time seen, because messages that are due now would
 * otherwise wait for hours; it then runs slightly slower until the wall clock has caught up. If the wall
 * clock jumps forward, time jumps as well, and running leases are extended by the jump: their holders are
 * alive.
 */

/** A time of the database, with the clocks of the machine when it was read. */
export interface ClockMark {
	readonly time: number
	readonly wall: number
	/** A monotonic clock. Only differences are meaningful. */
	readonly monotonic: number
}

export interface ClockStep extends ClockMark {
	/** Leases that end after `from` have to be extended by `byMs`. */
	readonly extension: { readonly from: number; readonly byMs: number } | undefined
	/** True if the wall clock was set back since the stored mark, which has to be replaced. */
	readonly isSetBack: boolean
}

/** Differences up to this are drift, or the time between reading the two clocks. */
const TOLERANCE_MS = 250

/** The speed of time while it is ahead of the wall clock: two hours are gone after 20. Much slower would delay retries. */
const CATCH_UP_SPEED = 0.9

/**
 * Returns the time now. `own` is what this process read last, undefined at its start; `stored` is the latest
 * mark of any process, whose monotonic clock is comparable unless the machine was restarted.
 */
export function stepClock(
	stored: ClockMark | undefined,
	own: ClockMark | undefined,
	wall: number,
	monotonic: number,
): ClockStep {
	const latest = own ?? stored
	if (!latest) return { time: wall, wall, monotonic, extension: undefined, isSetBack: false }
	const elapsedMs = monotonic - latest.monotonic
	const expected = latest.time + elapsedMs
	const isBehindStored = stored !== undefined && wall < stored.wall - TOLERANCE_MS
	const isBehindOwn = own !== undefined && wall - own.wall < elapsedMs - TOLERANCE_MS
	const time = Math.max(
		wall,
		...[stored, own].map((mark) => (mark ? timeSince(mark, wall) : 0)),
		isBehindOwn ? Math.floor(expected) : 0,
	)
	// Without a comparable monotonic clock it is unknown how much of the difference was a jump.
	const byMs = elapsedMs < 0 ? 0 : time - Math.floor(expected)
	// Another process that noticed the jump first has already extended them.
	const isExtended = stored !== undefined && stored.time > expected + TOLERANCE_MS
	const extension = byMs > TOLERANCE_MS && !isExtended ? { from: Math.floor(expected), byMs } : undefined
	return { time, wall, monotonic, extension, isSetBack: isBehindStored || isBehindOwn }
}

const timeSince = ({ time, wall }: ClockMark, now: number): number =>
	time > wall ? Math.floor(time + CATCH_UP_SPEED * Math.max(0, now - wall)) : time
