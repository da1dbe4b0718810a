/**
 * A hundred mail clients, each with one mail, and a server that takes one at a time and turns the others away. How long does
 * it take until the last mail is out, and what does it cost? Without jitter the clients stay in step and one of each round gets
 * in: growing waits make that the better part of an hour. Jitter is nearly as quick as asking every second, for a tenth of the
 * attempts. A line at the server beats them all.
 */
import type { VariantStudy } from '../run/study.ts'
import type { LayerOptions } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { STRATEGIES } from './strategies.ts'

const CLIENTS = 100

const scenarioOf = (strategy: LayerOptions['retry'], places = 0): Scenario => ({
	until: 'idle',
	services: {
		// A mail takes a second. Nobody waits in line, unless there are places to do so.
		server: { workers: 1, serviceTime: { kind: 'exponential', meanMs: 1_000 }, queue: { limit: places } },
	},
	clients: {
		senders: {
			to: 'server',
			arrivals: { kind: 'closed', users: CLIENTS, callsEach: 1 },
			policy: 'sender',
		},
	},
	policies: {
		sender: [{ retry: { baseDelayMs: 1_000, maxDelayMs: 30_000, maxRetries: 1_000, ...strategy } }],
	},
})

export const mail: VariantStudy = {
	title: 'A hundred mails, one at a time',
	description:
		'A server takes one mail at a time and turns the others away. Look at when the last of a hundred mails is out, and at the ' +
		'attempts that each took.',
	replications: 10,
	measures: ['lastResponseAtMs', 'amplification', 'p50Ms', 'p99Ms'],
	variants: {
		...Object.fromEntries(Object.entries(STRATEGIES).map(([name, strategy]) => [name, scenarioOf(strategy)])),
		'a line at the server': scenarioOf({}, CLIENTS),
	},
}
