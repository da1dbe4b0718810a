import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Circuit } from '../../../src/core/circuit-breaker/circuit.ts'
import { isolate as isolateCircuit } from '../../../src/core/circuit-breaker/isolation.ts'
import {
	type CircuitBreakerOptions,
	type CircuitBreakerSettings,
	readCircuitBreakerOptions,
} from '../../../src/core/circuit-breaker/options.ts'
import { restoreSnapshot, takeSnapshot } from '../../../src/core/circuit-breaker/snapshot.ts'
import type { CircuitState } from '../../../src/core/events/events.ts'
import { CircuitModel, type ModelCall } from './model.ts'

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const settings: fc.Arbitrary<CircuitBreakerSettings> = fc
	.record({
		failureThreshold: fc.constantFrom(1, 2, 3, 5, Infinity),
		successThreshold: fc.integer({ min: 1, max: 4 }),
		halfOpenFailureRate: fc.constantFrom(undefined, 0, 0.5, 0.75, 1),
		resetTimeoutMs: fc.constantFrom(10, 100, 1_000),
		halfOpenMaxConcurrent: fc.integer({ min: 1, max: 3 }),
		monitorWindowMs: fc.constantFrom(7, 100, 1_000, 60_000),
		errorRateThreshold: maybe(fc.constantFrom(0.1, 0.5, 0.6, 1)),
		minimumRequests: fc.integer({ min: 1, max: 5 }),
		slowCallMs: maybe(fc.constantFrom(5, 50)),
		slowCallRateThreshold: fc.constantFrom(0.3, 0.5, 1),
		windowSize: maybe(fc.integer({ min: 5, max: 8 })),
		probeTimeoutMs: maybe(fc.constantFrom(5, 50, 500)),
		maxRetryAfterMs: fc.constantFrom(0, 50, 60_000),
		resetBackoff: maybe(
			fc.record({
				factor: maybe(fc.constantFrom(1, 2, 10)),
				jitterStrategy: fc.constantFrom('none', 'full', 'equal', 'decorrelated'),
				initialMs: maybe(fc.constantFrom(5, 10)),
			}),
		),
	})
	.map(({ slowCallRateThreshold, ...options }) => {
		const { failureThreshold, errorRateThreshold, slowCallMs } = options
		const isNever = failureThreshold === Infinity && !errorRateThreshold && !slowCallMs
		const given: CircuitBreakerOptions = {
			...options,
			slowCallRateThreshold: slowCallMs && slowCallRateThreshold,
			failureThreshold: isNever ? 4 : failureThreshold,
		}
		return readCircuitBreakerOptions(given)
	})

class Real {
	now = 1_000
	circuit: Circuit
	readonly source: { random(): number }
	calls: { ticket: number; model: ModelCall | undefined }[] = []
	releases: (readonly [() => void, () => void])[] = []
	latest: CircuitState = 'closed'

	constructor(circuit: Circuit, draw: number) {
		this.circuit = circuit
		this.source = { random: () => draw }
		this.listen()
	}

	/** Each change is from the state that the one before it led to, and is a way that exists. */
	listen(): void {
		this.circuit.listener = {
			onChange: (from, to) => {
				expect(from).toBe(this.latest)
				expect(to).not.toBe(from)
				expect(`${from} ${to}`).not.toBe('closed half-open')
				this.latest = to
			},
		}
	}
}

type Command = fc.Command<CircuitModel, Real>

const command = (name: string, run: (model: CircuitModel, real: Real) => void): Command => ({
	check: () => true,
	run(model, real) {
		run(model, real)
		// A wait alone does not evaluate the circuit, so its state has not changed yet.
		if (name.startsWith('wait')) return
		expect(real.circuit.state).toBe(model.state)
		expect(real.latest).toBe(model.state)
	},
	toString: () => name,
})

const durations = fc.constantFrom(0, 1, 5, 49, 50, 400)
const retryAfters = fc.constantFrom(undefined, undefined, 20, 1_000, Number.NaN)
const places = fc.nat(20)

function admit(model: CircuitModel, real: Real): { ticket: number; model: ModelCall | undefined } {
	const { circuit, source, now } = real
	const call = { ticket: circuit.admit(now, source), model: model.admit(now) }
	expect(call.ticket === -1).toBe(call.model === undefined)
	// While closed, taking the generation is the same as asking.
	if (circuit.state === 'closed') expect(call.ticket).toBe(circuit.generation)
	return call
}

function settle(
	model: CircuitModel,
	{ circuit, source, now }: Real,
	call: { ticket: number; model: ModelCall | undefined },
	failed: boolean,
	durationMs: number,
	retryAfterMs: number | undefined,
): void {
	if (failed) circuit.fail(call.ticket, now, durationMs, retryAfterMs, source)
	else circuit.succeed(call.ticket, now, durationMs, source)
	const asked = failed && !Number.isNaN(retryAfterMs) ? retryAfterMs : undefined
	model.settle(call.model, now, durationMs, failed, asked)
}

function compareStats(model: CircuitModel, { circuit, source, now }: Real): void {
	expect(circuit.stats(now, source)).toEqual(model.stats(now))
}

