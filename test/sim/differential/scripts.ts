/** Random scripts for the differential test: every order of up to five kinds of layers, with random options, calls and faults. */
import {
	bulkhead,
	circuitBreaker,
	hedge,
	type Policy,
	type Runtime,
	retry,
	retryBudget,
	timeout,
} from 'yaoki'
import type { Fault } from 'yaoki/sim'
import { seededRandom } from 'yaoki/testing'
import type { Script } from './production.ts'

type Pick = <T>(...values: readonly T[]) => T

const LAYERS: Readonly<Record<string, (pick: Pick) => (runtime: Runtime) => Policy>> = {
	retry(pick) {
		const options = {
			maxRetries: pick(1, 2, 5),
			baseDelayMs: pick(7, 53, 211),
			jitterStrategy: pick<'full' | 'none'>('full', 'none'),
		}
		const hasBudget = pick(true, false, false)
		return (runtime) =>
			retry({ ...options, ...(hasBudget && { budget: retryBudget({ runtime, maxRetryRatio: 0.2 }) }) })
	},
	timeout(pick) {
		const ms = pick(41, 97, 307)
		return () => timeout(ms)
	},
	circuitBreaker(pick) {
		const options = { failureThreshold: pick(3, 8), resetTimeoutMs: pick(151, 613) }
		return () => circuitBreaker(options)
	},
	bulkhead(pick) {
		const options = {
			maxConcurrent: pick(1, 3, 8),
			maxQueue: pick(0, 4, 50),
			queueTimeoutMs: pick(61, 503, Infinity),
		}
		return () => bulkhead(options)
	},
	hedge(pick) {
		const options = { delayMs: pick(17, 59), maxHedges: pick(1, 2) }
		return () => hedge(options)
	},
}

const KINDS = Object.keys(LAYERS)

/** All ordered selections of different kinds: 325 of them. */
export const ORDERS: readonly (readonly string[])[] = ordersOf([])

function ordersOf(chosen: readonly string[]): readonly (readonly string[])[] {
	const longer = KINDS.filter((kind) => !chosen.includes(kind)).flatMap((kind) => ordersOf([...chosen, kind]))
	return chosen.length === 0 ? longer : [chosen, ...longer]
}

/** Returns a script for this order of layers, always the same for the same seed. */
export function createScript(order: readonly string[], seed: number, ignoresSignal: boolean): Script {
	const random = seededRandom(`script ${seed} ${order.join(' ')}`)
	const pick: Pick = (...values) => values[Math.floor(random() * values.length)] as never
	const makers = order.map((kind) => LAYERS[kind]?.(pick)).filter((make) => make !== undefined)
	return {
		seed,
		atMs: Array.from({ length: 60 }, () => random() * 2_000).sort((a, b) => a - b),
		serviceMs: pick(5.01, 23.03, 71.07),
		faults: createFaults(random, pick, order.includes('hedge')),
		ignoresSignal,
		// A deadline ends all requests of a hedged call in one instant; a bulkhead inside estimates its queue from the order of their ends.
		deadlineMs:
			order.includes('hedge') && order.includes('bulkhead') ? undefined : pick(undefined, undefined, 257),
		make: (runtime) => makers.map((make) => make(runtime)),
	}
}

/**
 * An outage that refuses also resets the requests in progress, all in one instant. Which of several hedged calls continues first then
 * depends on the number of awaits in the operation, in production too. So hedged calls meet outages that hang.
 */
function createFaults(random: () => number, pick: Pick, isHedged: boolean): readonly Fault[] {
	const fromMs = 300 + 300 * random()
	const times = { fromMs, toMs: fromMs + 200 + 500 * random() }
	const fault = pick<Fault | undefined>(
		undefined,
		{ kind: 'outage', mode: isHedged ? 'hang' : 'refuse', ...times },
		{ kind: 'outage', mode: 'hang', ...times },
		{ kind: 'outage', mode: 'hang', ...times },
		{ kind: 'slowdown', factor: 9, ...times },
		{ kind: 'errors', rate: 1, status: 503, ...times },
	)
	return fault ? [fault] : []
}
