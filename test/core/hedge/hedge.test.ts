import { describe, expect, test } from 'vitest'
import { type CallContext, Deadline, hedge, type YaokiEvent } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { exceptCalls, settled, taking } from '../../support/scenario.ts'
import { requests } from './requests.ts'

const first = new Error('first')

describe('a hedge', () => {
	test('does nothing for a call that settles in time', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 49, value: 'a' })
		const policy = hedge({ delayMs: 50, runtime: clock })
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'a' })
		expect(work.sentAt).toEqual([0])
		expect(work.contexts[0]?.signal.aborted).toBe(false)
		expect(clock.now()).toBe(49)
	})

	test('does nothing for an operation that settles immediately or throws', async () => {
		const clock = virtualRuntime()
		const policy = hedge({ delayMs: 0, runtime: clock })
		expect(
			await settled(
				clock,
				policy.execute(() => 'now'),
			),
		).toEqual({ ok: true, value: 'now' })
		const thrown = policy.execute(() => {
			throw first
		})
		expect(await settled(clock, thrown)).toEqual({ ok: false, error: first })
		expect(clock.now()).toBe(0)
	})

	test('sends a second request after the delay and returns the first result', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 500, value: 'slow' }, { ms: 20, value: 'fast' })
		const answer = hedge({ delayMs: 50, runtime: clock }).execute(work)
		const end = answer.then(() => clock.now())
		expect(await settled(clock, answer)).toEqual({ ok: true, value: 'fast' })
		expect(await end).toBe(70)
		expect(work.sentAt).toEqual([0, 50])
	})

	test("returns the first request's result if that comes first", async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 60, value: 'slow' }, { ms: 200, value: 'slower' })
		expect(await settled(clock, hedge({ delayMs: 50, runtime: clock }).execute(work))).toEqual({
			ok: true,
			value: 'slow',
		})
	})

	test.each([
		['the first', 0, [{ ms: 500 }, { ms: 20 }]],
		['the second', 1, [{ ms: 60 }, { ms: 500 }]],
	])('aborts %s with a reason if it loses, and never the winner', async (_, loser, script) => {
		const clock = virtualRuntime()
		const work = requests(clock, ...script)
		await settled(clock, hedge({ delayMs: 50, runtime: clock }).execute(work))
		const signals = work.contexts.map(({ signal }) => signal)
		expect(signals[loser]?.reason).toMatchObject({
			code: 'YAOKI_CANCELLED',
			message: 'another request of this call ended first',
		})
		expect(signals[1 - loser]?.aborted).toBe(false)
	})

	test('regression: shows no aborted signal to a winner that reads it after the end', async () => {
		// The winner's signal hung on that of the scope which was aborted for the losers.
		const clock = virtualRuntime()
		const contexts: CallContext[] = []
		const policy = hedge({ delayMs: 50, runtime: clock })
		const answer = policy.execute((context) => {
			contexts.push(context)
			return taking(clock, contexts.length === 1 ? 500 : 20)()
		})
		await settled(clock, answer)
		expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, false])
	})

	test('passes the same attempt, key and deadline to every request', async () => {
		const clock = virtualRuntime()
		const deadline = Deadline.after(1_000, { runtime: clock })
		const work = requests(clock, { ms: 500 }, { ms: 20 })
		await settled(clock, hedge({ delayMs: 50, runtime: clock }).execute(work, { key: 'k', deadline }))
		expect(work.contexts).toMatchObject(new Array(2).fill({ attempt: 0, key: 'k', deadline }))
	})

	test('is never sent for a call that is not idempotent', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 500, value: 'once' })
		const policy = hedge({ delayMs: 50, runtime: clock })
		expect(await settled(clock, policy.execute(work, { idempotent: false }))).toEqual({
			ok: true,
			value: 'once',
		})
		expect(work.sentAt).toEqual([0])
	})

	test('sends several, each after one more delay, until one succeeds', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 900 }, { ms: 900 }, { ms: 30, value: 'third' })
		const policy = hedge({ delayMs: 50, maxHedges: 5, runtime: clock })
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'third' })
		expect(work.sentAt).toEqual([0, 50, 100])
		expect(work.contexts.map(({ signal }) => signal.aborted)).toEqual([true, true, false])
	})

	test('sends no more than maxHedges', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 900, value: 'a' }, { ms: 900 }, { ms: 900 })
		await settled(clock, hedge({ delayMs: 50, maxHedges: 2, runtime: clock }).execute(work))
		expect(work.sentAt).toEqual([0, 50, 100])
	})

	test('emits when it was sent and when it won', async () => {
		const clock = virtualRuntime()
		const events: YaokiEvent[] = []
		const policy = hedge({ delayMs: 50, maxHedges: 2, name: 'reads', runtime: clock })
		policy.subscribe(exceptCalls((event) => events.push(event)))
		await settled(clock, policy.execute(requests(clock, { ms: 900 }, { ms: 900 }, { ms: 30 })))
		const at = (ms: number) => Date.UTC(2026, 0, 1) + ms
		const shared = { type: 'hedge', emitter: 'reads', callId: 'call-1', attempt: 1 }
		expect(events).toEqual([
			{ ...shared, outcome: 'sent', hedge: 1, timestamp: at(50) },
			{ ...shared, outcome: 'sent', hedge: 2, timestamp: at(100) },
			{ ...shared, outcome: 'won', hedge: 2, timestamp: at(130) },
		])
	})

	test('can be changed for later calls', async () => {
		const clock = virtualRuntime()
		const policy = hedge({ delayMs: 50, runtime: clock })
		policy.update({ delayMs: 10 })
		const work = requests(clock, { ms: 500 }, { ms: 20 })
		await settled(clock, policy.execute(work))
		expect(work.sentAt).toEqual([0, 10])
		expect(() => policy.update({ maxHedges: 0 })).toThrow(/Invalid option "maxHedges": expected .*, got 0/)
	})

	test.each([
		[{ delayMs: -1 }, /Invalid option "delayMs": expected .*, got -1/],
		[{ percentile: 101 }, /Invalid option "percentile": expected .*, got 101/],
		[{ maxHedges: 1.5 }, /Invalid option "maxHedges": expected .*, got 1\.5/],
		[{ budget: {} }, 'Invalid option "budget"'],
		[{ delay: 5 }, /^Unknown option "delay" for hedge\. Did you mean "delayMs"\?$/],
	])('rejects %o', (options, message) => {
		expect(() => hedge(options as object)).toThrow(message)
	})
})

