import type { RateLimitModel } from '../scenario/scenario.ts'

/** A token bucket: the rate limit of an API. */
export class RateLimit {
	readonly #sendsRetryAfter: boolean
	readonly #perMs: number
	readonly #burst: number
	#tokens: number
	#at = 0

	constructor({ perSecond, burst = Math.max(1, perSecond), retryAfter = true }: RateLimitModel) {
		this.#sendsRetryAfter = retryAfter
		this.#perMs = perSecond / 1_000
		this.#burst = burst
		this.#tokens = burst
	}

	/** Takes a token. Returns false if there is none. */
	take(now: number): boolean {
		this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs)
		this.#at = now
		// The epsilon absorbs rounding.
		if (this.#tokens < 1 - 1e-9) return false
		this.#tokens -= 1
		return true
	}

	/** Milliseconds until the next token, for the Retry-After header. */
	get retryAfterMs(): number | undefined {
		return this.#sendsRetryAfter ? Math.ceil((1 - this.#tokens) / this.#perMs) : undefined
	}
}
