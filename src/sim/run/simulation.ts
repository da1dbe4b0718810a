/**
 * One run: builds services, clients and policies from a scenario and processes events. A run can be paused
 * and inspected, which is how progress is shown and how an interrupted run still has a result.
 */
import { niceStep } from '../../text/format.ts'
import { createService, type Service } from '../balancer/create-service.ts'
import { EventLoop } from '../kernel/event-loop.ts'
import { hasFunction, suppressStacks } from '../kernel/suppress-stacks.ts'
import { hasEnded } from '../load/arrivals.ts'
import { ClientMeter, computeTotals, type MeterOptions } from '../measure/client-meter.ts'
import {
	type FaultPeriod,
	faultPeriods,
	RecoveryTracker,
	worstRecovery,
} from '../measure/recovery-tracker.ts'
import type { SimulationResult } from '../measure/result.ts'
import { ServiceMeter } from '../measure/service-meter.ts'
import { TimelineBins } from '../measure/timeline-bins.ts'
import { startClient } from '../model/client.ts'
import { callDependencies, nameHops } from '../model/dependencies.ts'
import { faultsAt, scheduledFaults } from '../model/fault-schedule.ts'
import { OptimisticLock } from '../model/optimistic-lock.ts'
import { checkScenario } from '../scenario/check.ts'
import { type PolicyFactory, policyFactory } from '../scenario/layers.ts'
import type { ClientModel, Scenario, ServiceModel, SimulationProgress } from '../scenario/scenario.ts'

const DEFAULT_MAX_EVENTS = 50_000_000
const MAX_STEPS = 240
const MIN_STEP_MS = 100

interface MeteredService {
	readonly service: Service
	readonly meter: ServiceMeter
	/** The clients whose calls may reach it, directly or through other services. */
	readonly clients: Set<ClientMeter>
	readonly dependencies: readonly string[]
}

/**
 * Runs a scenario once, in virtual time, and returns the result.
 *
 * @example
 * const { recovery, totals } = simulate({
 *   durationMs: 60_000,
 *   services: { api: { workers: 10, serviceTimeMs: 20, faults: [{ kind: 'outage', fromMs: 10_000, toMs: 20_000 }] } },
 *   clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 300 }, policy: 'careful' } },
 *   policies: { careful: [{ retry: { maxRetries: 3 } }, { timeoutMs: 1_000 }] },
 * })
 */
export function simulate(scenario: Scenario): SimulationResult {
	const simulation = new Simulation(scenario)
	simulation.advance()
	return simulation.result()
}

/**
 * A run that can be paused, inspected and continued; `simulate` runs a scenario without a pause. The size of
 * the steps does not matter: the same seed gives exactly the same result.
 *
 * @example
 * const simulation = new Simulation(scenario)
 * for (let time = 1_000; !simulation.advance(time); time += 1_000) show(simulation.progress)
 * const result = simulation.result()
 */
export class Simulation {
	readonly #scenario: Scenario
	readonly #loop: EventLoop
	readonly #bins: TimelineBins
	readonly #endMs: number
	readonly #faultPeriods: readonly FaultPeriod[]
	readonly #services = new Map<string, MeteredService>()
	readonly #clients = new Map<string, ClientMeter>()
	readonly #hasFunctions: boolean
	#endedBy: SimulationResult['endedBy'] | undefined

