/**
 * One of five instances is slow, dead or restarting. The strategy of the load balancer decides how many calls
 * meet it. Counting outstanding requests avoids a slow instance and prefers a dead one, because nothing is
 * outstanding at an instance that fails immediately.
 */
import type { VariantStudy } from '../run/study.ts'
import type { Fault, LoadBalancerModel, Scenario } from '../scenario/scenario.ts'

const period = { fromMs: 10_000, toMs: 30_000 }
const SLOW: Fault = { kind: 'slowdown', factor: 20, instances: 1, ...period }
const DEAD: Fault = { kind: 'outage', instances: 1, ...period }
const RESTART: Fault = { kind: 'restart', isRolling: true, ...period }

const scenarioOf = (fault: Fault, loadBalancer: LoadBalancerModel): Scenario => ({
	durationMs: 40_000,
	services: {
		api: {
			instances: 5,
			workers: 4,
			serviceTimeMs: { kind: 'exponential', meanMs: 50 },
			loadBalancer,
			faults: [fault],
		},
	},
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 200 }, policy: 'client' } },
	policies: { client: [{ timeoutMs: 1_000 }] },
})

const ejection = { consecutiveFailures: 5, ejectMs: 5_000 }

export const instances: VariantStudy = {
	title: 'One of five instances is ill',
	description:
		'A service with five instances runs at half of its capacity. From 10 s to 30 s one instance is slow or dead, or all restart one ' +
		'after the other. Look at what each strategy of the load balancer does with it.',
	replications: 5,
	measures: ['goodShare', 'p99Ms'],
	chart: 'responses',
	variants: {
		'slow: round-robin': scenarioOf(SLOW, { strategy: 'round-robin' }),
		'slow: two choices': scenarioOf(SLOW, { strategy: 'two-choices' }),
		'slow: least requests': scenarioOf(SLOW, { strategy: 'least-requests' }),
		'slow: round-robin, ejection': scenarioOf(SLOW, { strategy: 'round-robin', ejection }),
		'dead: round-robin': scenarioOf(DEAD, { strategy: 'round-robin' }),
		'dead: two choices': scenarioOf(DEAD, { strategy: 'two-choices' }),
		'dead: least requests': scenarioOf(DEAD, { strategy: 'least-requests' }),
		'dead: least requests, ejection': scenarioOf(DEAD, { strategy: 'least-requests', ejection }),
		'rolling restart': scenarioOf(RESTART, { strategy: 'least-requests' }),
		'rolling restart, drained': scenarioOf({ ...RESTART, drainMs: 1_000 }, { strategy: 'least-requests' }),
	},
}
