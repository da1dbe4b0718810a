/**
 * Outlier ejection: an instance that fails several times in a row gets no requests for a while, as in Envoy. A limit on the share of
 * instances that are out keeps a fault of all of them from emptying the pool: the remaining ones would get the whole load.
 */
import type { EjectionModel } from '../scenario/balancer-model.ts'

export interface Ejectable {
	consecutiveFailures: number
	ejections: number
	ejectedUntil: number
	readonly isLeaving: boolean
}

/** The pool that instances are ejected from. */
interface EjectionPool {
	now(): number
	/** May change later. */
	readonly instances: readonly Ejectable[]
	onEject(): void
}

export class Ejection {
	readonly #consecutiveFailures: number
	readonly #ejectMs: number
	readonly #maxEjectedShare: number
	readonly #pool: EjectionPool

	constructor(model: EjectionModel, pool: EjectionPool) {
		const { consecutiveFailures = 5, ejectMs = 30_000, maxEjectedShare = 0.5 } = model
		this.#consecutiveFailures = consecutiveFailures
		this.#ejectMs = ejectMs
		this.#maxEjectedShare = maxEjectedShare
		this.#pool = pool
	}

	/** Ejects an instance that has just failed, if it has failed often enough and the others may do without it. */
	judge(instance: Ejectable): void {
		const now = this.#pool.now()
		if (instance.consecutiveFailures < this.#consecutiveFailures || instance.ejectedUntil > now) return
		const active = this.#pool.instances.filter(({ isLeaving }) => !isLeaving)
		const ejected = active.filter(({ ejectedUntil }) => ejectedUntil > now).length
		// One instance always remains, whatever the share says.
		if (ejected + 1 > this.#maxEjectedShare * active.length || ejected + 1 >= active.length) return
		instance.ejections++
		instance.consecutiveFailures = 0
		instance.ejectedUntil = now + this.#ejectMs * instance.ejections
		this.#pool.onEject()
	}
}
