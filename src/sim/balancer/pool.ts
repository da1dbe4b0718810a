/**
 * The instances of a service behind a load balancer. Each instance is a complete server with its own workers,
 * queue and faults; the pool only chooses. A server with n times the workers was rejected as a model: its
 * single queue hides what a slow instance, an uneven distribution and a restart cost.
 */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { InstanceResult } from '../measure/result.ts'
import { TimeWeightedCount } from '../measure/time-weighted-count.ts'
import { type Failure, status } from '../model/failures.ts'
import type { Receiver, Request, RequestObserver } from '../model/request.ts'
import type { Server } from '../model/server.ts'
import type { EjectionModel, LoadBalancerModel } from '../scenario/scenario.ts'
import { STRATEGIES, type Strategy } from './strategy.ts'

/** When the load balancer sends nothing to an instance. */
export interface Drain {
	readonly fromMs: number
	readonly toMs: number
}

/** Creates an instance. `drains` are the times in which it gets no requests. */
export type CreateInstance = (index: number) => { readonly server: Server; readonly drains: readonly Drain[] }

export class InstancePool implements Receiver {
	readonly passesContext: boolean
	/** All instances, including stopped ones, in the order in which they were started. */
	readonly #instances: Instance[] = []
	/** The number of instances that are not being stopped, over time. */
	readonly size: TimeWeightedCount = new TimeWeightedCount()
	readonly workersEach: number
	readonly #capacityEach: number | null
	readonly #loop: EventLoop
	readonly #choose: Strategy
	readonly #ejection: EjectionModel | undefined
	readonly #create: CreateInstance
	/** The instances that get requests; undefined if the list may have changed. */
	#available: readonly Instance[] | undefined
	/** When the first ejected instance returns. */
	#validUntil = Infinity

	constructor(
		loop: EventLoop,
		path: string,
		model: LoadBalancerModel,
		count: number,
		create: CreateInstance,
	) {
		this.#loop = loop
		this.#create = create
		this.#choose = STRATEGIES[model.strategy ?? 'round-robin'](loop.stream(`${path} balancer`))
		this.#ejection = model.ejection
		const servers = Array.from({ length: count }, () => this.#add())
		this.passesContext = servers.some(({ passesContext }) => passesContext)
		this.workersEach = servers[0]?.workers ?? 0
		this.#capacityEach = servers[0]?.capacityPerSecond ?? null
	}

	send(request: Request): void {
		const available = this.#find()
		if (available.length > 0) this.#choose(available).send(request)
		// Load balancers respond with 503 while all instances are being restarted.
		else request.end(NO_INSTANCE)
	}

	/** Starts another instance, or one that was stopped before. */
	start(): void {
		const stopped = this.#instances.find(({ isLeaving }) => isLeaving)
		if (!stopped) this.#add()
		else {
			stopped.isLeaving = false
			this.size.enter(this.#loop.now())
		}
		this.#available = undefined
	}

	/** Stops the newest instance: it finishes what it has and gets no more requests. */
	stop(): void {
		const newest = this.#instances.findLast(({ isLeaving }) => !isLeaving)
		if (!newest) return
		newest.isLeaving = true
		this.size.leave(this.#loop.now())
		this.#available = undefined
	}

	/** Mean over the time so far. */
	get workers(): number {
		const now = this.#loop.now()
		return this.workersEach * (now > 0 ? this.size.area(now) / now : this.size.current)
	}

	get capacityPerSecond(): number | null {
		return this.#capacityEach === null ? null : this.#capacityEach * this.size.current
	}

	results(): readonly InstanceResult[] {
		return this.#instances.map(({ requests, failures, ejections }) => ({ requests, failures, ejections }))
	}

	#add(): Server {
		const loop = this.#loop
		const { server, drains } = this.#create(this.#instances.length)
		const instance = new Instance(server, (failing) => this.#ejection && this.#judge(failing, this.#ejection))
		this.#instances.push(instance)
		this.size.enter(loop.now())
		for (const { fromMs, toMs } of drains) {
			const setDraining = (isDraining: boolean) => () => {
				instance.isDraining = isDraining
				this.#available = undefined
			}
			loop.after(fromMs, setDraining(true))
			loop.after(toMs, setDraining(false))
		}
		return server
	}

	/**
	 * Outlier ejection, as in Envoy: an instance that has failed several times in a row gets no requests for a
	 * while. A limit on the share of ejected instances keeps a fault of all of them from emptying the pool: the
	 * remaining ones would get the whole load.
	 */
	#judge(instance: Instance, model: EjectionModel): void {
		const { consecutiveFailures = 5, ejectMs = 30_000, maxEjectedShare = 0.5 } = model
		const now = this.#loop.now()
		if (instance.consecutiveFailures < consecutiveFailures || instance.ejectedUntil > now) return
		const active = this.#instances.filter(({ isLeaving }) => !isLeaving)
		const ejected = active.filter(({ ejectedUntil }) => ejectedUntil > now).length
		// One instance always remains, whatever the share says.
		if (ejected + 1 > maxEjectedShare * active.length || ejected + 1 >= active.length) return
		instance.ejections++
		instance.consecutiveFailures = 0
		instance.ejectedUntil = now + ejectMs * instance.ejections
		this.#available = undefined
	}

	/** The list is kept while no instance starts, stops, drains, is ejected or returns: a list for each request would cost more than the choice. */
	#find(): readonly Instance[] {
		const now = this.#loop.now()
		if (this.#available && now < this.#validUntil) return this.#available
		this.#available = this.#instances.filter((instance) => instance.acceptsAt(now))
		this.#validUntil = this.#instances.reduce(
			(first, { ejectedUntil }) => (ejectedUntil > now ? Math.min(first, ejectedUntil) : first),
			Infinity,
		)
		return this.#available
	}
}

const NO_INSTANCE: Failure = status(503)

/** One process of a service, as the load balancer sees it: it counts what it has sent and what has come back. */
class Instance implements RequestObserver {
	readonly #server: Receiver
	readonly #onFailure: (instance: Instance) => void
	/** Requests without a response whose callers still wait. */
	outstanding = 0
	requests = 0
	failures = 0
	/** Failures since the last success. */
	consecutiveFailures = 0
	ejections = 0
	/** Gets no requests before this time. */
	ejectedUntil = 0
	/** True: it is about to restart. */
	isDraining = false
	/** True: it is not needed, finishes what it has and stops. */
	isLeaving = false

	constructor(server: Receiver, onFailure: (instance: Instance) => void) {
		this.#server = server
		this.#onFailure = onFailure
	}

	acceptsAt(now: number): boolean {
		return !this.isLeaving && !this.isDraining && this.ejectedUntil <= now
	}

	send(request: Request): void {
		this.requests++
		this.outstanding++
		request.observer = this
		this.#server.send(request)
	}

	ended(failure: Failure | undefined): void {
		this.outstanding--
		if (failure !== undefined && isOwnFailure(failure)) this.#fail()
		else this.consecutiveFailures = 0
	}

	aborted(): void {
		this.outstanding--
		this.#fail()
	}

	#fail(): void {
		this.failures++
		this.consecutiveFailures++
		this.#onFailure(this)
	}
}

/** A status below 500 is the fault of the request. */
const isOwnFailure = (failure: Failure): boolean => !('statusCode' in failure) || failure.statusCode >= 500
