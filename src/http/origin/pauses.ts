/** How long requests wait: the pause (Retry-After) and the quota (RateLimit headers) of an origin, a route, a principal or a single call. */
import { formatMs } from '../../core/errors/errors.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { readQuota } from '../headers/rate-limit-headers.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { type HttpResponse, headersOf } from '../transport/transport.ts'
import { Quota } from './quota.ts'

/** If the first responses of an origin have no RateLimit headers, only every 32nd response is checked: lookups cost. */
const ALWAYS_CHECKED = 8
const CHECK_INTERVAL = 32

/** What a pause may depend on. */
export interface PausedRequest {
	readonly method: string
	readonly url: string
}

export class Pauses {
	readonly settings: HttpSettings
	readonly runtime: Runtime
	/** False if `waitMs` is certainly 0. */
	mayBePaused = false
	/** Requests that wait for the head of their response. */
	inFlight = 0
	#pausedUntil = Number.NEGATIVE_INFINITY
	/** The status of the response whose Retry-After is the current pause. */
	#pausedBy = 0
	/** When a request may be sent although the origin is paused; undefined until a request has to wait. */
	#probeAt: number | undefined
	/** The request that was sent last although the origin was paused. */
	#probe: object | undefined
	#quota: Quota | undefined
	#responses = 0

	constructor(settings: HttpSettings, runtime: Runtime) {
		this.settings = settings
		this.runtime = runtime
	}

	/** Returns how long requests have to wait because of Retry-After or the quota; 0 if a request may be sent now. */
	waitMs(now: number): number {
		const waitMs = this.#waitMs(now)
		if (waitMs === 0) {
			this.mayBePaused = this.#quota !== undefined
			this.#probeAt = undefined
		} else this.#probeAt ??= now + this.settings.maxPauseMs
		return waitMs
	}

	/** Returns the time until a request may be sent although the origin is paused. */
	probeInMs(now: number): number {
		return Math.max(0, (this.#probeAt ?? Infinity) - now)
	}

	/** Sends a request although the origin is paused. A probe that never ends does not prevent the next one. */
	startProbe(request: object, now: number): void {
		this.#probe = request
		this.#probeAt = now + this.settings.maxPauseMs
	}

	/** Ends the pause if this request was a probe and the server handled it. What it says about its quota is read afterwards. */
	endProbe(request: object, isHandled: boolean): void {
		if (this.#probe !== request) return
		this.#probe = undefined
		if (!isHandled) return
		this.#pausedUntil = Number.NEGATIVE_INFINITY
		this.#quota = undefined
	}

	/** The same for statistics. */
	get pausedForMs(): number {
		return this.#waitMs(this.runtime.now())
	}

	/** Pauses all requests that share this state, unless a longer pause is active. An origin may pause only those like `request`. */
	pause(forMs: number, status: number, _request: PausedRequest): void {
		const now = this.runtime.now()
		if (this.#waitMs(now) === 0) this.#probeAt = undefined
		const until = now + forMs
		if (until > this.#pausedUntil) {
			this.#pausedUntil = until
			this.#pausedBy = status
		}
		this.mayBePaused = true
	}

	/** Returns what makes a request wait longest: this state, or a part of it. */
	blockerOf(_request: PausedRequest, _now: number): Pauses {
		return this
	}

	/** Returns what a wait is caused by, and the option that changes it, for a message. */
	describe(waitMs: number, now: number): string {
		const isQuota = this.#pausedUntil <= now
		const cause = isQuota ? 'RateLimit headers' : `the Retry-After of a ${this.#pausedBy}`
		const option = isQuota ? 'honorRateLimit: false ignores them' : 'pauseScope sets which requests wait'
		return `paused by ${cause}, ${formatMs(waitMs)} left (${option})`
	}

	/** Counts a request that is being sent. */
	onRequest(): void {
		this.inFlight++
		if (this.#quota) this.#quota.spend(this.runtime.now())
	}

	/** Reads the quota from a response. */
	readQuota(response: HttpResponse): void {
		const isLimited = response.status === 429
		if (!this.settings.honorRateLimit) return
		const isChecked =
			this.mayBePaused ||
			++this.#responses <= ALWAYS_CHECKED ||
			this.#responses % CHECK_INTERVAL === 0 ||
			isLimited
		if (!isChecked) return
		const report = readQuota(headersOf(response), this.runtime.wallNow(), isLimited)
		if (!report) return
		this.#quota ??= new Quota()
		this.#quota.report(this.runtime.now(), report, this.inFlight)
		this.mayBePaused = true
	}

	#waitMs(now: number): number {
		return Math.max(0, this.#pausedUntil - now, this.#quota?.waitMs(now) ?? 0)
	}
}
