/**
 * Checks the overview that a server returned: the URL may be of another program, and the server may have another
 * version. A field of a later version is ignored. The compiler compares the checks with the contract, so no field is
 * left out.
 */
import type { Count, OutboxView, Overview, Problem } from '../../dashboard/contract.ts'
import type { ProblemKind, ProblemOf } from '../../dashboard/words/words.ts'

/** Returns what is wrong, without the value, which may be a secret; undefined if it is a `Value`. */
type Check<Value> = ((value: unknown, path: string) => string | undefined) & { readonly valid?: Value }
type Checks<Row> = { readonly [Name in keyof Row]-?: Check<Row[Name]> }

function typeOf(value: unknown): string {
	if (value === undefined) return 'nothing'
	if (value === null) return 'null'
	if (Array.isArray(value)) return 'a list'
	const type = typeof value
	return type === 'string' ? 'a text' : type === 'object' ? 'an object' : `a ${type}`
}

const mismatch = (path: string, expected: string, value: unknown): string =>
	`${path === '' ? 'the response' : path} must be ${expected}, got ${typeOf(value)}`

const ofType =
	<Value>(type: string, expected: string): Check<Value> =>
	(value, path) =>
		typeof value === type ? undefined : mismatch(path, expected, value)

const number: Check<number> = ofType('number', 'a number')
const boolean: Check<boolean> = ofType('boolean', 'true or false')
const text: Check<string> = ofType('string', 'a text')
/** A state or a kind is shown as it is, also one of a later version. */
const word: Check<never> = ofType('string', 'a text')

const orNull =
	<Value>(check: Check<Value>): Check<Value | null> =>
	(value, path) =>
		value === null ? undefined : check(value, path)

const isObject = (value: unknown): value is object =>
	typeof value === 'object' && value !== null && !Array.isArray(value)

const object =
	<Row>(checks: Checks<Row>): Check<Row> =>
	(value, path) => {
		if (!isObject(value)) return mismatch(path, 'an object', value)
		const start = path === '' ? '' : `${path}.`
		for (const [name, check] of Object.entries<Check<unknown>>(checks)) {
			const wrong = check(Reflect.get(value, name), start + name)
			if (wrong !== undefined) return wrong
		}
		return undefined
	}

const list =
	<Row>(check: Check<Row>): Check<readonly Row[]> =>
	(value, path) => {
		if (!Array.isArray(value)) return mismatch(path, 'a list', value)
		for (const [at, row] of value.entries()) {
			const wrong = check(row, `${path}[${at}]`)
			if (wrong !== undefined) return wrong
		}
		return undefined
	}

const numbersByName: Check<Readonly<Record<string, number>>> = (value, path) => {
	if (!isObject(value)) return mismatch(path, 'an object', value)
	for (const [name, one] of Object.entries(value)) {
		const wrong = number(one, `${path}.${name}`)
		if (wrong !== undefined) return wrong
	}
	return undefined
}

const count: Check<Count> = object({ count: number, isCapped: boolean })

type Fields<Kind extends ProblemKind> = Checks<
	Omit<ProblemOf<Kind>, 'kind' | 'severity' | 'source' | 'sinceMs'>
>

const CIRCUIT: Fields<'circuit-open'> = {
	circuit: text,
	key: orNull(text),
	rejectedPerSecond: number,
	lastError: orNull(text),
	probeInMs: orNull(number),
}
const DESTINATION: Fields<'destination-open'> = {
	destination: text,
	due: count,
	endsInMs: orNull(number),
	by: orNull(text),
	reason: orNull(text),
}
const ENDPOINTS: Fields<'endpoints-failing'> = { endpoints: number }

const PROBLEMS: { readonly [Kind in ProblemKind]: Fields<Kind> } = {
	'circuit-open': CIRCUIT,
	'circuit-isolated': CIRCUIT,
	'circuit-half-open': CIRCUIT,
	'calls-failing': { failuresPerSecond: number, lastError: orNull(text) },
	'calls-rejected': { reason: text, rejectedPerSecond: number },
	'destination-open': DESTINATION,
	'destination-paused': DESTINATION,
	'destination-retry-after': DESTINATION,
	'messages-late': { destination: text, lagMs: number, due: count },
	'no-relay': { due: count },
	'relay-ended': { relay: text },
	'dead-letters': { destination: text, dead: count },
	'endpoints-disabled': ENDPOINTS,
	'endpoints-failing': ENDPOINTS,
	'clock-behind': { behindMs: number },
	unreadable: { error: text },
}

