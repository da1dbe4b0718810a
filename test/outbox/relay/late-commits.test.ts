import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Outbox, Relay } from 'yaoki/outbox'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { type LateCommitStore, lateCommitStore } from './late-commit-store.ts'

interface LateCommits {
	readonly clock: VirtualRuntime
	readonly store: LateCommitStore
	/** The longest time between the moment when a message could be claimed and its delivery. */
	worstMs: number
	stop(): Promise<void>
}

async function setup(failingShare: number, rowMs = 0.001): Promise<LateCommits> {
	const clock = virtualRuntime()
	const store = lateCommitStore(clock, rowMs)
	const outbox = new Outbox({ store, runtime: clock })
	const commits: LateCommits = {
		clock,
		store,
		worstMs: 0,
		async stop() {
			const stopped = relay.stop({ timeoutMs: 1 })
			await clock.advance(5_000)
			await stopped
		},
	}
	const deliver = ({ id }: { readonly id: string }) => {
		commits.worstMs = Math.max(commits.worstMs, clock.wallNow() - store.claimableSince(id))
		if (clock.random() < failingShare) throw new Error('no')
	}
	const retry = { baseDelayMs: 10, maxDelayMs: 2_000 }
	const relay = new Relay(outbox, {
		destinations: { jobs: deliver },
		retry,
		circuitBreaker: false,
		runtime: clock,
	})
	const started = relay.start()
	await clock.advance(100)
	await started
	return commits
}

test('one large transaction that commits after later messages were sent is delivered without waiting between its batches', async () => {
	// Regression: each full scan found one batch, and the next one ran 20 times its duration later.
	const commits = await setup(0)
	commits.store.write(4_000, 2_000)
	for (let at = 0; at < 100; at++) {
		commits.store.write(1, 0)
		await commits.clock.advance(20)
	}
	await commits.clock.advance(1_000)
	expect(commits.store.unsent).toBe(0)
	await commits.stop()
})

test('every committed due message is delivered within a second, in whatever order transactions commit and retries come due', async () => {
	const transaction = fc.record({
		afterMs: fc.integer({ min: 0, max: 300 }),
		count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 300 })),
		commitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5_000 })),
	})
	await fc.assert(
		fc.asyncProperty(
			fc.array(transaction, { minLength: 1, maxLength: 20 }),
			fc.constantFrom(0, 0.02, 0.5),
			async (transactions, failingShare) => {
				const commits = await setup(failingShare)
				for (const { afterMs, count, commitMs } of transactions) {
					await commits.clock.advance(afterMs)
					commits.store.write(count, commitMs)
				}
				await commits.clock.advance(30_000)
				await commits.stop()
				expect(commits.store.unsent).toBe(0)
				expect(commits.worstMs).toBeLessThanOrEqual(1_000)
			},
		),
		{ numRuns: 15 },
	)
})

test('while sent messages cannot be vacuumed, scans of all of them take at most a tenth of the time', async () => {
	const commits = await setup(0, 0.1)
	for (let at = 0; at < 10; at++) {
		commits.store.write(200, 0)
		await commits.clock.advance(500)
	}
	expect(commits.store.unsent).toBe(0)
	commits.store.targets.length = 0
	// A full scan takes 200 ms, because it reads 2,000 dead rows, or more.
	for (let at = 0; at < 400; at++) {
		commits.store.write(1, 0)
		await commits.clock.advance(50)
	}
	await commits.clock.advance(500)
	expect(commits.store.unsent).toBe(0)
	const full = commits.store.targets.filter(({ since }) => since === 0)
	expect(full.length).toBeGreaterThan(5)
	expect(full.length).toBeLessThanOrEqual(1 + 20_500 / (10 * 200))
	await commits.stop()
})
