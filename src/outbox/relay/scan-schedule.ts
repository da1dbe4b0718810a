/**
 * Decides when to scan for due messages, and from which due time on. A scan continues where the previous one
 * ended: earlier messages are claimed already, and while another session holds an old snapshot, a scan from
 * the start would read all dead rows, which cannot be vacuumed. A transaction may commit late, with earlier
 * due times. So a full scan runs regularly. If it finds more than its limit, the next scans continue after its
 * last message, not after the latest one ever claimed: the relay would idle between full scans.
 */

/** A full scan runs at most every 20 times its own duration, which is 5 % of the time, ... */
const FULL_SCAN_GAP = 20
/** ... but often enough to find a late message within a second ... */
const MAX_GAP_MS = 800
/** ... as long as that takes no more than 10 % of the time. */
const MIN_GAP = 10

/** A longer full scan makes the next one small: claiming thousands says nothing about dead rows. */
const LONG_MS = 20
const SMALL_LIMIT = 16

/** After a small full scan that took longer, the next ones run beside the other scans. */
const BESIDE_MS = 100

/** A scan within `LONG_MS` makes the next one this many times larger, up to what the relay wants. */
const GROWTH = 4

export class ScanSchedule {
	readonly #pollMs: number
	#maxRows: number
	/** Where the next scan starts. */
	#position = 0
	/** The latest due time of a claimed message. */
	#latestEverDueAt = 0
	#nextFullScanAt = -Infinity
	#isNextFullScanSmall = false
	#isLong = false
	/** When to scan next, unless something is reported earlier. */
	nextAt: number = -Infinity

	/**
	 * `firstLimit` is the limit of the first scan. An ordered destination starts with one message: after an
	 * outage of all relays, the search for the first message of a key can take seconds.
	 */
	constructor(pollMs: number, firstLimit: number = Infinity) {
		this.#pollMs = pollMs
		this.#maxRows = firstLimit
	}

	/** Returns the earliest due time of the next scan; 0 for a full scan. */
	since(now: number): number {
		return now >= this.#nextFullScanAt ? 0 : this.#position
	}

	/**
	 * Returns true if it is time for a full scan and the previous one took long. The caller runs it beside the
	 * other scans, so that messages that are due now do not wait for it.
	 */
	startLongFullScan(now: number): boolean {
		if (now < this.#nextFullScanAt || !this.#isLong) return false
		this.#nextFullScanAt = Infinity
		return true
	}

	/** A full scan that was started did not run. */
	postponeFullScan(): void {
		this.#nextFullScanAt = -Infinity
	}

	/** Returns the limit of a scan from `since`. The next scans find what a small full scan leaves. */
	limit(since: number, wanted: number): number {
		const max = since === 0 && this.#isNextFullScanSmall ? SMALL_LIMIT : Infinity
		return Math.min(wanted, max, this.#maxRows)
	}

	/** A message may be due at `at`. */
	expect(at: number): void {
		this.nextAt = Math.min(this.nextAt, at)
	}

	reset(): void {
		this.nextAt = this.#nextFullScanAt = -Infinity
	}

	/**
	 * Records a scan from `since`; `isComplete` if it found fewer messages than its limit, the last of them due
	 * at `latestDueAt`. Everything that is due before the position has been claimed, except late commits.
	 */
	recordScan(since: number, startedAt: number, now: number, isComplete: boolean, latestDueAt: number): void {
		if (now - startedAt <= LONG_MS) this.#maxRows *= GROWTH
		this.#latestEverDueAt = Math.max(this.#latestEverDueAt, latestDueAt)
		this.#position = isComplete ? this.#latestEverDueAt : latestDueAt
		if (since === 0) this.#recordFullScan(now - startedAt, now)
		if (!isComplete) this.nextAt = -Infinity
		// What a partial scan did not find may be due before `since`.
		else this.nextAt = since === 0 ? now + this.#pollMs : Math.min(this.#nextFullScanAt, now + this.#pollMs)
	}

	#recordFullScan(durationMs: number, now: number): void {
		const maxGapMs = Math.max(MAX_GAP_MS, MIN_GAP * durationMs)
		// The next one is small and measures what a full scan costs.
		const isUnclear = durationMs > LONG_MS && !this.#isNextFullScanSmall
		this.#nextFullScanAt =
			now + (isUnclear ? FULL_SCAN_GAP * LONG_MS : Math.min(FULL_SCAN_GAP * durationMs, maxGapMs))
		this.#isLong = this.#isNextFullScanSmall && durationMs > BESIDE_MS
		this.#isNextFullScanSmall = durationMs > LONG_MS
	}
}
