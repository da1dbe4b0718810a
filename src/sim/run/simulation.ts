/**
 * One run: builds a world from a scenario, lets it happen, and tells how it went. It can be stopped and looked at on the way,
 * which is how progress is shown and how an interrupted run still has an answer.
 */

import { EventLoop } from '../kernel/event-loop.ts'
import { hasFunction, suppressStacks } from '../kernel/suppress-stacks.ts'
import { ClientMeter } from '../measure/client-meter.ts'
import { RecoveryTracker } from '../measure/recovery-tracker.ts'
import type { Recovery, SimulationResult } from '../measure/result.ts'
import { ServiceMeter } from '../measure/service-meter.ts'
import { TimelineBins } from '../measure/timeline-bins.ts'
import { totalsOf } from '../measure/totals.ts'
import { Client } from '../model/client.ts'
import { asking, namesOf } from '../model/dependencies.ts'
import { OptimisticLock } from '../model/optimistic-lock.ts'
import type { Receiver } from '../model/request.ts'
import { Server } from '../model/server.ts'
import { checkScenario } from '../scenario/check.ts'
import type { Scenario, ServiceModel, SimulationProgress } from '../scenario/scenario.ts'
import { type MakePolicy, policyMaker } from './policies.ts'

const MOST_EVENTS = 50_000_000
const MOST_STEPS = 240
const LEAST_STEP_MS = 100

interface Service extends Receiver {
	readonly workers: number
	readonly capacityPerSecond: number | null
}

interface Served {
	readonly service: Service
	readonly meter: ServiceMeter
	/** The clients whose calls may come here, directly or by way of other services. */
	readonly callers: Set<ClientMeter>
	/** Services that it asks. */
	readonly asks: readonly string[]
}

/**
 * A run that can be stopped on the way, looked at, and gone on with. In which slices it is made does not matter: the same seed
 * gives the same result, to the last bit.
 *
 * @example
 * const simulation = new Simulation(scenario)
 * for (let time = 1_000; !simulation.advance(time); time += 1_000) show(simulation.progress)
 * const result = simulation.result()
 */
export class Simulation {
	readonly #scenario: Scenario
	readonly #world: EventLoop
	readonly #steps: TimelineBins
	readonly #end: number
	readonly #aftermath: RecoveryTracker | undefined
	readonly #services = new Map<string, Served>()
	readonly #clients = new Map<string, ClientMeter>()
	readonly #hasFunctions: boolean
	#endedBy: SimulationResult['endedBy'] | undefined

	constructor(scenario: Scenario) {
		checkScenario(scenario)
		this.#scenario = scenario
		const { duration = Infinity, maxEvents = MOST_EVENTS, seed = 1 } = scenario
		this.#end = duration
		this.#world = new EventLoop(seed, maxEvents)
		this.#steps = new TimelineBins(scenario.stepMs ?? stepOf(duration))
		this.#aftermath = aftermathOf(scenario)
		const policies = policyMaker(this.#world, scenario.policies ?? {})
		// All of them, for one that nobody uses yet is no less wrong; functions are made only for who uses them.
		for (const [name, model] of Object.entries(scenario.policies ?? {}))
			if (typeof model !== 'function') policies(name, 'nobody')
		for (const name of Object.keys(scenario.services)) this.#service(name, policies)
		for (const name of Object.keys(scenario.clients)) this.#client(name, policies)
		// Nowhere else may one be, and by now there is nothing in a policy that does not belong there.
		this.#hasFunctions = hasFunction([scenario.until, scenario.policies])
	}

	/** Services further down first. The check has made sure that there is no ring. */
	#service(name: string, policies: MakePolicy): Service {
		const known = this.#services.get(name)
		if (known) return known.service
		const model = this.#scenario.services[name] as ServiceModel
		const world = this.#world
		const meter = new ServiceMeter(this.#steps)
		const path = `services.${name}`
		const asks = model.kind === 'optimistic-lock' ? [] : (model.dependsOn ?? []).map(({ to }) => to)
		let service: Service
		if (model.kind === 'optimistic-lock') service = new OptimisticLock(world, name, model, meter)
		else {
			const names = namesOf(model.dependsOn ?? [])
			const hops = (model.dependsOn ?? []).map((one, index) => ({
				name: names[index] ?? one.to,
				model: one,
				service: this.#service(one.to, policies),
				policy: policies(one.policy, `${path} to ${names[index]}`),
			}))
			service = new Server(world, name, model, meter, hops.length > 0 ? asking(world, path, hops) : undefined)
		}
		this.#services.set(name, { service, meter, asks, callers: new Set() })
		return service
	}

	#client(name: string, policies: MakePolicy): void {
		const model = this.#scenario.clients[name]
		if (!model) return
		const { arrivals, goodWithinMs = Infinity } = model
		const instances = model.instances ?? (arrivals.kind === 'closed' ? arrivals.users : 1)
		const made = Array.from({ length: model.policy === undefined ? 0 : instances }, (_, index) =>
			policies(model.policy, `clients.${name}[${index}]`),
		).filter((policy) => policy !== undefined)
		const meter = new ClientMeter(this.#steps, goodWithinMs, this.#aftermath)
		this.#clients.set(name, meter)
		this.#calls(meter, model.to)
		new Client(this.#world, name, model, this.#service(model.to, policies), meter, made)
	}

	/** A client may call a service, and so whatever that asks. */
	#calls(client: ClientMeter, name: string): void {
		const served = this.#services.get(name)
		if (!served || served.callers.has(client)) return
		served.callers.add(client)
		for (const next of served.asks) this.#calls(client, next)
	}

	/** Lets all happen that comes before `toMs`. Answers whether the run is over. */
	advance(toMs: number = Infinity): boolean {
		return this.#hasFunctions ? this.#advance(toMs) : suppressStacks(() => this.#advance(toMs))
	}

	#advance(toMs: number): boolean {
		const world = this.#world
		while (this.#endedBy === undefined && world.now() < toMs) {
			// Stops at each step of the timeline, to ask whether this is enough.
			const look = this.#nextLook()
			const next = Math.min(toMs, this.#end, look)
			world.run(next)
			if (world.broken) throw world.broken.error
			this.#endedBy = this.#judge(next, next === look)
		}
		return this.#endedBy !== undefined
	}

	/** `looks`: a step of the timeline is over. Only then, so that it does not matter in which slices a run is made. */
	#judge(reached: number, looks: boolean): SimulationResult['endedBy'] | undefined {
		const world = this.#world
		const { until } = this.#scenario
		if (world.isExhausted) return 'event-limit'
		const isIdle = !world.hasEvents || reached === Infinity
		if (isIdle && (until === 'idle' || this.#end === Infinity)) return 'idle'
		world.skipTo(reached)
		if (looks && this.#isEnough()) return until === 'recovered' ? 'recovered' : 'until'
		return reached >= this.#end ? 'duration' : undefined
	}

	#nextLook(): number {
		const { until } = this.#scenario
		if (until === undefined || until === 'idle') return Infinity
		return this.#steps.after(this.#world.now())
	}

	#isEnough(): boolean {
		const { until } = this.#scenario
		if (typeof until === 'function') return until(this.progress)
		if (until !== 'recovered') return false
		return this.#recovery?.recoveredAfterMs != null
	}

	get #recovery(): Recovery | null {
		return this.#aftermath?.recovery(this.#world.now(), this.#endedBy === 'idle') ?? null
	}

