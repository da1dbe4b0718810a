/**
 * Many concurrent requests with one key, spread over several server processes: the handler runs exactly once. A test runs some rounds, and
 * `npm run bench` a thousand.
 */

import type { StoreAddress } from './open-store.ts'
import { keepAliveAgent, post } from './post.ts'
import { ServerFleet } from './server-fleet.ts'

export interface RaceOptions {
	readonly rounds: number
	readonly requests: number
	readonly servers: number
}

export interface RaceTotals {
	readonly rounds: number
	readonly requests: number
	/** Responses of the handler: the first one and its repetitions. */
	readonly responses: number
	readonly conflicts: number
	/** What was wrong, by round. */
	readonly findings: readonly string[]
}

/** Far longer than a handler runs, also on a machine that stalls. */
const LEASE_MS = 60_000

export async function runRaces(store: StoreAddress, options: RaceOptions): Promise<RaceTotals> {
	await using fleet = await ServerFleet.open({ store, leaseMs: LEASE_MS, areApart: false }, options.servers)
	const servers = await Promise.all(Array.from({ length: options.servers }, () => fleet.start()))
	const ports = servers.map(({ port }) => port)
	const agent = keepAliveAgent()
	const totals = { rounds: 0, requests: 0, responses: 0, conflicts: 0, findings: [] as string[] }
	try {
		for (; totals.rounds < options.rounds; totals.rounds++) {
			const key = crypto.randomUUID()
			// Half of the rounds wait for the first request, the other half get 409 while it runs.
			const path = totals.rounds % 2 ? '/race-and-wait' : '/race'
			const send = (_: unknown, n: number) =>
				post(agent, ports[n % ports.length] ?? 0, path, { 'idempotency-key': key })
			const received = await Promise.all(Array.from({ length: options.requests }, send))
			const responses = received.filter(({ status }) => status === 201)
			const conflicts = received.filter(({ status }) => status === 409)
			const runs = await Promise.all(
				ports.map(async (port) =>
					Number((await post(agent, port, '/runs', { 'idempotency-key': key })).body),
				),
			)
			totals.requests += received.length
			totals.responses += responses.length
			totals.conflicts += conflicts.length
			const found = (what: string) => totals.findings.push(`round ${totals.rounds} (${path}): ${what}`)
			const total = runs.reduce((sum, count) => sum + count, 0)
			if (total !== 1) found(`the handler ran ${total} times`)
			const bodies = new Set(responses.map(({ body }) => body))
			if (bodies.size !== 1) found(`${bodies.size} different responses`)
			const others = received.length - responses.length - (path === '/race' ? conflicts.length : 0)
			if (others) found(`statuses ${[...new Set(received.map(({ status }) => status))].join(', ')}`)
			const first = responses.filter(({ headers }) => headers['idempotency-replayed'] === undefined)
			if (first.length !== 1) found(`${first.length} responses that are not repetitions`)
		}
	} finally {
		agent.destroy()
	}
	return totals
}