	constructor(scenario: Scenario) {
		checkScenario(scenario)
		this.#scenario = scenario
		const { durationMs = Infinity, maxEvents = DEFAULT_MAX_EVENTS, seed = 1, policies = {} } = scenario
		this.#endMs = durationMs
		this.#loop = new EventLoop(seed, maxEvents)
		this.#bins = new TimelineBins(scenario.stepMs ?? defaultStep(durationMs))
		this.#faultPeriods = faultPeriods(scheduledFaults(scenario))
		const create = policyFactory(this.#loop, policies)
		// Creates unused policies too, to validate them. Factory functions run only where they are used.
		for (const [name, model] of Object.entries(policies))
			if (typeof model !== 'function') create(name, 'unused')
		for (const name of Object.keys(scenario.services)) this.#addService(name, create)
		for (const name of Object.keys(scenario.clients)) this.#addClient(name, create)
		// Functions can be nowhere else, and the policies are valid by now.
		this.#hasFunctions = hasFunction([scenario.until, scenario.policies])
	}

	/** Adds the service and its dependencies, innermost first. The scenario check has ruled out cycles. */
	#addService(name: string, create: PolicyFactory): Service {
		const known = this.#services.get(name)
		if (known) return known.service
		const model = this.#scenario.services[name] as ServiceModel
		const meter = new ServiceMeter(this.#bins, this.#meterOptions(model.kind !== 'optimistic-lock'))
		const dependsOn = model.kind === 'optimistic-lock' ? [] : (model.dependsOn ?? [])
		let service: Service
		if (model.kind === 'optimistic-lock') service = new OptimisticLock(this.#loop, name, model, meter)
		else {
			const names = nameHops(dependsOn)
			const callsOf = (path: string) => {
				const hops = dependsOn.map((dependency, index) => ({
					name: names[index] ?? dependency.to,
					model: dependency,
					service: this.#addService(dependency.to, create),
					policy: create(dependency.policy, `${path} to ${names[index]}`),
					ignoresSignal: model.ignoresSignal ?? false,
					onRetry: () => meter.retry(this.#loop.now()),
				}))
				return hops.length > 0 ? callDependencies(this.#loop, path, hops) : undefined
			}
			const faults = faultsAt(this.#scenario, name)
			service = createService(this.#loop, name, { ...model, faults }, meter, callsOf)
		}
		const dependencies = dependsOn.map(({ to }) => to)
		this.#services.set(name, { service, meter, dependencies, clients: new Set() })
		return service
	}

	#addClient(name: string, create: PolicyFactory): void {
		const model = this.#scenario.clients[name]
		if (!model) return
		const { arrivals, goodWithinMs = Infinity } = model
		const instances = model.instances ?? (arrivals.kind === 'closed' ? arrivals.users : 1)
		const policies = Array.from({ length: model.policy === undefined ? 0 : instances }, (_, index) =>
			create(model.policy, `clients.${name}[${index}]`),
		).filter((policy) => policy !== undefined)
		const meter = new ClientMeter(this.#bins, goodWithinMs, this.#meterOptions(true))
		this.#clients.set(name, meter)
		this.#linkClient(meter, model.to)
		startClient(this.#loop, name, model, this.#addService(model.to, create), meter, policies)
	}

	#meterOptions(mayRecover: boolean): MeterOptions {
		const { warmUpMs = 0 } = this.#scenario
		const isTracked = mayRecover && this.#faultPeriods.length > 0
		return { warmUpMs, recovery: isTracked ? new RecoveryTracker(this.#faultPeriods, warmUpMs) : undefined }
	}

	/** Records that a client's calls may reach a service, and so the dependencies of that service. */
	#linkClient(client: ClientMeter, name: string): void {
		const service = this.#services.get(name)
		if (!service || service.clients.has(client)) return
		service.clients.add(client)
		for (const next of service.dependencies) this.#linkClient(client, next)
	}

	/** Processes the events before `toMs`. Returns true if the run is over. */
	advance(toMs: number = Infinity): boolean {
		return this.#hasFunctions ? this.#advance(toMs) : suppressStacks(() => this.#advance(toMs))
	}

	#advance(toMs: number): boolean {
		const loop = this.#loop
		const { until } = this.#scenario
		while (this.#endedBy === undefined && loop.now() < toMs) {
			// `until` is evaluated at the end of each timeline step, so that it does not matter how the run is
			// sliced.
			const checksUntil = until !== undefined && until !== 'idle'
			const nextCheck = checksUntil ? this.#bins.nextEdge(loop.now()) : Infinity
			const next = Math.min(toMs, this.#endMs, nextCheck)
			loop.run(next)
			if (loop.failure) throw loop.failure.error
			this.#endedBy = this.#findEnd(next, next === nextCheck)
		}
		return this.#endedBy !== undefined
	}

	#findEnd(reachedMs: number, checksUntil: boolean): SimulationResult['endedBy'] | undefined {
		const loop = this.#loop
		const { until } = this.#scenario
		if (loop.isExhausted) return 'event-limit'
		const isIdle = !loop.hasEvents || reachedMs === Infinity
		if (isIdle && (until === 'idle' || this.#endMs === Infinity)) return 'idle'
		loop.skipTo(reachedMs)
		if (checksUntil && this.#meetsUntil()) return until === 'recovered' ? 'recovered' : 'until'
		return reachedMs >= this.#endMs ? 'duration' : undefined
	}

	#meetsUntil(): boolean {
		const { until } = this.#scenario
		if (typeof until === 'function') return until(this.progress)
		return until === 'recovered' && this.#recoveries.all?.status === 'recovered'
	}

	/** The recoveries from each fault: of every client, of every service, and the worst of all. */
	get #recoveries() {
		const now = this.#loop.now()
		const isIdle = this.#endedBy === 'idle'
		const over = new Set<ClientMeter>()
		const clients = [...this.#clients].map(([name, meter]) => {
			const { arrivals } = this.#scenario.clients[name] as ClientModel
			if (meter.inFlight === 0 && hasEnded(arrivals, meter.started, now)) over.add(meter)
			return meter.recovery?.recoveries(now, over.has(meter), isIdle)
		})
		const services = [...this.#services.values()].map(({ meter, clients: callers }) => {
			const isOver = meter.inFlight.current === 0 && [...callers].every((client) => over.has(client))
			return meter.recovery?.recoveries(now, isOver, isIdle)
		})
		return { clients, services, all: worstRecovery([...clients, ...services]) }
	}

	/** Counts so far. */
	get progress(): SimulationProgress {
		const clients = [...this.#clients.values()]
		const sum = (of: (meter: ClientMeter) => number) => clients.reduce((total, meter) => total + of(meter), 0)
		return {
			nowMs: this.#loop.now(),
			events: this.#loop.events,
			calls: sum((meter) => meter.calls),
			good: sum((meter) => meter.good),
			failed: sum((meter) => meter.failed),
			requests: [...this.#services.values()].reduce((total, { meter }) => total + meter.requests, 0),
		}
	}

	/** Returns the result, or the result so far. */
	result(): SimulationResult {
		const end = this.#loop.now()
		const { warmUpMs = 0 } = this.#scenario
		const steps = this.#bins.countUntil(end)
		const clients = [...this.#clients]
		const services = [...this.#services]
		const recoveries = this.#recoveries
		const serviceResults = services.map(([name, { service, meter, clients: callers }], index) => {
			const calls = [...callers].reduce((total, client) => total + client.calls, 0)
			const recovery = recoveries.services[index]?.at(-1) ?? null
			const instances = service.results?.()
			const result = meter.result(end, calls, service.workers, service.capacityPerSecond, recovery)
			return [name, instances ? { ...result, instances } : result] as const
		})
		return {
			seed: this.#loop.seed,
			warmUpMs,
			endedAtMs: end,
			endedBy: this.#endedBy ?? 'interrupted',
			events: this.#loop.events,
			traceHash: this.#loop.trace.hash,
			totals: computeTotals(
				end - warmUpMs,
				clients.map(([, meter]) => meter),
				serviceResults.map(([, result]) => result),
			),
			clients: Object.fromEntries(
				clients.map(([name, meter], index) => [
					name,
					meter.result(recoveries.clients[index]?.at(-1) ?? null),
				]),
			),
			services: Object.fromEntries(serviceResults),
			recovery: recoveries.all,
			timeline: {
				stepMs: this.#bins.stepMs,
				clients: Object.fromEntries(clients.map(([name, meter]) => [name, meter.timeline(steps)])),
				services: Object.fromEntries(services.map(([name, { meter }]) => [name, meter.timeline(steps)])),
			},
		}
	}
}

/** Returns the shortest of 1, 2, 5 x 10^n that needs at most MAX_STEPS steps. */
const defaultStep = (durationMs: number): number =>
	durationMs === Infinity ? MIN_STEP_MS : niceStep(Math.max(MIN_STEP_MS, durationMs / MAX_STEPS))
