/** Servers whose clocks differ by days share a store: only the store's clock decides about leases, retention and Retry-After. */
import { describe, expect, onTestFinished, test } from 'vitest'
import type { IdempotencyOptions } from '../../../src/idempotency/index.ts'
import { assertNear } from '../../../src/idempotency/testing/harness/assertions.ts'
import { LONG_MS, StoreHarness } from '../../../src/idempotency/testing/harness/harness.ts'
import type { IdempotencyStoreUnderTest } from '../../../src/idempotency/testing/index.ts'
import { claimOf, identityOf, RESPONSE, server } from './server.ts'

/** More than the leases and retentions of the cases: by the clock of the server that is ahead, all of them have ended. */
const DIFFERENCE_MS = 3 * LONG_MS

const OFFSETS = { 'is right': 0, 'is ahead': DIFFERENCE_MS, 'is behind': -DIFFERENCE_MS } as const
type Offset = keyof typeof OFFSETS

const PAIRS: readonly (readonly [first: Offset, second: Offset])[] = [
	['is right', 'is ahead'],
	['is right', 'is behind'],
	['is ahead', 'is right'],
	['is ahead', 'is behind'],
	['is behind', 'is right'],
	['is behind', 'is ahead'],
]

export function clockCases(open: () => IdempotencyStoreUnderTest | Promise<IdempotencyStoreUnderTest>): void {
	describe.each(PAIRS)('the clock of the first server %s, that of the second %s', (first, second) => {
		/** Two servers, each with a store of its own where there can be two. */
		async function setup(options: (shortMs: number) => Partial<IdempotencyOptions> = () => ({})) {
			const opened = await open()
			const t = new StoreHarness(opened)
			onTestFinished(() => t.close())
			const settings = {
				leaseMs: LONG_MS,
				maxRunMs: LONG_MS,
				retentionMs: LONG_MS,
				...options(t.shortMs),
			}
			const other = (await opened.another?.()) ?? opened.store
			if (other !== opened.store) onTestFinished(() => other.close?.())
			return {
				t,
				one: server(opened.store, OFFSETS[first], settings),
				two: server(other, OFFSETS[second], settings),
			}
		}

		test('a lease is not taken over before its end, and all servers see the same rest', async () => {
			const { t, one, two } = await setup()
			const claim = claimOf(await one.begin())
			expect(await two.begin()).toMatchObject({ kind: 'conflict', reason: 'in-progress' })
			let passedMs = 0
			if (t.opened.advance) {
				passedMs = LONG_MS / 2
				await t.letPass(passedMs)
			}
			for (const each of [one, two]) {
				expect(await each.begin()).toMatchObject({ kind: 'conflict', reason: 'in-progress' })
				const found = await each.run((engine) => engine.find(identityOf()))
				assertNear(found?.leaseLeftMs ?? undefined, LONG_MS - passedMs, 'the rest of the lease')
			}
			expect(await one.run((engine) => engine.complete(claim, RESPONSE))).toBe(true)
			expect(await two.begin()).toEqual({ kind: 'replay', response: RESPONSE })
		})

		test('a lease is taken over after its end, and the first server cannot write', async () => {
			const { t, one, two } = await setup((shortMs) => ({ leaseMs: shortMs, maxRunMs: shortMs }))
			const lost = claimOf(await one.begin())
			await t.letPass(t.shortMs)
			const claim = claimOf(await two.begin())
			expect(await one.run((engine) => engine.complete(lost, RESPONSE))).toBe(false)
			expect(await two.run((engine) => engine.complete(claim, RESPONSE))).toBe(true)
			expect(await one.begin()).toEqual({ kind: 'replay', response: RESPONSE })
		})

		test('a heartbeat extends the lease from now', async () => {
			const { t, one, two } = await setup()
			const claim = claimOf(await one.begin())
			if (t.opened.advance) await t.letPass(LONG_MS / 2)
			expect(await one.run((engine) => engine.heartbeat(claim))).toBe(true)
			expect(await two.begin()).toMatchObject({ kind: 'conflict', reason: 'in-progress' })
			const found = await two.run((engine) => engine.find(identityOf()))
			assertNear(found?.leaseLeftMs ?? undefined, LONG_MS, 'the rest of the lease')
		})

		test('a key is abandoned when its lease has ended, not before', async () => {
			const { t, one, two } = await setup(() => ({ abandoned: 'reject' }))
			await one.begin('lasts')
			const crashed = server(t.store, OFFSETS[first], { leaseMs: t.shortMs, maxRunMs: t.shortMs })
			await crashed.begin('ends')
			await t.letPass(t.shortMs)
			expect(await two.begin('lasts')).toMatchObject({ kind: 'conflict', reason: 'in-progress' })
			expect(await two.begin('ends')).toEqual({ kind: 'conflict', reason: 'outcome-unknown' })
			const rerun = (key: string) => two.run((engine) => engine.resolve(identityOf(key), 'rerun'))
			await expect(rerun('lasts')).rejects.toMatchObject({ code: 'YAOKI_IDEMPOTENCY_KEY_UNCHANGED' })
			await rerun('ends')
			expect(await two.begin('ends')).toMatchObject({ kind: 'run' })
		})

		test('a response is kept until its retention is over, also from a purge', async () => {
			const { t, one, two } = await setup()
			const forgetful = server(t.store, OFFSETS[first], { retentionMs: t.shortMs })
			const kept = claimOf(await one.begin('kept'))
			await one.run((engine) => engine.complete(kept, RESPONSE))
			const short = claimOf(await forgetful.begin('short'))
			await forgetful.run((engine) => engine.complete(short, RESPONSE))
			await t.letPass(t.shortMs)
			const purged = await two.run((engine) => engine.purge())
			expect(purged).toBe(t.opened.purgesItself ? 0 : 1)
			expect(await two.begin('kept')).toEqual({ kind: 'replay', response: RESPONSE })
			expect(await two.begin('short')).toMatchObject({ kind: 'run' })
			if (!t.opened.advance) return
			await t.letPass(LONG_MS)
			expect(await two.begin('kept')).toMatchObject({ kind: 'run' })
		})
	})
}
