/** Errors that are built to break a reader: `classify` never throws, and its work is bounded. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { classify, isRetryable, isRetryableNetworkError } from 'yaoki'
import { readSignals } from '../../../src/core/classify/error-signals.ts'
import { THROTTLED, UNKNOWN } from './expected.ts'

const KINDS = ['throttled', 'transient', 'permanent', 'cancelled']

const FIELDS = [
	...[
		'message',
		'code',
		'name',
		'errno',
		'reason',
		'sqlState',
		'errorCode',
		'codeName',
		'errorLabels',
		'errcode',
	],
	...[
		'command',
		'responseCode',
		'status',
		'statusCode',
		'headers',
		'responseHeaders',
		'response',
		'$response',
	],
	...[
		'$metadata',
		'$retryable',
		'data',
		'meta',
		'retryable',
		'retriable',
		'isRetryable',
		'details',
		'metadata',
	],
	...[
		'issues',
		'retryAfterMs',
		'retryAfter',
		'timeToReset',
		'cause',
		'original',
		'driverError',
		'detail',
		'errors',
	],
]

const thrower = () => {
	throw new Error('hostile')
}

/** Every property is again such an object, and a function. */
const endless = (): object =>
	new Proxy(() => {}, { get: (_, name) => (name === Symbol.toPrimitive ? thrower : endless()) })

const TRAPS: readonly (() => unknown)[] = [
	() => new Proxy({}, { get: thrower }),
	() => new Proxy({}, { has: thrower, get: () => undefined }),
	() => new Proxy({}, { ownKeys: thrower, getOwnPropertyDescriptor: thrower }),
	() => new Proxy({}, { getPrototypeOf: thrower }),
	() => {
		const { proxy, revoke } = Proxy.revocable({}, {})
		revoke()
		return proxy
	},
	() => ({ get: thrower }),
	() => ({ get: () => ({ toString: thrower }) }),
	() => ({ toString: thrower, [Symbol.toPrimitive]: thrower }),
	() => Object.create(null),
	() => Symbol('hostile'),
	() => 10n ** 400n,
	() => new Proxy([], { get: thrower }),
	() => 'ECONN'.repeat(50_000),
	() => `${' '.repeat(50_000)}1`,
	() => `${'_'.repeat(50_000)}CERT`,
	() => ','.repeat(50_000),
	endless,
	() => Object.assign(endless(), {}),
]

/** A value to create inside the test: fast-check itself inspects what it generates. */
type Plan =
	| { readonly value: unknown }
	| { readonly trap: () => unknown }
	| { readonly list: readonly Plan[] }
	| {
			readonly fields: Readonly<Record<string, Plan>>
			readonly throwing: readonly string[]
			readonly isCyclic: boolean
	  }

function create(plan: Plan): unknown {
	if ('value' in plan) return plan.value
	if ('trap' in plan) return plan.trap()
	if ('list' in plan) return plan.list.map(create)
	const fields = Object.entries(plan.fields).map(([name, field]) => [name, create(field)])
	const error = Object.assign(new Error('Other'), Object.fromEntries(fields))
	if (plan.isCyclic) Object.assign(error, { cause: error })
	for (const name of plan.throwing) Object.defineProperty(error, name, { get: thrower })
	return error
}

const trap = fc.constantFrom(...TRAPS.map((make): Plan => ({ trap: make })))

const { error: anyError } = fc.letrec<{ error: Plan; value: Plan }>((tie) => ({
	value: fc.oneof(
		{ maxDepth: 3 },
		fc.anything().map((value): Plan => ({ value })),
		trap,
		tie('error'),
		fc.array(tie('value'), { maxLength: 5 }).map((list): Plan => ({ list })),
	),
	error: fc.record({
		fields: fc.dictionary(fc.constantFrom(...FIELDS), tie('value'), { maxKeys: 8 }),
		throwing: fc.subarray(FIELDS, { maxLength: 2 }),
		isCyclic: fc.boolean(),
	}),
}))

test('any error gets a classification with a wait that can be waited for', () => {
	fc.assert(
		fc.property(fc.oneof(anyError, trap), (plan) => {
			const error = create(plan)
			const { kind, isKnown, retryAfterMs = 0 } = classify(error)
			expect(KINDS).toContain(kind)
			expect(typeof isKnown).toBe('boolean')
			expect(retryAfterMs).toBeGreaterThanOrEqual(0)
			expect(retryAfterMs).toBeLessThan(Infinity)
			expect(typeof isRetryable(error)).toBe('boolean')
			expect(typeof isRetryableNetworkError(error)).toBe('boolean')
		}),
		{ numRuns: 500 },
	)
})

test.each(FIELDS)('a getter of %s that throws never makes classify throw', (name) => {
	const error = Object.defineProperty({ message: 'Other' }, name, { get: thrower })
	expect(classify(error)).toEqual(UNKNOWN)
	expect(classify(new Error('w', { cause: error }))).toEqual(UNKNOWN)
})

test('headers that throw hide only the wait, not the status', () => {
	for (const headers of [
		{ get: thrower },
		new Proxy({}, { get: thrower }),
		{ get: () => ({ toString: thrower }) },
	])
		expect(classify({ status: 429, headers })).toEqual(THROTTLED)
})

test('the text that is matched has a bound, however large, wide or deep the error is', () => {
	const text = 'x'.repeat(1_000_000)
	const errorLabels: readonly string[] = new Array(100_000).fill(text)
	const wide = (depth: number): object => ({
		message: text,
		code: text,
		name: text,
		reason: text,
		errorLabels,
		errors: depth === 0 ? [] : Array.from({ length: 60 }, () => wide(depth - 1)),
	})
	expect(readSignals(wide(2)).text.length).toBeLessThan(20_000)
	let reads = 0
	const deep = (): object => ({
		get code() {
			reads++
			return 'x'
		},
		get cause() {
			return deep()
		},
	})
	expect(classify(deep())).toEqual(UNKNOWN)
	expect(reads).toBeLessThan(1_000)
})

test('an endless proxy is unknown', () => {
	expect(classify(endless())).toEqual(UNKNOWN)
	expect(KINDS).toContain(classify({ cause: endless(), response: endless() }).kind)
})
