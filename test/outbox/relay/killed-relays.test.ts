import { expect, test } from 'vitest'
import { CANDIDATE_AFTER } from '../../../src/outbox/store/decisions/poison.ts'
import { runKilled } from './killed-relays.ts'
import { setup, type TestSystem } from './setup.ts'

const MAX_CRASHES = 5

async function deadLetters(system: TestSystem): Promise<string[]> {
	return (await system.outbox.list({ status: 'dead' })).map(({ payload }) => String(payload))
}

/** Kills hit one run in five; returns the dead letters. */
async function underKills(maxCrashes: number): Promise<string[]> {
	await using system = await setup('kills')
	await system.enqueue(300)
	const kills = { seed: 'kills', kills: 20, relays: 1, meanMs: 1_000, handlerMs: 400, arrivalMs: 500 }
	await runKilled(system, { ...kills, options: { leaseMs: 1_000, maxCrashes } })
	const dead = await deadLetters(system)
	// Without further kills everything else is sent.
	expect(await system.outbox.list()).toHaveLength(dead.length)
	return dead
}

test('kills from outside make no innocent message a dead letter', async () => {
	expect(await underKills(MAX_CRASHES)).toEqual([])
}, 60_000)

test('with one crash alone as proof, the same kills make innocent messages dead letters', async () => {
	expect(await underKills(1)).not.toEqual([])
}, 60_000)

test('a poison message becomes a dead letter after a bounded number of crashes, also among kills from outside', async () => {
	await using system = await setup('poison')
	await system.enqueue(30)
	await system.enqueue(1, { payload: 'poison' })
	await system.enqueue(30)
	const kills = { seed: 'poison', kills: 10, relays: 2, meanMs: 1_000, handlerMs: 50, arrivalMs: 500 }
	const { crashes } = await runKilled(system, {
		...kills,
		options: { leaseMs: 1_000, maxCrashes: MAX_CRASHES },
	})
	expect(await deadLetters(system)).toEqual(['poison'])
	expect(crashes).toBeLessThanOrEqual(CANDIDATE_AFTER + MAX_CRASHES)
	expect(crashes).toBeGreaterThanOrEqual(MAX_CRASHES)
}, 60_000)
