/**
 * When to look for messages, and from where on. A claim goes on from the due time of the latest: what lies before was claimed, and while
 * somebody holds an old snapshot open its dead rows can not be cleaned away, so that a look from the very beginning wades through all of
 * them. But a transaction may commit late, with a time that lies before; therefore everything is looked at regularly, as often as it may
 * cost a twentieth of the time and no more.
 */

/** Of the time that a look at everything takes, so many times as much passes until the next. */
const REST = 20

export class ScanSchedule {
	readonly #pollMs: number
	#since = 0
	/** When everything is looked at again. */
	#wholeAt = -Infinity
	/** When it makes sense to look again; before that only when somebody says so. */
	#nextAt = -Infinity

	constructor(pollMs: number) {
		this.#pollMs = pollMs
	}

	/** When to look again by itself. */
	get nextAt(): number {
		return this.#nextAt
	}

	/** The lower bound of the next look; 0 is everything. */
	since(now: number): number {
		return now >= this.#wholeAt ? 0 : this.#since
	}

	/** Something may be there at this time, or now. */
	expect(at: number): void {
		this.#nextAt = Math.min(this.#nextAt, at)
	}

	/** Nothing can be had before this time. */
	waitUntil(at: number): void {
		this.#nextAt = at
	}

	/** Whatever is known is out of date: look at everything. */
	startOver(): void {
		this.#nextAt = this.#wholeAt = -Infinity
	}

	/** A look from `since` began then, took until now, and found all that it could (`isShort`) or as much as it wanted. */
	looked(since: number, beganAt: number, now: number, isShort: boolean, latestDueAt: number): void {
		this.#since = Math.max(this.#since, latestDueAt)
		if (since === 0) this.#wholeAt = now + REST * (now - beganAt)
		if (!isShort) this.#nextAt = -Infinity
		// What a look from the bound did not find may lie before it.
		else this.#nextAt = since === 0 ? now + this.#pollMs : Math.min(this.#wholeAt, now + this.#pollMs)
	}
}
