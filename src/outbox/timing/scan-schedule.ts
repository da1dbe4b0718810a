/**
 * Decides when to scan for due messages, and from which due time on. A scan starts at the due time of the latest claimed message: everything before it
 * is claimed already, and while another session holds an old snapshot the dead rows there cannot be vacuumed, so a scan from the start would read all
 * of them. A transaction may commit late, with an earlier due time; therefore a full scan runs regularly, at most 5 % of the time.
 */

/** A full scan runs at most every 20 times its own duration. */
const FULL_SCAN_GAP = 20

export class ScanSchedule {
	readonly #pollMs: number
	#since = 0
	#nextFullScanAt = -Infinity
	#nextAt = -Infinity

	constructor(pollMs: number) {
		this.#pollMs = pollMs
	}

	/** When to scan next, unless something is reported earlier. */
	get nextAt(): number {
		return this.#nextAt
	}

	/** Returns the earliest due time of the next scan; 0 for a full scan. */
	since(now: number): number {
		return now >= this.#nextFullScanAt ? 0 : this.#since
	}

	/** A message may be due at `at`. */
	expect(at: number): void {
		this.#nextAt = Math.min(this.#nextAt, at)
	}

	/** No message can be claimed before `at`. */
	waitUntil(at: number): void {
		this.#nextAt = at
	}

	reset(): void {
		this.#nextAt = this.#nextFullScanAt = -Infinity
	}

	/** Records a scan from `since`; `isComplete` if it found fewer messages than its limit. */
	recordScan(since: number, startedAt: number, now: number, isComplete: boolean, latestDueAt: number): void {
		this.#since = Math.max(this.#since, latestDueAt)
		if (since === 0) this.#nextFullScanAt = now + FULL_SCAN_GAP * (now - startedAt)
		if (!isComplete) this.#nextAt = -Infinity
		// What a partial scan did not find may be due before `since`.
		else this.#nextAt = since === 0 ? now + this.#pollMs : Math.min(this.#nextFullScanAt, now + this.#pollMs)
	}
}
