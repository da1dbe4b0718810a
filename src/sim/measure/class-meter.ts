import { Histogram } from './histogram.ts'
import type { ClassResult } from './result.ts'

/** Counts the calls of one request class of a client. */
export class ClassMeter {
	readonly #goodWithinMs: number
	readonly #latency = new Histogram()
	#calls = 0
	#good = 0
	#late = 0
	#failed = 0

	constructor(goodWithinMs: number) {
		this.#goodWithinMs = goodWithinMs
	}

	start(): void {
		this.#calls++
	}

	end(durationMs: number, ok: boolean): void {
		if (ok) this.#latency.record(durationMs)
		if (!ok) this.#failed++
		else if (durationMs <= this.#goodWithinMs) this.#good++
		else this.#late++
	}

	get result(): ClassResult {
		const [calls, good, late, failed] = [this.#calls, this.#good, this.#late, this.#failed]
		return {
			calls,
			good,
			late,
			failed,
			unfinished: calls - good - late - failed,
			goodShare: calls === 0 ? 0 : good / calls,
			latency: this.#latency.summary,
		}
	}
}
