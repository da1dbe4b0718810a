/** How long requests wait: the pause (Retry-After) and the quota (RateLimit headers) of an origin. */

import type { CircuitBreakerLayer } from '../../core/circuit-breaker/layer.ts'
import { formatMs } from '../../core/errors/errors.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { readQuota } from '../headers/rate-limit-headers.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { page } from '../transport/browser.ts'
import type { PreparedRequest } from '../transport/request.ts'
import { type HttpResponse, headersOf } from '../transport/response.ts'
import { urlForMessage } from './origin-parser.ts'
import { Quota } from './quota.ts'

/** If the first responses have no RateLimit headers, only every 32nd response is checked: lookups cost. */
const ALWAYS_CHECKED = 8
const CHECK_INTERVAL = 32

/** What a pause may depend on. */
export interface PausedRequest {
	readonly method: string
	readonly url: string
}

/** The pause and the quota of an origin, a route, a principal or a single call. */
export class Pauses {
	readonly settings: HttpSettings
	readonly runtime: Runtime
	/** False if `waitMs` is certainly 0. */
	mayBePaused = false
	/** Requests that wait for the head of their response. */
	inFlight = 0
	#pausedUntil = -Infinity
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

	/** Returns how long requests wait because of Retry-After or the quota; 0 if one may be sent now. */
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

	/** Ends the pause if this request was a probe and the server handled it. Its quota is read afterwards. */
	endProbe(request: object, isHandled: boolean): void {
		if (this.#probe !== request) return
		this.#probe = undefined
		if (!isHandled) return
		this.#pausedUntil = -Infinity
		this.#quota = undefined
	}

	/** How long requests wait, for statistics. */
	get pausedForMs(): number {
		return this.#waitMs(this.runtime.now())
	}

	/** Pauses all requests that share this state, unless a longer pause is active. */
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

/** The client of an origin. */
export interface OriginOwner {
	/** Called after a failure without a response. */
	watchConnection(): void
	/** Finds the state of another origin, if the client keeps one. */
	findOrigin(name: string): Origin | undefined
	/** Returns the circuit of the redirect's target, if it exists, and the circuit of the pair of origins. */
	redirectCircuits(request: PreparedRequest, target: string): (CircuitBreakerLayer | undefined)[]
}

/** Two different paths that ask for a pause within this time pause their origin. */
const SAME_OUTAGE_MS = 10_000

/** Beyond this number the oldest pause is forgotten: one more request shows whether it is still down. */
const MAX_ROUTES = 100

/** A segment of a path that is an id rather than a name: it has a digit, other than `v1` or `oauth2`. */
const ID = /^(?![a-z]+\d{1,2}$).*\d/i

/** Returns the path with a placeholder for each id: the same code serves `/orders/17` and `/orders/18`. */
const pathOf = (url: string): string =>
	urlForMessage(url).replace(/[^/]+/g, (part) => (ID.test(part) ? '*' : part))

/**
 * The state of one origin apart from its policies. Its quota applies to all requests, and so does its pause,
 * unless `pauseScope` says otherwise. With `'auto'` a 429 pauses the origin, because servers limit clients
 * and not routes. A 5xx pauses requests with the same method and path, because one part of a service may be
 * down while the others work; a second path that asks for a pause soon after the first shows that the origin
 * as a whole is down.
 */
export class Origin extends Pauses {
	readonly name: string
	/** False in a browser for another origin, where custom headers need the server's consent (CORS). */
	readonly mayAddHeaders: boolean
	readonly owner: OriginOwner
	/** Paused routes, keyed by method and path, first pause first. Empty when all pauses are over. */
	readonly #routes = new Map<string, Pauses>()
	#routesUntil = -Infinity
	/** The last path that asked for a pause with a 5xx, and when. */
	#lastPath = ''
	#lastAt = -Infinity

	constructor(name: string, settings: HttpSettings, runtime: Runtime, owner: OriginOwner) {
		super(settings, runtime)
		this.name = name
		this.owner = owner
		const pageOrigin = page()?.origin
		this.mayAddHeaders = settings.isDeadlineHeaderNamed || pageOrigin === undefined || pageOrigin === name
	}

	/** Returns this origin or, after a redirect, the one with this name. Undefined without state for it. */
	respondent(name: string | undefined): Origin | undefined {
		return name === undefined || name === this.name ? this : this.owner.findOrigin(name)
	}

	/** True if requests to the origin or to one of its routes have to wait. */
	get isPaused(): boolean {
		return this.pausedForMs > 0 || this.runtime.now() < this.#routesUntil
	}

	override pause(forMs: number, status: number, request: PausedRequest): void {
		if (this.settings.pauseScope !== 'auto' || status < 500) {
			super.pause(forMs, status, request)
			return
		}
		const now = this.runtime.now()
		const path = pathOf(request.url)
		const isOutage = this.#lastPath !== path && now - this.#lastAt <= SAME_OUTAGE_MS
		this.#lastPath = path
		this.#lastAt = now
		if (isOutage) super.pause(forMs, status, request)
		const routes = this.#routes
		const key = `${request.method} ${path}`
		const route = routes.get(key) ?? new Pauses(this.settings, this.runtime)
		route.pause(forMs, status, request)
		routes.set(key, route)
		const [oldest = key] = routes.keys()
		if (routes.size > MAX_ROUTES) routes.delete(oldest)
		this.#routesUntil = Math.max(this.#routesUntil, now + forMs)
		this.mayBePaused = true
	}

	override blockerOf({ method, url }: PausedRequest, now: number): Pauses {
		if (now >= this.#routesUntil) this.#routes.clear()
		const route = this.#routes.size > 0 ? this.#routes.get(`${method} ${pathOf(url)}`) : undefined
		return route && route.waitMs(now) > this.waitMs(now) ? route : this
	}

	override waitMs(now: number): number {
		const waitMs = super.waitMs(now)
		this.mayBePaused ||= now < this.#routesUntil
		return waitMs
	}

	override endProbe(request: object, isHandled: boolean): void {
		super.endProbe(request, isHandled)
		for (const route of this.#routes.values()) route.endProbe(request, isHandled)
	}
}
