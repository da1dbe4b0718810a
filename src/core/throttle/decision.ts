/**
 * How likely a call is refused on this side because the other side is overloaded: the client's half of adaptive throttling
 * in Google's SRE book. What is refused here counts as a call too, so the share that is sent falls with the share that is
 * accepted, and some calls always try whether it is over. A breaker would send all or nothing.
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

	/** With which probability the next call should be refused, 0 to below 1. */
	probability(now: number): number {
		const requests = this.#window.sum(now, REQUESTS)
		return Math.max(0, (requests - this.#k * this.#window.sum(now, ACCEPTS)) / (requests + 1))
	}

	/** A call came, whether it is sent or refused here. */
	request(now: number): void {
		this.#window.add(now, REQUESTS)
	}

	/** The other side took a call on, whatever came of it. */
	accept(now: number): void {
		this.#window.add(now, ACCEPTS)
	}

	/** Other settings; what has been counted stays. */
	update(k: number, windowMs: number, now: number): void {
		this.#k = k
		this.#window.resize(now, windowMs)
	}
}
