/** A server with a quota, a network with reordered responses, and one client that checks a `Quota` before it sends. */

import type { QuotaReport } from '../../../src/http/headers/rate-limit-headers.ts'
import { Quota } from '../../../src/http/origin/quota.ts'

export interface ServerSettings {
	readonly limit: number
	readonly windowMs: number
	/** When windows start: at multiples of their length plus this, or with the first request (undefined). */
	readonly phaseMs: number | undefined
	readonly tellsWindow: boolean
}

export interface Wish {
	/** When the caller wants to send. */
	readonly at: number
	/** How long the request and the response travel. */
	readonly upMs: number
	readonly downMs: number
	/** Whether the response is lost, so that the client learns nothing from it. */
	readonly isLost: boolean
}

/** Many times what any test case needs. */
const MOST_EVENTS = 20_000

class Server {
	readonly #settings: ServerSettings
	#endsAt = Number.NEGATIVE_INFINITY
	#count = 0
	/** The maximum number of requests in one window. */
	most = 0

	constructor(settings: ServerSettings) {
		this.#settings = settings
	}

	arrive(now: number): QuotaReport {
		const { limit, windowMs, phaseMs, tellsWindow } = this.#settings
		if (now >= this.#endsAt) {
			const sinceStart = phaseMs === undefined ? 0 : (now + phaseMs) % windowMs
			this.#endsAt = now - sinceStart + windowMs
			this.#count = 0
		}
		this.#count++
		this.most = Math.max(this.most, this.#count)
		const remaining = Math.max(0, limit - this.#count)
		return { remaining, resetMs: this.#endsAt - now, limit, ...(tellsWindow ? { windowMs } : {}) }
	}
}

/** The result: the maximum number of requests in one server window, and when each request was sent. */
export interface Outcome {
	readonly most: number
	readonly sentAt: readonly number[]
	/** Waits that were not above 0 and finite. */
	readonly oddWaits: readonly number[]
}

/** The first request is sent alone, because the quota is unknown before its response; the others start after it. */
export function play(settings: ServerSettings, [first, ...others]: readonly Wish[]): Outcome {
	const quota = new Quota()
	const server = new Server(settings)
	const events: { at: number; run: (now: number) => void }[] = []
	const sentAt: number[] = []
	const oddWaits: number[] = []
	let inFlight = 0
	const plan = (at: number, run: (now: number) => void): void => {
		const place = events.findIndex((event) => event.at > at)
		events.splice(place < 0 ? events.length : place, 0, { at, run })
	}
	const send = (now: number, { upMs, downMs, isLost }: Wish, then?: (now: number) => void): void => {
		const wait = quota.waitMs(now)
		if (wait !== 0) {
			if (!(wait > 0 && Number.isFinite(wait))) oddWaits.push(wait)
			else plan(now + wait, (later) => send(later, { at: later, upMs, downMs, isLost }, then))
			return
		}
		quota.spend(now)
		sentAt.push(now)
		inFlight++
		plan(now + upMs, (arrival) => {
			const report = server.arrive(arrival)
			plan(arrival + downMs, (answered) => {
				inFlight--
				if (!isLost) quota.report(answered, report, inFlight)
				then?.(answered)
			})
		})
	}
	if (first)
		send(0, { ...first, isLost: false }, (start) => {
			for (const wish of others) plan(start + wish.at, (now) => send(now, wish))
		})
	// A client that is blocked permanently would check forever.
	for (let left = MOST_EVENTS; left > 0 && events.length > 0; left--) {
		const event = events.shift()
		event?.run(event.at)
	}
	return { most: server.most, sentAt, oddWaits }
}
