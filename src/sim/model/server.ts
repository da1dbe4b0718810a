/**
 * Workers with a queue before them. A server does not know whether anybody still waits for an answer, and works all the
 * same: that is where retry storms get their force from. Only one that is told to drop what has expired looks before it
 * begins.
 */
import { type Distribution, meanOf, type Sampler, sampler } from '../kernel/distribution.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { ServiceMeter, TurnedAway } from '../measure/service-meter.ts'
import type { ServerModel } from '../scenario/scenario.ts'
import { type Failure, refusedConnection, resetConnection, status } from './failures.ts'
import { FaultSchedule } from './fault-schedule.ts'
import { RateLimit } from './rate-limit.ts'
import type { Receiver, Request } from './request.ts'
import { RingQueue } from './ring-queue.ts'

/** Asks other services for a request, and answers with a failure or with nothing. */
export type Ask = (request: Request, done: (failure: Failure | undefined) => void) => void

export class Server implements Receiver {
	readonly passesContext: boolean
	readonly workers: number
	readonly capacityPerSecond: number | null
	readonly #world: EventLoop
	readonly #meter: ServiceMeter
	readonly #serviceTime: Sampler
	readonly #latency: Sampler | undefined
	readonly #chance: () => number
	readonly #weather: FaultSchedule
	readonly #rateLimit: RateLimit | undefined
	readonly #line = new RingQueue<Request>()
	readonly #limit: number
	readonly #isLifo: boolean
	readonly #dropsExpired: boolean
	readonly #maxAgeMs: number
	/** At a worker; kept only where an outage may lose them. */
	readonly #begun: Set<Request> | undefined
	readonly #ask: Ask | undefined
	#busy = 0

	constructor(world: EventLoop, name: string, model: ServerModel, meter: ServiceMeter, ask: Ask | undefined) {
		const { workers = 1, queue = {}, faults = [], rateLimit, serviceTime } = model
		const path = `services.${name}`
		this.#world = world
		this.#meter = meter
		this.#ask = ask
		this.passesContext = model.dependsOn?.some((one) => one.passContext) ?? false
		this.workers = workers
		const capacity = Math.min((workers / meanOf(serviceTime)) * 1_000, rateLimit?.perSecond ?? Infinity)
		this.capacityPerSecond = ask || capacity === Infinity ? null : capacity
		this.#serviceTime = sampler(serviceTime, world.stream(`${path} service`))
		this.#latency = latencyOf(model.latency, world, path)
		this.#chance = world.stream(`${path} errors`)
		this.#rateLimit = rateLimit && new RateLimit(rateLimit)
		this.#limit = queue.limit ?? Infinity
		this.#isLifo = queue.order === 'lifo'
		this.#dropsExpired = queue.dropExpired === true
		this.#maxAgeMs = queue.maxAgeMs ?? Infinity
		this.#begun = faults.some(({ kind }) => kind === 'outage') ? new Set() : undefined
		this.#weather = new FaultSchedule(world, faults, () => this.#goDown())
	}

	send(request: Request): void {
		const world = this.#world
		this.#meter.send(world.now())
		if (this.#latency) world.after(this.#latency(), () => this.#receive(request))
		else this.#receive(request)
	}

	#receive(request: Request): void {
		const now = this.#world.now()
		const { outage } = this.#weather
		const isFree = this.#busy < this.workers
		if (outage) this.#turnAway(request, 'unreachable', outage === 'refuse' ? refusedConnection() : undefined)
		else if (this.#rateLimit && !this.#rateLimit.take(now))
			this.#turnAway(request, 'rateLimited', status(429, this.#rateLimit.retryAfterMs))
		else if (!isFree && this.#line.length >= this.#limit) this.#turnAway(request, 'rejected', status(503))
		else {
			request.arrivedAt = now
			this.#meter.admit(now)
			if (isFree) this.#begin(request)
			else this.#wait(request)
		}
	}

	#wait(request: Request): void {
		this.#line.push(request)
		this.#meter.enqueue(this.#world.now())
	}

	/** Without a failure nobody is told. */
	#turnAway(request: Request, why: TurnedAway, failure: Failure | undefined): void {
		this.#meter.turnAway(this.#world.now(), why)
		if (failure) this.#reply(request, failure)
	}