const wait = fc.constantFrom(0, 1, 5, 10, 45, 50, 99, 100, 500, 1_000, 3_600_000).map((ms) =>
	command(`wait ${ms}`, (model, real) => {
		real.now += ms
		model.look(real.now)
	}),
)
const shortWait = fc.constantFrom(1, 3, 10, 100).map((ms) =>
	command(`wait ${ms}`, (model, real) => {
		real.now += ms
		model.look(real.now)
	}),
)
const waitUntilTried = fc.constant(
	command('wait until it may be tried', (model, real) => {
		const { retryAfterMs } = model.stats(real.now)
		if (retryAfterMs < Infinity) real.now += retryAfterMs
		model.look(real.now)
	}),
)
const begin = fc.constant(
	command('begin', (model, real) => {
		real.calls.push(admit(model, real))
	}),
)
const call = fc.tuple(fc.boolean(), durations, retryAfters).map(([failed, ms, retryAfterMs]) =>
	command(`call ${failed ? 'fails' : 'succeeds'} in ${ms}, ${retryAfterMs}`, (model, real) => {
		const call = admit(model, real)
		settle(model, real, call, failed, ms, retryAfterMs)
	}),
)
const end = fc.tuple(places, fc.boolean(), durations, retryAfters).map(([place, failed, ms, retryAfterMs]) =>
	command(`end ${place} ${failed ? 'fails' : 'succeeds'} in ${ms}, ${retryAfterMs}`, (model, real) => {
		const [call] = real.calls.splice(place % (real.calls.length || 1), 1)
		if (call) settle(model, real, call, failed, ms, retryAfterMs)
	}),
)
const ignore = places.map((place) =>
	command(`ignore ${place}`, (model, real) => {
		const [call] = real.calls.splice(place % (real.calls.length || 1), 1)
		if (!call) return
		real.circuit.ignore(call.ticket, real.now, real.source)
		model.ignore(call.model, real.now)
	}),
)
const isolate = fc.constant(
	command('isolate', (model, real) => {
		real.releases.push([isolateCircuit(real.circuit, real.now, real.source), model.isolate(real.now)])
	}),
)
/** All of an operator's work in one, because random releases rarely meet a half-open circuit. */
const maintain = fc.constantFrom(0, 3, 100, 2_000).map((ms) =>
	command(`isolate for ${ms}`, (model, real) => {
		const releases = [isolateCircuit(real.circuit, real.now, real.source), model.isolate(real.now)]
		real.now += ms
		for (const release of releases) release()
		model.look(real.now)
		real.circuit.expireProbe(real.now, real.source)
	}),
)
/** Releases stay in the list, so that one may be used twice. */
const release = places.map((place) =>
	command(`release ${place}`, (model, real) => {
		const pair = real.releases[place % (real.releases.length || 1)]
		pair?.[0]()
		pair?.[1]()
		// Releasing a handle once more must not look like the passing of time.
		real.circuit.expireProbe(real.now, real.source)
		model.look(real.now)
	}),
)
const reset = fc.constant(
	command('reset', (model, real) => {
		real.circuit.reset()
		model.reset()
		real.circuit.expireProbe(real.now, real.source)
	}),
)
const update = settings.map((changed) =>
	command(`update ${JSON.stringify(changed)}`, (model, real) => {
		real.circuit.update(changed, real.now, real.source)
		model.update(changed, real.now)
	}),
)
const restart = fc
	.tuple(fc.constantFrom(-1_000, 0, 5, 60, 5_000, 86_400_000), fc.constantFrom(0, 3, 50_000))
	.map(([passedMs, after]) =>
		command(`restart ${passedMs} later at ${after}`, (model, real) => {
			const { circuit, source, now } = real
			const at = 1_750_000_000_000
			const written = JSON.stringify(takeSnapshot(circuit, now, at, source))
			const restored = new Circuit(circuit.settings)
			restoreSnapshot(restored, JSON.parse(written), after, at + passedMs)
			model.restart(now, after, passedMs)
			Object.assign(real, { circuit: restored, now: after, calls: [], releases: [], latest: restored.state })
			real.listen()
		}),
	)
const stats = fc.constant(command('stats', compareStats))

it('behaves in every history like a slow and obvious model', () => {
	const tally: Record<string, number> = {}
	const frequent = [
		call,
		call,
		begin,
		begin,
		end,
		end,
		waitUntilTried,
		waitUntilTried,
		shortWait,
		wait,
		stats,
	]
	const rare = [ignore, isolate, maintain, release, reset, update, restart]
	const histories = fc.commands([...frequent, ...frequent, ...frequent, ...rare, release], {
		maxCommands: 60,
		size: 'max',
	})
	const draw = fc.constantFrom(0, 0.25, 0.9)
	fc.assert(
		fc.property(settings, draw, histories, (given, drawn, commands) => {
			const model = new CircuitModel(given, drawn, tally)
			const real = new Real(new Circuit(given), drawn)
			fc.modelRun(() => ({ model, real }), commands)
			compareStats(model, real)
		}),
		{ numRuns: 1_500 },
	)
	// Histories in which nothing happens would agree as well.
	for (const what of [
		'opened by consecutive failures',
		'opened by error rate',
		'opened by slow calls',
		'rejected while open',
		'rejected while half-open',
		'rejected while isolated',
		'released to closed',
		'released to open',
		'released to half-open',
		'closed in spite of a failed probe',
		'late result',
		'hung probe',
		'reopened',
		'closed again',
	])
		expect([what, (tally[what] ?? 0) > 20]).toEqual([what, true])
})
