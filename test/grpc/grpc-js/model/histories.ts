/** Random histories: what the callers of an interceptor do, and what each of their requests meets. Times are few, so that many coincide. */
import fc from 'fast-check'
import type { YaokiEvent } from 'yaoki'
import type { FakeCall } from '../../support/fake-call.ts'

/** What happens to one request, in this order. Times are milliseconds since the action before. */
type ServerAction =
	| { readonly type: 'headers' | 'message' | 'acknowledge'; readonly afterMs: number }
	| { readonly type: 'end'; readonly afterMs: number; readonly code: number; readonly pushback?: string }

export interface RequestScript {
	/** True: messages are acknowledged by actions, and not immediately. */
	readonly isSlow: boolean
	/** True: the request ends before `start` returns. */
	readonly endsInStart: boolean
	readonly endAfterCancel: FakeCall['endAfterCancel']
	/** True: the request delivers responses that arrive after it was cancelled. */
	readonly isLate: boolean
	readonly actions: readonly ServerAction[]
}

/** Times are milliseconds since the start of the history. */
export interface CallScript {
	readonly startMs: number
	readonly isUnary: boolean
	/** The sizes of the messages; `INVALID` for one that cannot be serialized. */
	readonly messages: readonly { readonly atMs: number; readonly bytes: number }[]
	readonly halfCloseMs: number | undefined
	readonly cancelMs: number | undefined
	readonly abortMs: number | undefined
	/** The caller cancels when an event of this type is emitted. */
	readonly cancelOn: YaokiEvent['type'] | undefined
	/** Since the start of the call. */
	readonly deadlineMs: number | undefined
	readonly requests: readonly RequestScript[]
}

export interface History {
	readonly seed: number
	readonly policy: 'none' | 'retry' | 'hedging'
	readonly maxAttempts: number
	readonly delayMs: number
	readonly throttling: { readonly maxTokens: number; readonly tokenRatio: number } | undefined
	readonly hasBudget: boolean
	/** Functions of a tracer run around calls and attempts. */
	readonly isObserved: boolean
	readonly maxConcurrent: number
	readonly maxQueue: number
	readonly maxBufferBytesPerCall: number
	readonly maxBufferBytes: number
	/** True: everything that is due at one time happens without promise jobs in between. */
	readonly isSynchronous: boolean
	readonly calls: readonly CallScript[]
}

export const INVALID = -1

/** Everything that is still open then is cancelled. */
export const END_MS = 60

const time = (max: number) => fc.integer({ min: 0, max })
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const pushback = fc.constantFrom('0', '3', '10', '-1', 'soon')
const end: fc.Arbitrary<ServerAction> = fc.record(
	{
		type: fc.constant('end' as const),
		afterMs: time(5),
		code: fc.constantFrom(0, 0, 1, 3, 4, 13, 14, 14, 14),
		pushback,
	},
	{ requiredKeys: ['type', 'afterMs', 'code'] },
)
const action: fc.Arbitrary<ServerAction> = fc.record({
	type: fc.constantFrom('headers' as const, 'message' as const, 'acknowledge' as const),
	afterMs: time(4),
})

const request: fc.Arbitrary<RequestScript> = fc.record({
	isSlow: fc.boolean(),
	endsInStart: fc.integer({ min: 0, max: 9 }).map((n) => n === 9),
	endAfterCancel: fc.constantFrom('now' as const, 'soon' as const, 'later' as const),
	isLate: fc.boolean(),
	actions: fc
		.tuple(fc.array(action, { maxLength: 4 }), optional(end))
		.map(([actions, last]) => (last ? [...actions, last] : actions)),
})

const call: fc.Arbitrary<CallScript> = fc.record({
	startMs: time(10),
	isUnary: fc.boolean(),
	messages: fc.array(fc.record({ atMs: time(20), bytes: fc.constantFrom(0, 10, 10, 150, 400, INVALID) }), {
		maxLength: 5,
	}),
	halfCloseMs: optional(time(20)),
	cancelMs: optional(time(30)),
	abortMs: optional(time(30)),
	cancelOn: optional(
		fc.constantFrom('retry_attempt', 'hedge', 'state_change', 'failure', 'success', 'rejected', 'call'),
	),
	deadlineMs: optional(fc.integer({ min: -1, max: 30 })),
	requests: fc.array(request, { minLength: 1, maxLength: 6 }),
})

export const history: fc.Arbitrary<History> = fc.record({
	seed: fc.integer(),
	policy: fc.constantFrom('none', 'retry', 'hedging'),
	maxAttempts: fc.integer({ min: 2, max: 5 }),
	delayMs: fc.integer({ min: 1, max: 8 }),
	throttling: optional(
		fc.record({ maxTokens: fc.integer({ min: 1, max: 6 }), tokenRatio: fc.constantFrom(0.1, 1) }),
	),
	hasBudget: fc.boolean(),
	isObserved: fc.boolean(),
	maxConcurrent: fc.integer({ min: 1, max: 3 }),
	maxQueue: fc.integer({ min: 0, max: 2 }),
	maxBufferBytesPerCall: fc.constantFrom(0, 300, 1_000),
	maxBufferBytes: fc.constantFrom(400, 2_000),
	isSynchronous: fc.boolean(),
	calls: fc.array(call, { minLength: 1, maxLength: 4 }),
})
