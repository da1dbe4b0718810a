/** A shop that calls its stock service, described by numbers that you can measure. */
import type { Fault, PolicyModel, Scenario } from 'yaoki/sim'

/** What happened last spring: requests took four times as long, for ten seconds. */
export const SLOW: Fault = { kind: 'slowdown', factor: 4, fromMs: 10_000, toMs: 20_000 }
/** What happens every month: no response for one second, while the database of the service fails over. */
export const FAILOVER: Fault = { kind: 'outage', mode: 'hang', fromMs: 10_000, toMs: 11_000 }

/** Returns 40 s of traffic, with a fault or without. */
export const shop = (policy: PolicyModel, ...faults: readonly Fault[]): Scenario => ({
	durationMs: 40_000,
	services: {
		stock: {
			workers: 5, // requests that it processes concurrently
			serviceTimeMs: { kind: 'lognormal', medianMs: 20, p99Ms: 150 }, // p50 and p99 in a normal hour
			faults,
		},
	},
	clients: {
		shop: {
			to: 'stock',
			arrivals: { kind: 'poisson', perSecond: 100 }, // calls of all instances together
			instances: 2, // processes of the shop
			goodWithinMs: 2_000, // how long the shop's own caller waits
			policy: 'stock',
		},
	},
	policies: { stock: policy },
})
