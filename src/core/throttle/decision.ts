/**
 * The probability of rejecting a call locally because the dependency is overloaded: client-side adaptive
 * throttling from Google's SRE book. Calls that are rejected here count as requests too, so the share that is
 * sent falls with the share that is accepted, and some calls always test whether the overload is over. A
 * breaker would send all or nothing.
 *
 * The formula alone sends hardly any call after a long outage, one in a thousand at 10 calls per second, and
 * needs up to 17 minutes after it to send most calls again. So the probability has a limit.
 */
import { TimeWindow } from '../structures/time-window.ts'
import type { ThrottleSettings } from './options.ts'

const REQUESTS = 0
const ACCEPTS = 1

export class ThrottleDecision {
	#settings: ThrottleSettings
	readonly #window: TimeWindow

	constructor(settings: ThrottleSettings) {
		this.#settings = settings
		this.#window = new TimeWindow(settings.windowMs, 2)
	}

	/** Returns the probability of rejecting the next call, from 0 to `maxRejectionRate`. */
	probability(now: number): number {
		const { k, minimumRequests, maxRejectionRate } = this.#settings
		const requests = this.#window.sum(now, REQUESTS)
		if (requests < minimumRequests) return 0
		const excess = (requests - k * this.#window.sum(now, ACCEPTS)) / (requests + 1)
		return Math.max(0, Math.min(maxRejectionRate, excess))
	}

	/** Counts a call, sent or rejected. */
	request(now: number): void {
		this.#window.add(now, REQUESTS)
	}

	/** Counts a call that the dependency accepted, whatever its result. */
	accept(now: number): void {
		this.#window.add(now, ACCEPTS)
	}

	/** Changes the settings; the counts stay. */
	update(settings: ThrottleSettings, now: number): void {
		this.#settings = settings
		this.#window.resize(now, settings.windowMs)
	}
}
