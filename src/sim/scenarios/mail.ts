/**
 * A hundred mail clients with one mail each, and a server that accepts one at a time and rejects the others.
 * Without jitter the clients stay in step, and one of each round is accepted: with growing delays the last
 * mail takes most of an hour. Jitter is about as fast as a retry every second, with a tenth of the attempts.
 * A queue at the server is better than all of them.
 */
import type { VariantStudy } from '../run/study.ts'
import type { LayerOptions } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { STRATEGIES } from './herd.ts'

const CLIENTS = 100

const scenarioOf = (strategy: LayerOptions['retry'], queueLimit = 0): Scenario => ({
	until: 'idle',
	services: {
		// A mail takes a second.
		server: {
			workers: 1,
			serviceTimeMs: { kind: 'exponential', meanMs: 1_000 },
			queue: { limit: queueLimit },
		},
	},
	clients: {
		senders: { to: 'server', arrivals: { kind: 'closed', users: CLIENTS, callsEach: 1 }, policy: 'sender' },
	},
	policies: {
		sender: [{ retry: { baseDelayMs: 1_000, maxDelayMs: 30_000, maxRetries: 1_000, ...strategy } }],
	},
})

export const mail: VariantStudy = {
	title: 'A hundred mails, one at a time',
	description:
		'A server accepts one mail at a time and rejects the others. Look at when the last of a hundred mails is sent, and at the ' +
		'attempts per mail.',
	replications: 10,
	measures: ['lastResponseAtMs', 'amplification', 'p50Ms', 'p99Ms'],
	variants: {
		...Object.fromEntries(Object.entries(STRATEGIES).map(([name, strategy]) => [name, scenarioOf(strategy)])),
		'queue at the server': scenarioOf({}, CLIENTS),
	},
}
