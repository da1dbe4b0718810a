/**
 * A row that is written with optimistic concurrency: read its version, write if it is still the same. The model of the
 * article that made jitter known; every client that loses the race has to begin again with a read.
 */
import type { Sampler } from '../kernel/distribution.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { ServiceMeter } from '../measure/service-meter.ts'
import type { OptimisticLockModel } from '../scenario/scenario.ts'
import { conflict } from './failures.ts'
import type { Receiver, Request } from './request.ts'
import { latencyOf } from './server.ts'

const NO_TIME: Sampler = () => 0

export class OptimisticLock implements Receiver {
	readonly passesContext: boolean = false
	readonly workers: number = Infinity
	readonly capacityPerSecond: number | null = null
	readonly #world: EventLoop
	readonly #meter: ServiceMeter
	readonly #latency: Sampler
	#version = 0

	constructor(world: EventLoop, name: string, model: OptimisticLockModel, meter: ServiceMeter) {
		this.#world = world
		this.#meter = meter
		this.#latency = latencyOf(model.latency, world, `services.${name}`) ?? NO_TIME
	}

	/** Four messages: the read, its answer, the write, its answer. */
	send(request: Request): void {
		let read = -1
		this.#message(() => {
			read = this.#version
			this.#message(() => this.#message(() => this.#write(request, read)))
		})
	}

	#write(request: Request, read: number): void {
		const now = this.#world.now()
		const ok = read === this.#version
		if (ok) this.#version++
		this.#meter.send(now)
		this.#meter.finish(now, 0, ok, request.isAwaited)
		this.#message(() => request.answer(ok ? undefined : conflict()))
	}

	#message(arrive: () => void): void {
		this.#world.after(this.#latency(), arrive)
	}
}
