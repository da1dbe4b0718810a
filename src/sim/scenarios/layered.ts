/**
 * A user calls A, which calls B, which calls C, and both A and B make up to three attempts. While C is down
 * it gets nine requests per call if A and B are independent, and three if they pass their context on: then
 * only B retries, or only A. The cost is a few calls that nine attempts would have saved.
 */
import type { VariantStudy } from '../run/study.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

const THROUGHOUT = { fromMs: 0, toMs: 30_000 }
const DOWN: Fault = { kind: 'outage', ...THROUGHOUT }
const FLAKY: Fault = { kind: 'errors', rate: 0.3, ...THROUGHOUT }

interface Nesting {
	/** A and B pass their context on. */
	readonly passContext: boolean
	/** Which of them retries, if they pass it. */
	readonly nested?: 'innermost' | 'outermost'
}

const independent: Nesting = { passContext: false }
const innermost: Nesting = { passContext: true, nested: 'innermost' }
const outermost: Nesting = { passContext: true, nested: 'outermost' }

const scenarioOf = (fault: Fault, { passContext, nested }: Nesting): Scenario => ({
	until: 'idle',
	services: {
		a: { workers: 100, serviceTimeMs: 5, dependsOn: [{ to: 'b', policy: 'three attempts', passContext }] },
		b: { workers: 100, serviceTimeMs: 5, dependsOn: [{ to: 'c', policy: 'three attempts', passContext }] },
		c: { workers: 1, serviceTimeMs: 5, faults: [fault] },
	},
	clients: { users: { to: 'a', arrivals: { kind: 'poisson', perSecond: 20, toMs: 25_000 } } },
	policies: { 'three attempts': [{ retry: { maxRetries: 2, baseDelayMs: 100, nested } }] },
})

export const layered: VariantStudy = {
	title: 'Retries on two levels',
	description:
		'A calls B, B calls C, and both make up to three attempts. Look at the amplification, the requests per call at the service with ' +
		'the most, while C is down and while 30 % of its requests fail.',
	replications: 10,
	measures: ['amplification', 'requests', 'goodShare', 'p99Ms'],
	variants: {
		'C is down: independent': scenarioOf(DOWN, independent),
		'C is down: only B retries': scenarioOf(DOWN, innermost),
		'C is down: only A retries': scenarioOf(DOWN, outermost),
		'C fails 30 %: independent': scenarioOf(FLAKY, independent),
		'C fails 30 %: only B retries': scenarioOf(FLAKY, innermost),
		'C fails 30 %: only A retries': scenarioOf(FLAKY, outermost),
	},
}
