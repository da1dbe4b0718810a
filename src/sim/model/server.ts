/**
 * Workers behind a queue. A server does not know whether the caller still waits, and processes the request
 * anyway: this wasted work is what makes retry storms self-sustaining. Only with `dropExpired` does it check
 * before it starts.
 */
import { type Distribution, meanOf, type Sampler, sampler } from '../kernel/distribution.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { RejectReason, ServiceMeter } from '../measure/service-meter.ts'
import type { RateLimitModel, ScalabilityModel, ServerModel } from '../scenario/scenario.ts'
import { type Failure, refusedConnection, resetConnection, status } from './failures.ts'
import { combineErrors, type ErrorsFault, FaultSchedule, type OutageMode } from './fault-schedule.ts'
import type { Receiver, Request } from './request.ts'
import { RequestQueue } from './request-queue.ts'

/** Calls the dependencies that a request needs, and reports the first failure, if any. */
export type CallDependencies = (request: Request, done: (failure: Failure | undefined) => void) => void

export class Server implements Receiver {
	readonly passesContext: boolean
	readonly workers: number
	readonly capacityPerSecond: number | null
	readonly #loop: EventLoop
	readonly #meter: ServiceMeter
	readonly #serviceTimeMs: Sampler
	readonly #scalability: ScalabilityModel | undefined
	readonly #latency: Sampler | undefined
	readonly #random: () => number
	readonly #faults: FaultSchedule
	readonly #rateLimit: RateLimit | undefined
	readonly #queue: RequestQueue
	readonly #queueLimit: number
	readonly #dropsExpired: boolean
	readonly #maxAgeMs: number
	/** Requests being processed; recorded only where an outage may lose them. */
	readonly #inProgress: Set<Request> | undefined
	readonly #callDependencies: CallDependencies | undefined
	/** What continues when a pause ends; undefined where there is none. */
	readonly #paused: (() => void)[] | undefined
	#busy = 0

