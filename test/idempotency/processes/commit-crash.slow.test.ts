import { Agent } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DATABASES } from './databases.ts'
import { post } from './post.ts'
import { ServerFleet } from './server-fleet.ts'

describe.each(['PostgreSQL', 'SQLite'] as const)('%s', (kind) => {
	test('a server that is killed between the commit and the response: a repeated request gets the response that the transaction stored', async () => {
		await using database = await DATABASES[kind]()
		// Nothing waits for the lease: a key that was not completed would be locked for a minute.
		await using fleet = await ServerFleet.open(
			{ store: database.address, leaseMs: 60_000, areApart: true },
			2,
		)
		const agent = new Agent()
		onTestFinished(() => agent.destroy())
		const [first, second] = await Promise.all([fleet.start(), fleet.start()])
		const headers = { 'idempotency-key': 'k1' }
		await expect(
			post(agent, first.port, '/commits', { ...headers, 'x-crash': 'after the commit' }),
		).rejects.toThrow()
		await first.ended
		const replays = [
			await post(agent, second.port, '/commits', headers),
			await post(agent, second.port, '/commits', headers),
		]
		expect(replays.map(({ status }) => status)).toEqual([201, 201])
		expect(replays[0]?.body).toHaveLength(36)
		expect(replays[1]?.body).toBe(replays[0]?.body)
	})
})
