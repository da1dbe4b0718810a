import type { RateLimitModel } from '../scenario/scenario.ts'

/** A bucket of tokens that fills evenly: the limit of an API, as its customers meet it. */
export class RateLimit {
	readonly #tells: boolean
	readonly #perMs: number
	readonly #burst: number
	#tokens: number
	#at = 0

	constructor({ perSecond, burst = Math.max(1, perSecond), retryAfter = true }: RateLimitModel) {
		this.#tells = retryAfter
		this.#perMs = perSecond / 1_000
		this.#burst = burst
		this.#tokens = burst
	}

	/** Is there room? */
	take(now: number): boolean {
		this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs)
		this.#at = now
		// A hair below one is one that was rounded.
		if (this.#tokens < 1 - 1e-9) return false
		this.#tokens -= 1
		return true
	}

	/** What it tells those who come too early: after how many milliseconds there is room. */
	get retryAfterMs(): number | undefined {
		return this.#tells ? Math.ceil((1 - this.#tokens) / this.#perMs) : undefined
	}
}
