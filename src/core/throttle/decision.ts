/**
 * The probability of rejecting a call locally because the dependency is overloaded: client-side adaptive throttling from
 * Google's SRE book. Calls that are rejected here count as requests too, so the share that is sent falls with the share
 * that is accepted, and some calls always test whether the overload is over. A breaker would send all or nothing.
 */
import { TimeWindow } from '../structures/time-window.ts'

const REQUESTS = 0
const ACCEPTS = 1

export class ThrottleDecision {
	#k: number
	readonly #window: TimeWindow

	constructor(k: number, windowMs: number) {
		this.#k = k
		this.#window = new TimeWindow(windowMs, 2)
	}

	/** Returns the probability of rejecting the next call, from 0 to below 1. */
	probability(now: number): number {
		const requests = this.#window.sum(now, REQUESTS)
		return Math.max(0, (requests - this.#k * this.#window.sum(now, ACCEPTS)) / (requests + 1))
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
	update(k: number, windowMs: number, now: number): void {
		this.#k = k
		this.#window.resize(now, windowMs)
	}
}