/** A kind of a later version has no sentence here. */
const problem: Check<Problem> = (value, path) => {
	const { kind }: { kind?: unknown } = Object(value)
	const isKnown = typeof kind === 'string' && Object.hasOwn(PROBLEMS, kind)
	if (isObject(value) && !isKnown)
		return mismatch(`${path}.kind`, `one of ${Object.keys(PROBLEMS).join(', ')}`, kind)
	const fields = isKnown ? PROBLEMS[kind as ProblemKind] : {}
	return object({ severity: word, source: text, sinceMs: orNull(number), ...fields })(value, path)
}

const COUNTS: Checks<OutboxView['totals']> = {
	due: count,
	scheduled: count,
	inFlight: count,
	dead: count,
	lagMs: orNull(number),
	ageMs: orNull(number),
	failingShare: orNull(number),
}

const outbox: Check<OutboxView> = object({
	source: text,
	totals: object(COUNTS),
	destinations: list(
		object({
			...COUNTS,
			destination: text,
			circuit: word,
			pause: orNull(word),
			pauseEndsInMs: orNull(number),
			pausedBy: orNull(text),
			pauseReason: orNull(text),
		}),
	),
	hasMoreDestinations: boolean,
	throughput: number,
	forecast: list(count),
	relays: list(
		object({
			id: text,
			host: text,
			pid: number,
			isAlive: boolean,
			isThisProcess: boolean,
			destinations: list(text),
			inFlight: number,
			sent: number,
			failed: number,
			dead: number,
			throughput: number,
			startedAt: number,
			seenAt: number,
		}),
	),
	keepsHistory: boolean,
})

const LIVE: Checks<Pick<Overview, 'circuits' | 'retries' | 'limits'>> = {
	circuits: list(
		object({
			id: text,
			source: text,
			name: text,
			key: orNull(text),
			state: word,
			isShadow: boolean,
			calls: number,
			failures: number,
			errorRate: orNull(number),
			rejectedPerSecond: number,
			sinceMs: orNull(number),
			probeInMs: orNull(number),
			lastError: orNull(text),
			isIsolatedHere: boolean,
		}),
	),
	retries: list(
		object({
			source: text,
			retriesPerSecond: number,
			successRate: orNull(number),
			meanRetries: orNull(number),
			failuresPerSecond: number,
			rejectedPerSecond: number,
			failures: list(number),
			retries: list(number),
		}),
	),
	limits: list(
		object({
			source: text,
			name: text,
			key: orNull(text),
			kind: word,
			used: orNull(number),
			limit: orNull(number),
			queued: orNull(number),
			available: orNull(number),
			rejectProbability: orNull(number),
		}),
	),
}

/** Returns the first mistake: `jobs must be a list, got nothing`. Undefined if there is none. */
export const checkOverview = (body: unknown): string | undefined => overview(body, '')

const overview: Check<Overview> = object({
	at: number,
	access: word,
	process: object({ host: text, pid: number, startedAt: number }),
	isDatabaseOnly: boolean,
	problems: list(problem),
	...LIVE,
	outboxes: list(outbox),
	idempotency: list(
		object({ source: text, replays: number, conflicts: number, abandoned: number, figures: numbersByName }),
	),
	inboxes: list(object({ source: text, marks: count, expired: count, oldestAgeMs: orNull(number) })),
	webhooks: list(
		object({
			source: text,
			enabled: number,
			failing: number,
			disabled: numbersByName,
			failingSinceMs: orNull(number),
		}),
	),
	jobs: list(
		object({
			id: text,
			source: text,
			action: word,
			by: text,
			startedAt: number,
			state: word,
			changed: number,
			total: count,
			error: orNull(text),
		}),
	),
	failedCalls: number,
})
