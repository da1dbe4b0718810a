/**
 * A row written with optimistic concurrency: read its version, write if the version is unchanged. This is the
 * model of the article that popularized jitter. A client that loses the race starts again with a read.
 */
import type { Sampler } from '../kernel/distribution.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { ServiceMeter } from '../measure/service-meter.ts'
import type { OptimisticLockModel } from '../scenario/scenario.ts'
import { conflict } from './failures.ts'
import type { Receiver, Request } from './request.ts'
import { latencySampler } from './server.ts'

const NO_LATENCY: Sampler = () => 0

export class OptimisticLock implements Receiver {
	readonly passesContext: boolean = false
	readonly workers: number = Infinity
	readonly capacityPerSecond: number | null = null
	readonly #loop: EventLoop
	readonly #meter: ServiceMeter
	readonly #latency: Sampler
	#version = 0

	constructor(loop: EventLoop, name: string, model: OptimisticLockModel, meter: ServiceMeter) {
		this.#loop = loop
		this.#meter = meter
		this.#latency = latencySampler(model.latencyMs, loop, `services.${name}`) ?? NO_LATENCY
	}

	/** Four messages: read, its response, write, its response. */
	send(request: Request): void {
		let read = -1
		this.#message(() => {
			read = this.#version
			this.#message(() => this.#message(() => this.#write(request, read)))
		})
	}

	#write(request: Request, read: number): void {
		const now = this.#loop.now()
		const ok = read === this.#version
		if (ok) this.#version++
		this.#meter.send(now)
		this.#meter.finish(now, 0, ok, request.isAwaited)
		this.#message(() => request.end(ok ? undefined : conflict()))
	}

	#message(arrive: () => void): void {
		this.#loop.after(this.#latency(), arrive)
	}
}
