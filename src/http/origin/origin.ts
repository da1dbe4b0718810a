/**
 * What is known of one origin, apart from its policies: how long it asked to be left alone, what is left of its quota, how many
 * requests are on the wire.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { readQuota } from '../headers/rate-limit-headers.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { pageOrigin } from '../transport/page.ts'
import { type HttpResponse, headerOf } from '../transport/transport.ts'
import { MAX_PAUSE_MS, OriginPause } from './origin-pause.ts'
import { Quota } from './quota.ts'

/** Of an origin whose first answers say nothing of a quota, every so many are looked at only. */
const LOOKED_AT_FIRST = 8
const LOOK_EVERY = 32

export class Origin {
	readonly name: string
	readonly settings: HttpSettings
	/** May headers of the toolkit's own be sent there? A browser's page would have to be allowed to by the other side. */
	readonly mayAddHeaders: boolean
	/** Might it have to be left alone? */
	isHeld = false
	/** Requests that are on the wire. */
	inFlight = 0
	readonly #hold = new OriginPause()
	readonly #runtime: Runtime
	#quota: Quota | undefined
	#answers = 0

	constructor(name: string, settings: HttpSettings, runtime: Runtime) {
		this.name = name
		this.settings = settings
		this.#runtime = runtime
		const page = pageOrigin()
		this.mayAddHeaders = settings.isDeadlineHeaderNamed || page === undefined || page === name
	}

	/** How long nobody should ask; 0 when a request may go now. */
	waitMs(now: number): number {
		const waitMs = this.#hold.waitMs(now, this.#quota)
		if (waitMs === 0) this.isHeld = this.#quota !== undefined
		return waitMs
	}

	/** A request goes out. */
	sent(): void {
		this.inFlight++
		if (this.#quota) this.#quota.spend(this.#runtime.now())
	}

	/** The head of a response is there. */
	answered(response: HttpResponse): void {
		this.inFlight--
		if (!this.settings.pacing) return
		const isLookedAt =
			this.#quota !== undefined ||
			++this.#answers <= LOOKED_AT_FIRST ||
			this.#answers % LOOK_EVERY === 0 ||
			response.status === 429
		if (!isLookedAt) return
		const report = readQuota({ get: (name) => headerOf(response, name) }, this.#runtime.wallNow())
		if (!report) return
		this.#quota ??= new Quota()
		// As of a Retry-After, one answer must not close an origin for good.
		const { remaining, limit } = report
		const resetMs = Math.min(report.resetMs, MAX_PAUSE_MS)
		const windowMs = report.windowMs === undefined ? undefined : Math.min(report.windowMs, MAX_PAUSE_MS)
		this.#quota.report(this.#runtime.now(), { remaining, resetMs, limit, windowMs }, this.inFlight)
		this.isHeld = true
	}

	/** An answer asks of everybody to stay away for so long. */
	askedFor(waitMs: number): void {
		this.#hold.ask(this.#runtime.now(), waitMs)
		this.isHeld = true
	}

	/** For how long it wants to be left alone; 0 when it does not. */
	get heldForMs(): number {
		return this.#hold.waitMs(this.#runtime.now(), this.#quota)
	}
}
