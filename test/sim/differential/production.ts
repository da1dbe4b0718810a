/**
 * The same clients and the same service twice: simulated, and as production code runs them, with promises, AbortSignals and timers of a
 * virtual clock. The service of the second is written again here, from the documentation of the scenario. What policies report and
 * how calls end must be the same.
 */
import { type CallContext, Deadline, type Policy, pipeline, type Runtime, type YaokiEvent } from 'yaoki'
import { type Fault, simulate } from 'yaoki/sim'
import { virtualRuntime } from 'yaoki/testing'
import { refusedConnection, resetConnection, status } from '../../../src/sim/model/failures.ts'

export interface Script {
	readonly seed: number
	/** When calls start, all different. */
	readonly atMs: readonly number[]
	readonly serviceMs: number
	readonly faults: readonly Fault[]
	readonly ignoresSignal: boolean
	readonly deadlineMs: number | undefined
	make(runtime: Runtime): readonly Policy[]
}

export interface Observed {
	/** The events of each call with their times, one text per call, in alphabetical order. */
	readonly calls: readonly string[]
	readonly events: number
	readonly results: { readonly good: number; readonly failed: number; readonly unfinished: number }
	readonly requests: number
}

/** The virtual clock starts at this wall time, in both. */
const START = Date.UTC(2026, 0, 1)
/** The random numbers of the first instance of the client. */
const streamOf = (seed: number): string => `${seed} clients.web[0] policy`

/** The two add times in different orders, so their last bits differ. */
const round = (ms: unknown): string | undefined => (typeof ms === 'number' ? ms.toFixed(3) : undefined)

const byInstant = (a: string, b: string): number =>
	Number.parseFloat(a) - Number.parseFloat(b) || (a < b ? -1 : 1)

/** Collects events by call. Ids of calls are random, so calls are identified by what they did. */
class Recorder {
	readonly #calls = new Map<string, string[]>()
	events = 0

	readonly listener = ({ callId = '', timestamp, type, emitter: policy, ...facts }: YaokiEvent): void => {
		this.events++
		const { attempt, durationMs, delayMs, reason, from, to, outcome, hedge } = facts as Record<
			string,
			unknown
		>
		const at = round(timestamp - START)
		const details = JSON.stringify({
			attempt,
			durationMs: round(durationMs),
			delayMs: round(delayMs),
			reason,
			from,
			to,
			outcome,
			hedge,
		})
		const texts = this.#calls.get(callId) ?? []
		this.#calls.set(callId, texts)
		texts.push(`${at} ${policy} ${type} ${details}`)
	}

	/** The requests of a hedged call may report in the same instant, in any order. So instants are sorted. */
	get calls(): readonly string[] {
		return [...this.#calls.values()].map((texts) => texts.sort(byInstant).join('\n')).sort()
	}
}

export function simulated(script: Script): Observed {
	const recorder = new Recorder()
	const { seed, atMs, serviceMs, faults, ignoresSignal, deadlineMs } = script
	const { clients } = simulate({
		seed,
		until: 'idle',
		services: { api: { workers: Infinity, serviceTimeMs: serviceMs, faults } },
		clients: {
			web: { to: 'api', arrivals: { kind: 'trace', atMs }, policy: 'web', ignoresSignal, deadlineMs },
		},
		policies: {
			web({ runtime }) {
				const policy = pipeline(...script.make(runtime))
				policy.subscribe(recorder.listener)
				return policy
			},
		},
	})
	const { good = 0, failed = 0, unfinished = 0, requests = 0 } = clients['web'] ?? {}
	return { calls: recorder.calls, events: recorder.events, results: { good, failed, unfinished }, requests }
}

/** A service with unlimited workers that is down, slow or failing at times. */
class Service {
	requests = 0
	readonly #clock: Runtime
	readonly #script: Script
	/** Ends of the requests being processed, when the service goes down. */
	readonly #lose = new Set<() => void>()

	constructor(clock: Runtime, script: Script) {
		this.#clock = clock
		this.#script = script
		for (const fault of script.faults)
			if (fault.kind === 'outage')
				clock.setTimer(fault.fromMs, () => {
					for (const lose of [...this.#lose]) lose()
				})
	}

	#active<Kind extends Fault['kind']>(kind: Kind): (Fault & { kind: Kind }) | undefined {
		const now = this.#clock.now()
		return this.#script.faults.find(
			(fault): fault is Fault & { kind: Kind } =>
				fault.kind === kind && fault.fromMs <= now && now < fault.toMs,
		)
	}

	respond(reply: (failure?: unknown) => void): void {
		this.requests++
		const outage = this.#active('outage')
		if (outage) {
			if (outage.mode !== 'hang') reply(refusedConnection())
			return
		}
		const finish = () => {
			this.#lose.delete(lose)
			const errors = this.#active('errors')
			reply(errors && status(errors.status ?? 500))
		}
		const cancel = this.#clock.setTimer(
			this.#script.serviceMs * (this.#active('slowdown')?.factor ?? 1),
			finish,
		)
		const lose = () => {
			cancel()
			this.#lose.delete(lose)
			if (this.#active('outage')?.mode !== 'hang') reply(resetConnection())
		}
		this.#lose.add(lose)
	}

	/** The operation of a user: passes its signal on, or ignores it. */
	readonly request = ({ signal }: CallContext): Promise<void> =>
		new Promise((resolve, reject) => {
			if (!this.#script.ignoresSignal) {
				if (signal.aborted) return reject(signal.reason)
				signal.addEventListener('abort', () => reject(signal.reason))
			}
			this.respond((failure) => (failure === undefined ? resolve() : reject(failure)))
		})
}

export async function produced(script: Script): Promise<Observed> {
	const clock = virtualRuntime({ seed: streamOf(script.seed) })
	const recorder = new Recorder()
	const service = new Service(clock, script)
	const inner = pipeline(...script.make(clock))
	inner.subscribe(recorder.listener)
	// Around it, as in the simulation, so that the same policies report.
	const policy = pipeline({ runtime: clock }, inner)
	const { deadlineMs } = script
	const results = { good: 0, failed: 0, unfinished: script.atMs.length }
	for (const at of script.atMs)
		clock.setTimer(at, () => {
			const call = policy.execute(
				service.request,
				deadlineMs === undefined ? {} : { deadline: Deadline.after(deadlineMs, { runtime: clock }) },
			)
			const end = (isGood: boolean) => {
				results[isGood ? 'good' : 'failed']++
				results.unfinished--
			}
			call.then(
				() => end(true),
				() => end(false),
			)
		})
	await clock.runUntilIdle()
	return { calls: recorder.calls, events: recorder.events, results, requests: service.requests }
}
