/**
 * A user calls A, which calls B, which calls C, and both A and B try three times. What does C get? Nine requests for each call
 * when it is down, if A and B do not know of each other. Three, if the context is handed on: then B retries, or only A, whoever
 * is told to. What that costs is a few calls that nine attempts would have saved.
 */
import type { VariantStudy } from '../run/study.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

const THROUGHOUT = { fromMs: 0, toMs: 30_000 }
const DOWN: Fault = { kind: 'outage', ...THROUGHOUT }
const SHAKY: Fault = { kind: 'errors', rate: 0.3, ...THROUGHOUT }

interface Manners {
	/** Do A and B tell each other what they know of a call? */
	readonly passContext: boolean
	/** Which of them retries, if they do. */
	readonly nested?: 'innermost' | 'outermost'
}

const unaware: Manners = { passContext: false }
const innermost: Manners = { passContext: true, nested: 'innermost' }
const outermost: Manners = { passContext: true, nested: 'outermost' }

const scenarioOf = (fault: Fault, { passContext, nested }: Manners): Scenario => ({
	until: 'idle',
	services: {
		a: { workers: 100, serviceTime: 5, dependsOn: [{ to: 'b', policy: 'three attempts', passContext }] },
		b: { workers: 100, serviceTime: 5, dependsOn: [{ to: 'c', policy: 'three attempts', passContext }] },
		c: { workers: 1, serviceTime: 5, faults: [fault] },
	},
	clients: {
		users: { to: 'a', arrivals: { kind: 'poisson', perSecond: 20, toMs: 25_000 } },
	},
	policies: { 'three attempts': [{ retry: { maxRetries: 2, baseDelayMs: 100, nested } }] },
})

export const layered: VariantStudy = {
	title: 'Retries on two floors',
	description:
		'A calls B, B calls C, and both try three times. Look at the requests that the worst-off service gets for each call of a ' +
		'user (the amplification), while C is down and while it fails three times in ten.',
	replications: 10,
	measures: ['amplification', 'requests', 'goodShare', 'p99Ms'],
	variants: {
		'C is down: each for itself': scenarioOf(DOWN, unaware),
		'C is down: only B retries': scenarioOf(DOWN, innermost),
		'C is down: only A retries': scenarioOf(DOWN, outermost),
		'C is shaky: each for itself': scenarioOf(SHAKY, unaware),
		'C is shaky: only B retries': scenarioOf(SHAKY, innermost),
		'C is shaky: only A retries': scenarioOf(SHAKY, outermost),
	},
}
