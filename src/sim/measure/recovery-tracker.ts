/**
 * What came of calls after the last fault, in steps of its own that begin with its end: so a time to recovery depends neither on how long
 * a run is looked at nor on the steps of its timeline. When the steps are full and it has still not recovered, they are joined in pairs.
 */
import { type Begun, recoveryOf, wellAfter } from './recovery.ts'
import type { Recovery } from './result.ts'

const STEP_MS = 100
const STEPS = 3_000

export class RecoveryTracker {
	readonly #fromMs: number
	readonly #toMs: number
	readonly #before = { begun: 0, good: 0 }
	#begun = new Uint32Array(STEPS)
	#good = new Uint32Array(STEPS)
	#stepMs = STEP_MS
	/** Calls that began by the end of the last fault, and that have not ended; and when the latest of them did. */
	#caught = 0
	#caughtEndedAt = 0
	/** Found when the steps were full. */
	#found: number | undefined

	/** From the begin of the first fault to the end of the last. */
	constructor(fromMs: number, toMs: number) {
		this.#fromMs = fromMs
		this.#toMs = toMs
	}

	begin(now: number): void {
		if (now <= this.#toMs) this.#caught++
		if (now >= this.#toMs) this.#count(this.#begun, now)
	}

	end(begunAt: number, now: number, isGood: boolean): void {
		if (begunAt <= this.#toMs) {
			this.#caught--
			this.#caughtEndedAt = now
		}
		if (begunAt < this.#fromMs) {
			this.#before.begun++
			if (isGood) this.#before.good++
		} else if (isGood && begunAt >= this.#toMs) this.#count(this.#good, begunAt)
	}

	recovery(endedAtMs: number, isIdle: boolean): Recovery | null {
		const recovery = recoveryOf({
			...this.#course(endedAtMs, isIdle),
			clearedAtMs: this.#caught === 0 ? this.#caughtEndedAt : undefined,
		})
		if (!recovery || this.#found === undefined) return recovery
		const { drainedAfterMs } = recovery
		const recoveredAfterMs = drainedAfterMs === null ? null : Math.max(this.#found, drainedAfterMs)
		return { ...recovery, healthyAfterMs: this.#found, recoveredAfterMs }
	}

	#course(endedAtMs: number, isIdle: boolean): Parameters<typeof wellAfter>[0] {
		const sinceMs = Math.max(0, endedAtMs - this.#toMs)
		const length = Math.min(
			STEPS,
			isIdle ? Math.ceil(sinceMs / this.#stepMs) : Math.floor(sinceMs / this.#stepMs),
		)
		const steps = Array.from(
			{ length },
			(_, step): Begun => ({ begun: this.#begun[step] ?? 0, good: this.#good[step] ?? 0 }),
		)
		return { faultToMs: this.#toMs, before: this.#before, steps, stepMs: this.#stepMs, endedAtMs, isIdle }
	}

	#count(counts: Uint32Array, time: number): void {
		if (this.#found !== undefined) return
		const step = Math.floor((time - this.#toMs) / this.#stepMs)
		if (step < STEPS) counts[step] = (counts[step] ?? 0) + 1
		else {
			this.#found = wellAfter(this.#course(time, false))
			if (this.#found === undefined) this.#fold()
			this.#count(counts === this.#begun ? this.#begun : this.#good, time)
		}
	}

	#fold(): void {
		for (const counts of [this.#begun, this.#good])
			for (let step = 0; step < STEPS; step++)
				counts[step] = (counts[2 * step] ?? 0) + (counts[2 * step + 1] ?? 0)
		this.#stepMs *= 2
	}
}