describe('a hedge that learns its delay', () => {
	/** Calls that take 1 to `count` ms, one each. */
	async function taught(count: number, percentile?: number) {
		const clock = virtualRuntime()
		const policy = hedge({ percentile, runtime: clock })
		for (let ms = 1; ms <= count; ms++) await settled(clock, policy.execute(taking(clock, ms)))
		return { clock, policy }
	}

	test('does not hedge while fewer than 20 latencies are known', async () => {
		const { clock, policy } = await taught(19)
		expect(policy.stats).toEqual({ delayMs: undefined })
		const work = requests(clock, { ms: 10_000 })
		await settled(clock, policy.execute(work))
		expect(work.sentAt).toHaveLength(1)
	})

	test('hedges calls that take longer than 95 % of the known ones', async () => {
		const { clock, policy } = await taught(20)
		const { delayMs = 0 } = policy.stats
		expect(Math.abs(delayMs - 19)).toBeLessThanOrEqual(1)
		const from = clock.now()
		const work = requests(clock, { ms: 10_000 }, { ms: 5 })
		await settled(clock, policy.execute(work))
		expect(work.sentAt.map((at) => at - from)).toEqual([0, delayMs])
	})

	test('hedges calls that take longer than another percentile', async () => {
		const { policy } = await taught(100, 50)
		expect(Math.abs((policy.stats.delayMs ?? 0) - 50)).toBeLessThanOrEqual(3)
	})

	test('ignores failures', async () => {
		const clock = virtualRuntime()
		const policy = hedge({ runtime: clock })
		for (let i = 0; i < 30; i++) await settled(clock, policy.execute(taking(clock, 5, first)))
		expect(policy.stats).toEqual({ delayMs: undefined })
	})

	test('keeps its latencies when settings change', async () => {
		const { policy } = await taught(100)
		const before = policy.stats.delayMs
		policy.update({ maxHedges: 2 })
		expect(policy.stats.delayMs).toBe(before)
		policy.update({ delayMs: 7 })
		expect(policy.stats.delayMs).toBe(7)
	})
})
