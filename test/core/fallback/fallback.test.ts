import { describe, expect, test } from 'vitest'
import { type CallContext, Deadline, fallback, lastGoodValue, permanent, pipeline, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { Fallback } from '../../../src/core/fallback/fallback.ts'
import { dead, settled, steady } from '../../support/scenario.ts'

const down = new Error('down')
const fail = () => {
	throw down
}

describe('a fallback', () => {
	test('does not affect a call that succeeds', async () => {
		const clock = virtualRuntime()
		const policy = fallback('instead', { runtime: clock })
		expect(
			await settled(
				clock,
				policy.execute(async () => 'own'),
			),
		).toEqual({ ok: true, value: 'own' })
	})

	test.each(['instead', undefined, null, false, 0, '', Number.NaN])('returns the value %s', async (value) => {
		const clock = virtualRuntime()
		expect(await settled(clock, fallback(value, { runtime: clock }).execute(fail))).toEqual({
			ok: true,
			value,
		})
	})

	test.each([
		['synchronously', (error: unknown) => `after ${error}`],
		['later', async (error: unknown) => `after ${error}`],
	])('calls a function with the error, which may return %s', async (_, alternative) => {
		const clock = virtualRuntime()
		const result = await settled(clock, fallback(alternative, { runtime: clock }).execute(fail))
		expect(result).toEqual({ ok: true, value: 'after Error: down' })
	})

	test('passes a context to the function, so that it can be aborted', async () => {
		const clock = virtualRuntime()
		const contexts: CallContext[] = []
		const deadline = Deadline.after(1_000, { runtime: clock })
		const policy = fallback((_: unknown, context: CallContext) => contexts.push(context), { runtime: clock })
		await settled(clock, policy.execute(fail, { key: 'k', deadline }))
		expect(contexts).toMatchObject([{ attempt: 0, key: 'k', deadline }])
		expect(contexts[0]?.signal.aborted).toBe(false)
	})

	test.each([
		[
			'throws',
			() => {
				throw new Error('replica down, too')
			},
		],
		['rejects', async () => Promise.reject(new Error('replica down, too'))],
	])('ends with the error of the last alternative if it %s', async (_, alternative) => {
		const clock = virtualRuntime()
		const result = await settled(clock, fallback(alternative, { runtime: clock }).execute(fail))
		expect(result).toMatchObject({ ok: false, error: { message: 'replica down, too' } })
	})

	test('tries its alternatives in order until one succeeds', async () => {
		const clock = virtualRuntime()
		const asked: string[] = []
		const alternative = (name: string, ok: boolean) => async () => {
			asked.push(name)
			if (!ok) throw new Error(name)
			return name
		}
		const policy = fallback(alternative('replica', false), {
			orElse: [lastGoodValue(1_000), alternative('cache', true), alternative('never', true)],
			runtime: clock,
		})
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: true, value: 'cache' })
		expect(asked).toEqual(['replica', 'cache'])
	})

	test('can end its chain with undefined', async () => {
		const clock = virtualRuntime()
		const policy = fallback(fail, { orElse: [lastGoodValue(1_000), undefined], runtime: clock })
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: true, value: undefined })
	})

	test('starts its chain again for every call', async () => {
		const clock = virtualRuntime()
		let asked = 0
		const replica = () => (asked++ ? 'ok' : fail())
		const policy = fallback(async () => replica(), { orElse: ['second'], runtime: clock })
		const answers = [await settled(clock, policy.execute(fail)), await settled(clock, policy.execute(fail))]
		expect(answers).toMatchObject([{ value: 'second' }, { value: 'ok' }])
	})

	test('applies only to errors that `when` selects', async () => {
		const clock = virtualRuntime()
		const policy = fallback('instead', { when: (error) => error === down, runtime: clock })
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: true, value: 'instead' })
		const other = new Error('other')
		expect(
			await settled(
				clock,
				policy.execute(() => Promise.reject(other)),
			),
		).toEqual({
			ok: false,
			error: other,
		})
	})

	test('ends the call if `when` throws or returns a promise', async () => {
		const clock = virtualRuntime()
		const broken = new Error('when is broken')
		const policy = fallback('instead', {
			runtime: clock,
			when: () => {
				throw broken
			},
		})
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: false, error: broken })
		policy.update({ when: (async () => true) as unknown as () => boolean })
		expect(await settled(clock, policy.execute(fail))).toMatchObject({ error: { code: 'YAOKI_ASYNC_HOOK' } })
	})

	test('applies to permanent errors too', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, fallback('instead'), retry(steady))
		const result = await settled(
			clock,
			policy.execute(() => Promise.reject(permanent(new Error('no such user')))),
		)
		expect(result).toEqual({ ok: true, value: 'instead' })
	})

	test('can be changed for later calls', async () => {
		const clock = virtualRuntime()
		const policy = new Fallback<string>(lastGoodValue(1_000), { when: () => false, runtime: clock })
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: false, error: down })
		policy.update({ when: () => true, orElse: ['now'] })
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: true, value: 'now' })
	})

	test('rejects invalid options', () => {
		expect(() => fallback(1, { orElse: 'x' as unknown as [] })).toThrow('Invalid option "orElse"')
		expect(() => fallback(1, { when: true as unknown as () => boolean })).toThrow(
			/Invalid option "when": expected .*, got true/,
		)
		expect(() => fallback(1, { whn: () => true } as object)).toThrow(
			'Unknown option "whn" for fallback. Did you mean "when"?',
		)
		expect(() => fallback(1).update({ orElse: 2 as unknown as [] })).toThrow(
			/Invalid option "orElse": expected .*, got 2/,
		)
	})
})

describe("a fallback and the caller's own abort", () => {
	test('never masks it', async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const policy = fallback('instead', { runtime: clock })
		const answer = policy.execute(
			({ signal }) =>
				new Promise((_, reject) => {
					signal.addEventListener('abort', () => reject(signal.reason))
				}),
			{ signal: controller.signal },
		)
		controller.abort(new Error('I changed my mind'))
		expect(await settled(clock, answer)).toMatchObject({ error: { message: 'I changed my mind' } })
	})

	test('runs nothing if the call was aborted before', async () => {
		const clock = virtualRuntime()
		const asked: string[] = []
		const policy = fallback(() => asked.push('alternative'), { runtime: clock })
		const signal = AbortSignal.abort(new Error('too late'))
		const result = await settled(
			clock,
			policy.execute(() => asked.push('work'), { signal }),
		)
		expect(result).toMatchObject({ ok: false, error: { message: 'too late' } })
		expect(asked).toEqual([])
	})

	test('tries no further alternative after it', async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const policy = fallback(
			() => {
				controller.abort(new Error('I changed my mind'))
				throw controller.signal.reason
			},
			{ orElse: ['instead'], runtime: clock },
		)
		const result = await settled(clock, policy.execute(fail, { signal: controller.signal }))
		expect(result).toMatchObject({ ok: false, error: { message: 'I changed my mind' } })
	})

	test('lets a wait of an inner retry end with the reason', async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const policy = pipeline({ runtime: clock }, fallback('instead'), retry(steady))
		const answer = policy.execute(dead(clock), { signal: controller.signal })
		await clock.advance(50)
		controller.abort(new Error('I changed my mind'))
		expect(await settled(clock, answer)).toMatchObject({ error: { message: 'I changed my mind' } })
		expect(clock.now()).toBe(50)
	})
})
