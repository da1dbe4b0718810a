/**
 * A matrix of known models. Each model is simulated with a recorded policy, its log is read, and the scenario is replayed with other
 * policies. The truth is the same model simulated with that other policy. The service has few workers, so retries can keep it
 * overloaded after its fault has ended, which a log does not show directly.
 */

import { circuitBreaker, type Policy, pipeline, retry, retryBudget, timeout } from 'yaoki'
import {
	type Fault,
	type PolicyLayer,
	type PolicyModel,
	type Scenario,
	type SimulationResult,
	simulate,
} from 'yaoki/sim'
import type { PolicyFactoryContext } from '../../../src/sim/scenario/layers.ts'
import { arrivalsOf } from './production.ts'

/** Long enough after the fault to show whether the service recovers. */
const SECONDS = 55
const times = { fromMs: 15_000, toMs: 23_000 }

export interface KnownModel {
	readonly faults: readonly Fault[]
	/** Requests of other callers during the fault, which are not in the log: they take a part of the capacity. */
	readonly othersPerSecond?: number
	/** The difference to the truth that is accepted. Default 0.05. */
	readonly maxError?: number
}

export const WORKERS = 10

export const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
	outage: { faults: [{ kind: 'outage', mode: 'refuse', ...times }] },
	hang: { faults: [{ kind: 'outage', mode: 'hang', ...times }] },
	errors: { faults: [{ kind: 'errors', rate: 0.4, status: 503, ...times }] },
	slowdown: { faults: [{ kind: 'slowdown', factor: 3, ...times }] },
	'capacity loss': { faults: [{ kind: 'slowdown', factor: 2, ...times }] },
	// The replay takes it for a slowdown, and is off by up to ten points.
	'other callers': { faults: [], othersPerSecond: 150, maxError: 0.1 },
}

const LIMIT: PolicyLayer = { timeoutMs: 500 }
const BREAKER = { failureThreshold: 10, resetTimeoutMs: 2_000 }
const RETRY = { maxRetries: 3, baseDelayMs: 100 }
const BUDGET = { maxRetryRatio: 0.1 }

/** The policies that are replayed. */
export const REPLAYED: Readonly<Record<string, readonly PolicyLayer[]>> = {
	naive: [{ retry: RETRY }, LIMIT],
	budget: [{ retry: { ...RETRY, budget: BUDGET } }, LIMIT],
	breaker: [{ circuitBreaker: BREAKER }, LIMIT],
}

/** The same policies in production. */
export const RECORDED: Readonly<Record<string, (context: PolicyFactoryContext) => Policy<unknown>>> = {
	naive: () => pipeline(retry(RETRY), timeout(500)),
	budget: ({ runtime }: PolicyFactoryContext) =>
		pipeline(retry({ ...RETRY, budget: retryBudget({ ...BUDGET, runtime }) }), timeout(500)),
	breaker: () => pipeline(circuitBreaker(BREAKER), timeout(500)),
}

/** Normally 70 % of the workers are busy. */
const scenarioOf = (
	{ faults, othersPerSecond = 0 }: KnownModel,
	web: PolicyModel,
	seed: number,
): Scenario => ({
	seed,
	durationMs: SECONDS * 1_000 + 5_000,
	services: { api: { workers: WORKERS, serviceTimeMs: { kind: 'exponential', meanMs: 50 }, faults } },
	clients: {
		web: {
			to: 'api',
			arrivals: { kind: 'trace', atMs: arrivalsOf({ perSecond: 140, seconds: SECONDS }) },
			policy: 'web',
		},
		...(othersPerSecond > 0 && {
			others: { to: 'api', arrivals: { kind: 'poisson', perSecond: othersPerSecond, ...times } },
		}),
	},
	policies: { web },
})

export interface Verdict {
	readonly goodShare: number
	/** Whether the calls of the last ten seconds succeed as often as those before the fault. */
	readonly recovers: boolean
}

/** Computes the verdict from the calls, not from \`recovery\`: a model in which others take the capacity has no fault. */
function verdictOf({ clients, timeline }: SimulationResult, client: string): Verdict {
	const { calls = 0, good = 0 } = clients[client] ?? {}
	const { started = [], startedGood = [] } = timeline.clients[client] ?? {}
	const share = (fromMs: number, toMs: number) => {
		const [from, to] = [fromMs / timeline.stepMs, toMs / timeline.stepMs]
		const sum = (list: readonly number[]) =>
			list.slice(Math.round(from), Math.round(to)).reduce((a, b) => a + b, 0)
		return sum(startedGood) / sum(started)
	}
	return {
		goodShare: good / calls,
		recovers: share((SECONDS - 10) * 1_000, SECONDS * 1_000) >= 0.95 * share(0, times.fromMs),
	}
}

/** Returns the log of a model. */
export function record(
	model: KnownModel,
	make: (context: PolicyFactoryContext) => Policy<unknown>,
): readonly string[] {
	const lines: string[] = []
	const web = (context: PolicyFactoryContext) => {
		const policy = make(context)
		policy.subscribe((event) => lines.push(JSON.stringify(event)))
		return policy
	}
	simulate(scenarioOf(model, web, 11))
	return lines
}

export const truthOf = (model: KnownModel, policy: PolicyModel, seeds: readonly number[]): Verdict =>
	meanOf(seeds.map((seed) => verdictOf(simulate(scenarioOf(model, policy, seed)), 'web')))

export const replayOf = (scenario: Scenario, replay: PolicyModel, seeds: readonly number[]): Verdict =>
	meanOf(seeds.map((seed) => verdictOf(simulate({ ...scenario, seed, policies: { replay } }), 'calls')))

/** Returns the mean share, and whether most runs recovered. */
const meanOf = (verdicts: readonly Verdict[]): Verdict => ({
	goodShare: verdicts.reduce((sum, { goodShare }) => sum + goodShare, 0) / verdicts.length,
	recovers: verdicts.filter(({ recovers }) => recovers).length > verdicts.length / 2,
})