	/** What is known so far, in a few figures. */
	get progress(): SimulationProgress {
		const clients = [...this.#clients.values()]
		const sum = (of: (meter: ClientMeter) => number) => clients.reduce((total, meter) => total + of(meter), 0)
		return {
			nowMs: this.#world.now(),
			events: this.#world.events,
			calls: sum((meter) => meter.calls),
			good: sum((meter) => meter.good),
			failed: sum((meter) => meter.failed),
			requests: [...this.#services.values()].reduce((total, { meter }) => total + meter.requests, 0),
		}
	}

	/** How it went, or has gone so far. */
	result(): SimulationResult {
		const end = this.#world.now()
		const steps = this.#steps.until(end)
		const meters = [...this.#clients]
		const services = [...this.#services]
		const serviceResults = services.map(
			([name, { service, meter, callers }]) =>
				[name, meter.result(end, callsOf(callers), service.workers, service.capacityPerSecond)] as const,
		)
		return {
			seed: this.#world.seed,
			endedAtMs: end,
			endedBy: this.#endedBy ?? 'interrupted',
			events: this.#world.events,
			traceHash: this.#world.trace.hash,
			totals: totalsOf(
				end,
				[...this.#clients.values()],
				serviceResults.map(([, result]) => result),
			),
			clients: Object.fromEntries(meters.map(([name, meter]) => [name, meter.result()])),
			services: Object.fromEntries(serviceResults),
			recovery: this.#recovery,
			timeline: {
				stepMs: this.#steps.stepMs,
				clients: Object.fromEntries(meters.map(([name, meter]) => [name, meter.timeline(steps)])),
				services: Object.fromEntries(services.map(([name, { meter }]) => [name, meter.timeline(steps)])),
			},
		}
	}
}

/** None where nothing is scheduled to go wrong. */
function aftermathOf({ services }: Scenario): RecoveryTracker | undefined {
	const faults = Object.values(services).flatMap((model) =>
		model.kind === 'optimistic-lock' ? [] : (model.faults ?? []),
	)
	if (faults.length === 0) return undefined
	return new RecoveryTracker(
		faults.reduce((first, { fromMs }) => Math.min(first, fromMs), Infinity),
		faults.reduce((latest, { toMs }) => Math.max(latest, toMs), 0),
	)
}

const callsOf = (clients: Iterable<ClientMeter>): number => {
	let calls = 0
	for (const client of clients) calls += client.calls
	return calls
}

/** The shortest of 1, 2, 5 x 10^n that does with so many steps. */
function stepOf(duration: number): number {
	if (duration === Infinity) return LEAST_STEP_MS
	const least = Math.max(LEAST_STEP_MS, duration / MOST_STEPS)
	const ten = 10 ** Math.floor(Math.log10(least))
	return [1, 2, 5, 10].map((factor) => factor * ten).find((step) => step >= least * (1 - 1e-12)) ?? least
}
