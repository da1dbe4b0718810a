/** The figures of docs/scenarios/breakers.md. */
import type { SimulationResult } from '../../src/sim/measure/result.ts'
import { replicate } from '../../src/sim/run/replicate.ts'
import {
	CALLS_PER_SECOND,
	CHAIN_CALLS_PER_SECOND,
	chainScenario,
	DOWN_AT_MS,
	OPEN_TIMES,
	outageScenario,
} from '../../src/sim/scenarios/breakers.ts'

/** Calls of this time after the outage are counted. */
const COUNTED_MS = 30_000
const FIRST_MS = 5_000

/** Sums steps of the timeline. */
function sum(
	{ timeline: { stepMs } }: SimulationResult,
	steps: readonly number[] = [],
	fromMs: number,
	toMs: number,
) {
	return steps
		.slice(Math.round(fromMs / stepMs), Math.round(toMs / stepMs))
		.reduce((all, one) => all + one, 0)
}

interface Figures {
	/** Failed calls of the time after the outage, in milliseconds of calls. */
	lostMs(result: SimulationResult): number
	/** Requests in the first seconds after the outage, as a share of the capacity. */
	firstShare(result: SimulationResult): number
	/** Requests during the outage, as a share of the calls without one. */
	downShare(result: SimulationResult): number
}

export function figures(downMs: number, clients: number): Figures {
	const upAtMs = DOWN_AT_MS + downMs
	const callsPerMs = (CALLS_PER_SECOND * clients) / 1_000
	return {
		lostMs: (result) => lostCalls(result, upAtMs) / callsPerMs,
		firstShare(result) {
			const capacityPerMs = (result.services['api']?.capacityPerSecond ?? 0) / 1_000
			return requests(result, upAtMs, upAtMs + FIRST_MS) / (FIRST_MS * capacityPerMs)
		},
		downShare: (result) => requests(result, DOWN_AT_MS, upAtMs) / (downMs * callsPerMs),
	}
}

const requests = (result: SimulationResult, fromMs: number, toMs: number): number =>
	sum(result, result.timeline.services['api']?.requests, fromMs, toMs)

/** The columns of the table over all outages. */
const COMPARED = ['no breaker', '30 s', 'x 1.5, to 30 s', 'x 1.5, to 2 s, 2 probes (default)'] as const

/** Fewer runs of large fleets, in which single runs differ little. */
const replicationsOf = (clients: number): number => (clients === 500 ? 1 : clients === 20 ? 4 : 20)

/** Returns lost calls by breaker, and the requests that the service gets with the default. */
export function outageRow(downMs: number, clients: number, isCold: boolean): readonly string[] {
	const { lostMs, firstShare, downShare } = figures(downMs, clients)
	const all = COMPARED.map((name) => {
		const breaker = OPEN_TIMES[name]
		const scenario = outageScenario({ downMs, clients, isCold, ...(breaker && { breaker }) })
		return replicate(scenario, { replications: replicationsOf(clients) }).runs
	})
	const mean = (runs: readonly SimulationResult[], figure: (result: SimulationResult) => number): number =>
		runs.reduce((total, run) => total + figure(run), 0) / runs.length
	const byDefault = all.at(-1) ?? []
	return [
		`${downMs / 1_000} s`,
		String(clients),
		isCold ? 'cold' : 'warm',
		...all.map((runs) => `${(mean(runs, lostMs) / 1_000).toFixed(1)} s`),
		`${Math.round(100 * mean(byDefault, firstShare))} %`,
		`${Math.round(100 * mean(byDefault, downShare))} %`,
	]
}

export const OUTAGES: readonly (readonly [downMs: number, clients: number, isCold: boolean])[] = [
	1_000, 5_000, 20_000, 300_000,
].flatMap((downMs) =>
	[1, 20, 500].flatMap((clients) => [false, true].map((isCold) => [downMs, clients, isCold] as const)),
)

export const outageTable = (): readonly (readonly string[])[] => OUTAGES.map((outage) => outageRow(...outage))

/** Calls lost after an outage behind three services, by breaker. */
export function chainTable(): readonly (readonly string[])[] {
	return Object.entries(OPEN_TIMES).flatMap(([name, breaker]) =>
		breaker ? [[name, ...[5_000, 20_000, 120_000].map((downMs) => chainLoss(downMs, breaker))]] : [],
	)
}

function chainLoss(downMs: number, breaker: Parameters<typeof chainScenario>[1]): string {
	const upAtMs = DOWN_AT_MS + downMs
	const { runs } = replicate(chainScenario(downMs, breaker), { replications: 10 })
	const lost = runs.map((run) => lostCalls(run, upAtMs))
	const mean = lost.reduce((total, one) => total + one, 0) / lost.length
	return `${(mean / CHAIN_CALLS_PER_SECOND).toFixed(1)} s`
}

/** Calls that started within the counted time after the outage, and failed. */
function lostCalls(result: SimulationResult, upAtMs: number): number {
	const { started, startedGood } = result.timeline.clients['web'] ?? {}
	const [all, good] = [started, startedGood].map((steps) => sum(result, steps, upAtMs, upAtMs + COUNTED_MS))
	return (all ?? 0) - (good ?? 0)
}