	constructor(
		loop: EventLoop,
		name: string,
		model: ServerModel,
		meter: ServiceMeter,
		callDependencies: CallDependencies | undefined,
	) {
		const { workers = 1, queue = {}, faults = [], rateLimit, serviceTimeMs, scalability } = model
		const path = `services.${name}`
		this.#loop = loop
		this.#meter = meter
		this.#callDependencies = callDependencies
		this.passesContext = model.dependsOn?.some(({ passContext }) => passContext) ?? false
		this.workers = workers
		this.#scalability = scalability
		const meanMs = meanOf(serviceTimeMs) * (scalability ? scalabilityFactor(scalability, workers) : 1)
		const capacity = Math.min((workers / meanMs) * 1_000, rateLimit?.perSecond ?? Infinity)
		// Without a limit on workers, the quotient of two infinite numbers is not a number.
		this.capacityPerSecond = callDependencies || !(capacity < Infinity) ? null : capacity
		this.#serviceTimeMs = sampler(serviceTimeMs, loop.stream(`${path} service`))
		this.#latency = latencySampler(model.latencyMs, loop, path)
		this.#random = loop.stream(`${path} errors`)
		this.#rateLimit = rateLimit && new RateLimit(rateLimit)
		this.#queueLimit = queue.limit ?? Infinity
		this.#queue = new RequestQueue(queue.order ?? 'fifo')
		this.#dropsExpired = queue.dropExpired === true
		this.#maxAgeMs = queue.maxAgeMs ?? Infinity
		this.#inProgress = faults.some(({ kind }) => kind === 'outage' || kind === 'restart')
			? new Set()
			: undefined
		this.#paused = faults.some(({ kind }) => kind === 'pause') ? [] : undefined
		this.#faults = new FaultSchedule(loop, faults, {
			onOutage: () => this.#goDown(),
			onResume: () => this.#resume(),
		})
	}

	send(request: Request): void {
		const loop = this.#loop
		this.#meter.send(loop.now())
		if (this.#latency) loop.after(this.#latency(), () => this.#receive(request))
		else this.#receive(request)
	}

	#receive(request: Request): void {
		const now = this.#loop.now()
		const { isPaused } = this.#faults
		const outage = this.#faults.outage ?? this.#drawOutage()
		const isFree = this.#busy < this.workers && !isPaused
		if (outage) this.#reject(request, 'unreachable', outage === 'refuse' ? refusedConnection() : undefined)
		else if (this.#rateLimit && !this.#rateLimit.take(now))
			this.#reject(request, 'rateLimited', status(429, this.#rateLimit.retryAfterMs))
		else if (!isFree && this.#queue.length >= this.#queueLimit) this.#reject(request, 'rejected', status(503))
		else {
			request.arrivedAt = now
			this.#meter.admit(now)
			if (isFree) this.#start(request)
			else this.#enqueue(request)
		}
	}

	/** Returns the mode of the outage that hits a new request while only a share of them is lost. */
	#drawOutage(): OutageMode | undefined {
		return this.#faults.partialOutages?.find(({ share }) => this.#random() < share)?.mode
	}

	#enqueue(request: Request): void {
		this.#queue.push(request)
		this.#meter.enqueue(this.#loop.now())
	}

	/** Without a failure the caller gets no response. */
	#reject(request: Request, reason: RejectReason, failure: Failure | undefined): void {
		this.#meter.reject(this.#loop.now(), reason)
		if (failure) this.#reply(request, failure)
	}

	#start(request: Request): void {
		const now = this.#loop.now()
		this.#busy++
		this.#meter.startWork(now)
		this.#inProgress?.add(request)
		request.startedAt = now
		if (this.#callDependencies) this.#workAfter(this.#callDependencies, request)
		else this.#work(request)
	}

	#workAfter(callDependencies: CallDependencies, request: Request): void {
		const done = (failure: Failure | undefined) => {
			if (request.isLost) return
			if (this.#faults.isPaused) this.#paused?.push(() => done(failure))
			else if (failure) this.#finish(request, failure)
			else this.#work(request)
		}
		let isSync = true
		// A synchronous result continues in an event of its own: a long queue of immediate failures would
		// overflow the stack.
		callDependencies(request, (failure) => {
			if (isSync) this.#loop.after(0, () => done(failure))
			else done(failure)
		})
		isSync = false
	}

	#work(request: Request): void {
		let workMs = this.#serviceTimeMs() * this.#faults.slowdown
		if (request.requestClass) workMs *= request.requestClass.serviceTimeFactor
		if (this.#scalability) workMs *= scalabilityFactor(this.#scalability, this.#busy)
		if (this.#paused) {
			const endsAt = this.#faults.activeMs + workMs
			this.#loop.after(workMs, () => this.#workUntil(endsAt, request))
		} else this.#loop.after(workMs, () => this.#complete(request))
	}

	/** Completes a request when the service has been active until then: pauses do not count. */
	#workUntil(activeMs: number, request: Request): void {
		if (request.isLost) return
		const now = this.#loop.now()
		const leftMs = activeMs - this.#faults.activeMs
		// A rest below the resolution of the clock would never end.
		if (now + leftMs <= now) this.#complete(request)
		else if (this.#faults.isPaused) this.#paused?.push(() => this.#workUntil(activeMs, request))
		else this.#loop.after(leftMs, () => this.#workUntil(activeMs, request))
	}

	#complete(request: Request): void {
		if (request.isLost) return
		this.#finish(request, this.#faults.errors ? this.#drawError(this.#faults.errors, request) : undefined)
	}

	#drawError(faults: readonly ErrorsFault[], { requestClass }: Request): Failure | undefined {
		const { rate, status: code } = combineErrors(faults, requestClass?.name)
		return rate > 0 && this.#random() < rate ? status(code) : undefined
	}

	/** Starts the next queued request before replying, so that a retry caused by the reply does not overtake the queue. */
	#finish(request: Request, failure: Failure | undefined): void {
		const now = this.#loop.now()
		this.#inProgress?.delete(request)
		this.#leave(request)
		this.#meter.finish(
			now,
			now - request.startedAt,
			failure === undefined,
			request.isAwaited,
			request.arrivedAt,
		)
		this.#startNext()
		this.#reply(request, failure)
	}

	#leave(request: Request): void {
		const now = this.#loop.now()
		this.#busy--
		this.#meter.endWork(now)
		this.#meter.release(now, request.arrivedAt)
	}

	/** A pause is over: work continues, and free workers take what was queued meanwhile. */
	#resume(): void {
		for (const proceed of this.#paused?.splice(0) ?? []) proceed()
		while (this.#busy < this.workers && this.#queue.length > 0) this.#startNext()
	}

	#startNext(): void {
		if (this.#faults.isPaused) return
		const dropped: Request[] = []
		for (let next = this.#dequeue(); next; next = this.#dequeue()) {
			const now = this.#loop.now()
			if (!this.#isStale(next)) {
				this.#meter.startQueued(now, next.arrivedAt)
				this.#start(next)
				break
			}
			this.#meter.release(now, next.arrivedAt)
			this.#meter.reject(now, 'dropped', next.arrivedAt)
			if (next.isAwaited) dropped.push(next)
		}
		// After the worker is taken: a caller that retries immediately would otherwise find it free, and two
		// requests would share it.
		for (const request of dropped) this.#reply(request, status(503))
	}

	#isStale(request: Request): boolean {
		if (this.#loop.now() - request.arrivedAt > this.#maxAgeMs) return true
		return this.#dropsExpired && !request.isAwaited
	}

	#dequeue(): Request | undefined {
		const next = this.#queue.take()
		if (next) this.#meter.dequeue(this.#loop.now(), next.arrivedAt)
		return next
	}

	/** The process crashes and loses everything it was processing. */
	#goDown(): void {
		const now = this.#loop.now()
		const isReset = this.#faults.outage === 'refuse'
		const lost = [...(this.#inProgress ?? [])]
		this.#inProgress?.clear()
		for (const request of lost) {
			this.#leave(request)
			this.#meter.finish(now, now - request.startedAt, false, false, request.arrivedAt)
		}
		for (let next = this.#dequeue(); next; next = this.#dequeue()) {
			this.#meter.release(now, next.arrivedAt)
			this.#meter.reject(now, 'unreachable', next.arrivedAt)
			lost.push(next)
		}
		for (const request of lost) {
			request.isLost = true
			if (isReset) this.#reply(request, resetConnection())
		}
	}

	#reply(request: Request, failure: Failure | undefined): void {
		if (this.#latency) this.#loop.after(this.#latency(), () => request.end(failure))
		else request.end(failure)
	}
}

/** Returns undefined without latency, which saves an event in each direction. */
export function latencySampler(
	latency: Distribution | undefined,
	loop: EventLoop,
	path: string,
): Sampler | undefined {
	return latency === undefined || latency === 0 ? undefined : sampler(latency, loop.stream(`${path} latency`))
}

/**
 * The Universal Scalability Law (Gunther): by which factor a request takes longer if `inProgress` requests
 * are processed concurrently. They wait for each other's locks (contention, one term per other request), and
 * for data to be consistent (coherency, one term per pair). With n of them, throughput is n / (1 + contention
 * (n - 1) + coherency n (n - 1)) times that of one.
 */
export const scalabilityFactor = (
	{ contention = 0, coherency = 0 }: ScalabilityModel,
	inProgress: number,
): number => 1 + (inProgress - 1) * (contention + coherency * inProgress)

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

	take(now: number): boolean {
		this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs)
		this.#at = now
		if (this.#tokens < 1 - 1e-9) return false
		this.#tokens -= 1
		return true
	}

	/** Milliseconds until the next token, for the Retry-After header. */
	get retryAfterMs(): number | undefined {
		return this.#sendsRetryAfter ? Math.ceil((1 - this.#tokens) / this.#perMs) : undefined
	}
}
