/** The faults that currently affect a service. Events keep the fields up to date, so that reading them costs nothing. */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

type Faulty = Pick<Scenario, 'services' | 'faults'>

export type ScheduledFault = Fault & { readonly service: string }

/** Returns the faults of all services. A fault that several services share is listed for each of them. */
export const scheduledFaults = (scenario: Faulty): readonly ScheduledFault[] =>
	Object.keys(scenario.services).flatMap((service) =>
		faultsAt(scenario, service).map((fault) => ({ ...fault, service })),
	)

/** Returns the faults of one service: its own, and those that it shares. */
export function faultsAt({ services, faults = [] }: Faulty, name: string): readonly Fault[] {
	const model = services[name]
	const own = model === undefined || model.kind === 'optimistic-lock' ? [] : (model.faults ?? [])
	return [...own, ...faults.filter((fault) => fault.services.includes(name))]
}

/** What a server does when its faults change. */
export interface FaultListener {
	onOutage(): void
	/** The last of overlapping pauses ends. */
	onResume(): void
}

export type ErrorsFault = Extract<Fault, { kind: 'errors' }>

/** Returns the share of errors among the responses to requests of a class, and their status. */
export function combineErrors(
	faults: readonly ErrorsFault[],
	className: string | undefined,
): { readonly rate: number; readonly status: number } {
	let [rate, status] = [0, 500]
	for (const fault of faults) {
		if (fault.class !== undefined && fault.class !== className) continue
		// Concurrent faults are independent causes of failure.
		rate = 1 - (1 - rate) * (1 - fault.rate)
		status = fault.status ?? 500
	}
	return { rate, status }
}

export type OutageMode = 'refuse' | 'hang'

interface PartialOutage {
	readonly mode: OutageMode
	readonly share: number
}

interface WarmUp {
	readonly fromMs: number
	readonly toMs: number
	readonly coldFactor: number
}

export class FaultSchedule {
	/** The mode of the current outage of all requests. */
	outage: OutageMode | undefined
	/** The current outages of a share of the requests; undefined if there is none. */
	partialOutages: readonly PartialOutage[] | undefined
	isPaused = false
	/** The current faults of kind `errors`; undefined if there is none. */
	errors: readonly ErrorsFault[] | undefined
	#slowdown = 1
	/** The warm-ups that have begun; undefined as long as there is none. */
	#warmUps: WarmUp[] | undefined
	#pausedMs = 0
	#pausedAt = 0
	/** The active faults by their index in the list, because the list may contain the same object twice. */
	readonly #active = new Map<number, Fault>()
	readonly #loop: EventLoop
	readonly #listener: FaultListener

	constructor(loop: EventLoop, faults: readonly Fault[], listener: FaultListener) {
		this.#loop = loop
		this.#listener = listener
		// Starts before ends: a fault that begins when another one ends continues it.
		for (const [index, fault] of faults.entries())
			loop.after(fault.fromMs, () => {
				this.#active.set(index, fault)
				this.#update()
			})
		for (const [index, fault] of faults.entries())
			loop.after(fault.toMs, () => {
				this.#active.delete(index)
				if (fault.kind === 'restart') this.#warmUp(fault)
				this.#update()
			})
	}

	/** The factor by which a request that starts now takes longer. */
	get slowdown(): number {
		return this.#warmUps === undefined ? this.#slowdown : this.#slowdown * this.#coldFactor(this.#warmUps)
	}

	/** The time that the service was not paused. */
	get activeMs(): number {
		const now = this.#loop.now()
		return now - this.#pausedMs - (this.isPaused ? now - this.#pausedAt : 0)
	}

	#warmUp({ toMs, coldFactor = 1, warmUpMs = 0 }: Extract<Fault, { kind: 'restart' }>): void {
		if (coldFactor === 1 || warmUpMs === 0) return
		this.#warmUps ??= []
		this.#warmUps.push({ fromMs: toMs, toMs: toMs + warmUpMs, coldFactor })
	}

	#coldFactor(warmUps: readonly WarmUp[]): number {
		const now = this.#loop.now()
		let factor = 1
		for (const { fromMs, toMs, coldFactor } of warmUps)
			if (now < toMs) factor *= 1 + ((coldFactor - 1) * (toMs - now)) / (toMs - fromMs)
		return factor
	}

	#update(): void {
		const wasUp = this.outage === undefined
		let isPaused = false
		this.outage = undefined
		this.partialOutages = undefined
		this.#slowdown = 1
		this.errors = undefined
		for (const fault of this.#active.values()) {
			if (fault.kind === 'outage') this.#addOutage(fault.mode ?? 'refuse', fault.share ?? 1)
			else if (fault.kind === 'restart') this.outage = 'refuse'
			else if (fault.kind === 'pause') isPaused = true
			else if (fault.kind === 'slowdown') this.#slowdown *= fault.factor
			else this.errors = [...(this.errors ?? []), fault]
		}
		if (wasUp && this.outage) this.#listener.onOutage()
		this.#setPaused(isPaused)
	}

	#addOutage(mode: OutageMode, share: number): void {
		if (share === 1) this.outage = mode
		else this.partialOutages = [...(this.partialOutages ?? []), { mode, share }]
	}

	#setPaused(isPaused: boolean): void {
		if (isPaused === this.isPaused) return
		this.isPaused = isPaused
		if (isPaused) this.#pausedAt = this.#loop.now()
		else {
			this.#pausedMs += this.#loop.now() - this.#pausedAt
			this.#listener.onResume()
		}
	}
}