	#begin(request: Request): void {
		const now = this.#world.now()
		this.#busy++
		this.#meter.busy.enter(now)
		this.#begun?.add(request)
		request.startedAt = now
		if (this.#ask) this.#askFirst(request, this.#ask)
		else this.#work(request)
	}

	#askFirst(request: Request, ask: Ask): void {
		const answered = (failure: Failure | undefined) => {
			if (request.isLost) return
			if (failure) this.#finish(request, failure)
			else this.#work(request)
		}
		let isNow = true
		// At once only by way of an event: a long queue of requests that fail at once would be a deep stack.
		ask(request, (failure) => {
			if (isNow) this.#world.after(0, () => answered(failure))
			else answered(failure)
		})
		isNow = false
	}

	#work(request: Request): void {
		this.#world.after(this.#serviceTime() * this.#weather.slowdown, () => {
			if (request.isLost) return
			const { errorRate, errorStatus } = this.#weather
			const fails = errorRate > 0 && this.#chance() < errorRate
			this.#finish(request, fails ? status(errorStatus) : undefined)
		})
	}

	/** Those who wait come before those who will come because of this answer. */
	#finish(request: Request, failure: Failure | undefined): void {
		const now = this.#world.now()
		this.#begun?.delete(request)
		this.#leave(request)
		this.#meter.finish(now, now - request.startedAt, failure === undefined, request.isAwaited)
		this.#takeNext()
		this.#reply(request, failure)
	}

	#leave(request: Request): void {
		const now = this.#world.now()
		this.#busy--
		this.#meter.busy.leave(now)
		this.#meter.release(now, request.arrivedAt)
	}

	#takeNext(): void {
		const tooOld: Request[] = []
		for (let next = this.#waiting(); next; next = this.#waiting()) {
			const now = this.#world.now()
			if (!this.#isStale(next)) {
				this.#meter.age.record(now - next.arrivedAt)
				this.#begin(next)
				break
			}
			this.#meter.release(now, next.arrivedAt)
			this.#meter.turnAway(now, 'dropped')
			if (next.isAwaited) tooOld.push(next)
		}
		// Told when the worker has been given away: who comes again at once would find it free, and it would have two.
		for (const request of tooOld) this.#reply(request, status(503))
	}

	#isStale(request: Request): boolean {
		if (this.#world.now() - request.arrivedAt > this.#maxAgeMs) return true
		return this.#dropsExpired && !request.isAwaited
	}

	#waiting(): Request | undefined {
		const next = this.#isLifo ? this.#line.pop() : this.#line.shift()
		if (next) this.#meter.dequeue(this.#world.now())
		return next
	}

	/** The process is gone, and with it all that it was working on. */
	#goDown(): void {
		const now = this.#world.now()
		const isTold = this.#weather.outage === 'refuse'
		const lost = [...(this.#begun ?? [])]
		this.#begun?.clear()
		for (const request of lost) {
			this.#leave(request)
			this.#meter.finish(now, now - request.startedAt, false, false)
		}
		for (let next = this.#waiting(); next; next = this.#waiting()) {
			this.#meter.release(now, next.arrivedAt)
			this.#meter.turnAway(now, 'unreachable')
			lost.push(next)
		}
		for (const request of lost) {
			request.isLost = true
			if (isTold) this.#reply(request, resetConnection())
		}
	}

	#reply(request: Request, failure: Failure | undefined): void {
		if (this.#latency) this.#world.after(this.#latency(), () => request.answer(failure))
		else request.answer(failure)
	}
}

/** None where there is none: an event less on each way. */
export function latencyOf(
	law: Distribution | undefined,
	world: EventLoop,
	path: string,
): Sampler | undefined {
	return law === undefined || law === 0 ? undefined : sampler(law, world.stream(`${path} latency`))
}
