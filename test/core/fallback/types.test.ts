/** The result of a fallback is part of every type through which it can reach the caller. */

import { describe, expect, expectTypeOf, test } from 'vitest'
import {
	bulkhead,
	type CallContext,
	circuitBreaker,
	fallback,
	hedge,
	keyed,
	lastGoodValue,
	lint,
	type Policy,
	pipeline,
	retry,
	type Settled,
	timeout,
} from 'yaoki'
import { withAmbientContext } from 'yaoki/node'
import { skipDelays, virtualRuntime } from 'yaoki/testing'
import { Fallback } from '../../../src/core/fallback/fallback.ts'

interface User {
	readonly name: string
}

const loadUser = async (): Promise<User> => {
	throw new Error('down')
}
const none = retry({ maxRetries: 0 })
const orNull = pipeline(fallback(null), none)

describe('the result type includes that of a fallback', () => {
	test('execute, settle, wrap and bind return the union', async () => {
		expectTypeOf(orNull.execute(loadUser)).toEqualTypeOf<Promise<User | null>>()
		expectTypeOf(orNull.settle(loadUser)).toEqualTypeOf<Promise<Settled<User | null>>>()
		const wrapped = orNull.wrap((id: string, isFresh?: boolean) =>
			loadUser().then((user) => ({ user, id, isFresh })),
		)
		expectTypeOf(wrapped).parameters.toEqualTypeOf<[id: string, isFresh?: boolean | undefined]>()
		expectTypeOf(wrapped('7')).resolves.extract<null>().toBeNull()
		const bound = orNull.bind((_: CallContext, _id: string) => loadUser())
		expectTypeOf(bound).toEqualTypeOf<(id: string) => Promise<User | null>>()
		expect(await orNull.execute(loadUser)).toBeNull()
		expect(await wrapped('7')).toBeNull()
		expect(await bound('7')).toBeNull()
	})

	test('a result that may be null is not accepted as a user', async () => {
		// @ts-expect-error the fallback returns null
		const user: User = await orNull.execute(loadUser)
		expect(user).toBeNull()
		// @ts-expect-error a policy with a fallback is not one without
		const plain: Policy = orNull
		expect(plain).toBe(orNull)
		// @ts-expect-error the name is read from null
		await expect(orNull.execute(loadUser).then(({ name }) => name)).rejects.toThrow(TypeError)
	})

	test('a fallback counts at any position, in nested pipelines and beside any number of policies', () => {
		const inner = pipeline({ name: 'inner' }, none, fallback(0))
		const outer = pipeline(
			{ name: 'outer' },
			bulkhead(),
			fallback('none'),
			circuitBreaker(),
			inner,
			hedge(),
			timeout(5),
		)
		expectTypeOf(inner).toEqualTypeOf<Policy<0>>()
		expectTypeOf(outer).toEqualTypeOf<Policy<'none' | 0>>()
		expectTypeOf(pipeline(pipeline(outer), pipeline(orNull))).toEqualTypeOf<Policy<'none' | 0 | null>>()
	})

	test('keyed policies, ambient policies and policies without delays keep it', () => {
		const perKey = keyed(
			() => 'a',
			() => orNull,
		)
		expectTypeOf(perKey.execute(loadUser)).toEqualTypeOf<Promise<User | null>>()
		expectTypeOf(pipeline(perKey, none)).toEqualTypeOf<Policy<null>>()
		expectTypeOf(withAmbientContext(orNull)).toEqualTypeOf<Policy<null>>()
		expectTypeOf(withAmbientContext(fallback(null))).toEqualTypeOf<Policy<null>>()
		expectTypeOf(skipDelays(perKey)).toEqualTypeOf<Policy<null>>()
		virtualRuntime().run(
			orNull,
			(_, done: (error: unknown, user?: User) => void) => done(new Error('down')),
			(_, value) => expectTypeOf(value).toEqualTypeOf<User | null | undefined>(),
		)
	})

	test('a list of policies and a policy that is chosen at run time have it', () => {
		const list: readonly Policy<undefined>[] = [pipeline(fallback(undefined))]
		expectTypeOf(pipeline(...list, none)).toEqualTypeOf<Policy<undefined>>()
		const chosen = (isLenient: boolean) => (isLenient ? fallback(null) : none)
		expectTypeOf(pipeline(chosen(true), none)).toEqualTypeOf<Policy<null>>()
	})

	test('a breaker that is called with a fallback has it', () => {
		const breaker = circuitBreaker()
		expectTypeOf(() => breaker.execute(loadUser, () => null)).returns.toEqualTypeOf<Promise<User | null>>()
		expectTypeOf(() => breaker.execute(loadUser, async (error) => error.retryAfterMs)).returns.toEqualTypeOf<
			Promise<User | number>
		>()
	})
})

describe('the type of an alternative', () => {
	test('is that of the value, of what the function returns, or nothing for the last good value', () => {
		expectTypeOf(pipeline(fallback([])).execute(() => ['a'])).toExtend<Promise<string[]>>()
		expectTypeOf(pipeline(fallback(undefined))).toEqualTypeOf<Policy<undefined>>()
		expectTypeOf(pipeline(fallback({ name: 'anonymous' }))).toEqualTypeOf<Policy<{ name: string }>>()
		expectTypeOf(pipeline(fallback(Promise.resolve(5)))).toEqualTypeOf<Policy<number>>()
		expectTypeOf(pipeline(fallback(() => 'none'))).toEqualTypeOf<Policy<string>>()
		expectTypeOf(pipeline(fallback(async (_, { attempt }) => attempt))).toEqualTypeOf<Policy<number>>()
		expectTypeOf(pipeline(fallback(() => () => 5))).toEqualTypeOf<Policy<() => number>>()
		expectTypeOf(pipeline(fallback(lastGoodValue(1_000)))).toEqualTypeOf<Policy>()
		expectTypeOf(pipeline(new Fallback(lastGoodValue(1_000)))).toEqualTypeOf<Policy>()
		expectTypeOf(pipeline(fallback(JSON.parse('5') as unknown))).toEqualTypeOf<Policy<unknown>>()
	})

	test('includes those of orElse', () => {
		const chain = fallback((error) => String(error), { orElse: [lastGoodValue(1_000), async () => 5, null] })
		expectTypeOf(pipeline(chain)).toEqualTypeOf<Policy<string | number | null>>()
		const replica = new Fallback(loadUser, { orElse: [lastGoodValue(1_000), undefined] })
		expectTypeOf(pipeline(replica).execute(loadUser)).toEqualTypeOf<Promise<User | undefined>>()
		// @ts-expect-error no alternative of this type was there before
		replica.update({ orElse: [5] })
	})

	test('is not needed by what accepts every policy', () => {
		expect(lint(orNull).name).toBe('pipeline')
		expectTypeOf(orNull).toExtend<Policy<unknown>>()
	})
})

describe('without a fallback', () => {
	test('the types are those of the operation', () => {
		const policy = pipeline(bulkhead(), none)
		expectTypeOf(policy).toEqualTypeOf<Policy>()
		expectTypeOf(policy.wrap(loadUser)).toEqualTypeOf(loadUser)
		expectTypeOf(() => policy.execute(loadUser)).returns.toEqualTypeOf<Promise<User>>()
	})

	test('wrap keeps the signature if the fallback returns what the function returns', () => {
		const policy = pipeline(fallback<User>({ name: 'anonymous' }))
		expectTypeOf(policy.wrap(loadUser)).toEqualTypeOf(loadUser)
	})
})
