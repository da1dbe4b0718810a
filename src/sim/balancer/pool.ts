/**
 * The instances of a service behind a load balancer. Each instance is a complete server with its own workers, queue and faults; the
 * pool only chooses. A server with n times the workers was rejected as a model: its single queue hides what a slow instance, an
 * uneven distribution and a restart cost.
 */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { InstanceResult } from '../measure/result.ts'
import { TimeWeightedCount } from '../measure/time-weighted-count.ts'
import { type Failure, status } from '../model/failures.ts'
import type { Receiver, Request } from '../model/request.ts'
import type { Server } from '../model/server.ts'
import type { LoadBalancerModel } from '../scenario/balancer-model.ts'
import { Ejection } from './ejection.ts'
import { Instance } from './instance.ts'
import type { Drain } from './instance-faults.ts'
import { STRATEGIES, type Strategy } from './strategy.ts'

/** Creates an instance. `drains` are the times in which it gets no requests. */
export type CreateInstance = (index: number) => { readonly server: Server; readonly drains: readonly Drain[] }

export class InstancePool implements Receiver {
	readonly passesContext: boolean
	/** Also those that have been stopped, in the order in which they were started. */
	readonly instances: Instance[] = []
	/** The number of instances that are not being stopped, over time. */
	readonly size: TimeWeightedCount = new TimeWeightedCount()
	/** Workers of one instance. */
	readonly workersEach: number
	readonly #capacityEach: number | null
	readonly #loop: EventLoop
	readonly #choose: Strategy
	readonly #ejection: Ejection | undefined
	readonly #create: CreateInstance
	/** Those that get requests; undefined if that may have changed. */
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
		this.#ejection =
			model.ejection &&
			new Ejection(model.ejection, {
				now: () => loop.now(),
				instances: this.instances,
				onEject: () => this.#refresh(),
			})
		const servers = Array.from({ length: count }, () => this.#add())
		this.passesContext = servers.some(({ passesContext }) => passesContext)
		this.workersEach = servers[0]?.workers ?? 0
		this.#capacityEach = servers[0]?.capacityPerSecond ?? null
	}

	send(request: Request): void {
		const available = this.#find()
		if (available.length > 0) this.#choose(available).send(request)
		// As load balancers do if all instances are being restarted.
		else request.end(NO_INSTANCE)
	}

	/** Starts another instance, or one that was stopped before. */
	start(): void {
		const stopped = this.instances.find(({ isLeaving }) => isLeaving)
		if (!stopped) this.#add()
		else {
			stopped.isLeaving = false
			this.size.enter(this.#loop.now())
		}
		this.#refresh()
	}

	/** Stops the newest instance: it finishes what it has and gets no more requests. */
	stop(): void {
		const newest = this.instances.findLast(({ isLeaving }) => !isLeaving)
		if (!newest) return
		newest.isLeaving = true
		this.size.leave(this.#loop.now())
		this.#refresh()
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
		return this.instances.map(({ requests, failures, ejections }) => ({ requests, failures, ejections }))
	}

	#add(): Server {
		const loop = this.#loop
		const { server, drains } = this.#create(this.instances.length)
		const instance = new Instance(server, this.#ejection)
		this.instances.push(instance)
		this.size.enter(loop.now())
		for (const { fromMs, toMs } of drains) {
			const setDraining = (isDraining: boolean) => () => {
				instance.isDraining = isDraining
				this.#refresh()
			}
			loop.after(fromMs, setDraining(true))
			loop.after(toMs, setDraining(false))
		}
		return server
	}

	#refresh(): void {
		this.#available = undefined
	}

	/** The list is kept while no instance starts, stops, drains, is ejected or returns: a list for each request would cost more than the choice. */
	#find(): readonly Instance[] {
		const now = this.#loop.now()
		if (this.#available && now < this.#validUntil) return this.#available
		this.#available = this.instances.filter((instance) => instance.acceptsAt(now))
		this.#validUntil = this.instances.reduce(
			(first, { ejectedUntil }) => (ejectedUntil > now ? Math.min(first, ejectedUntil) : first),
			Infinity,
		)
		return this.#available
	}
}

const NO_INSTANCE: Failure = status(503)
