/**
 * The state of one origin apart from its policies. Its quota applies to all requests, and so does its pause, unless `pauseScope` says
 * otherwise. With `'auto'` a 429 pauses the origin, because servers limit clients and not routes. A 5xx pauses requests with the same
 * method and path, because one part of a service may be down while the others work; a second path that asks for a pause soon after the first
 * shows that the origin as a whole is down.
 */
import type { CircuitBreakerLayer } from '../../core/circuit-breaker/layer.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { pageOrigin } from '../transport/page.ts'
import type { PreparedRequest } from '../transport/prepared-request.ts'
import { urlForMessage } from './origin-parser.ts'
import { type PausedRequest, Pauses } from './pauses.ts'

/** The other origins of a client. */
export interface OtherOrigins {
	/** Finds the state of another origin, if the client keeps one. */
	findOrigin(name: string): Origin | undefined
	/** Returns the circuit of the target of a redirect, if there is one, and the circuit of the pair of the request's origin and the target. */
	redirectCircuits(request: PreparedRequest, target: string): (CircuitBreakerLayer | undefined)[]
}

/** Two different paths that ask for a pause within this time pause their origin. */
const SAME_OUTAGE_MS = 10_000

/** Beyond this number the route that was paused first is forgotten: one more request shows whether it is still down. */
const MAX_ROUTES = 100

/** A segment of a path that is an id rather than a name: it has a digit, other than `v1` or `oauth2`. */
const ID = /^(?![a-z]+\d{1,2}$).*\d/i

/** Returns the path with a placeholder for each id: `/orders/17` and `/orders/18` are served by the same code. */
const pathOf = (url: string): string =>
	urlForMessage(url).replace(/[^/]+/g, (part) => (ID.test(part) ? '*' : part))

export class Origin extends Pauses {
	readonly name: string
	/** False in a browser for another origin, where custom headers need the server's consent (CORS). */
	readonly mayAddHeaders: boolean
	/** Call it after a failure without a response. */
	readonly watchConnection: () => void
	readonly others: OtherOrigins
	/** Paused routes, keyed by method and path, first pause first. Empty when all pauses are over. */
	readonly #routes = new Map<string, Pauses>()
	#routesUntil = Number.NEGATIVE_INFINITY
	/** The last path that asked for a pause with a 5xx, and when. */
	#lastPath = ''
	#lastAt = Number.NEGATIVE_INFINITY

	constructor(
		name: string,
		settings: HttpSettings,
		runtime: Runtime,
		watchConnection: () => void,
		others: OtherOrigins,
	) {
		super(settings, runtime)
		this.name = name
		this.watchConnection = watchConnection
		this.others = others
		const page = pageOrigin()
		this.mayAddHeaders = settings.isDeadlineHeaderNamed || page === undefined || page === name
	}

	/** Returns this origin or, after a redirect, the one with this name. Undefined if the client keeps no state for it. */
	respondent(name: string | undefined): Origin | undefined {
		return name === undefined || name === this.name ? this : this.others.findOrigin(name)
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
