/** Sample data of every kind that the page shows, with texts that try to leave their place. */
import {
	type AttemptRow,
	type AuditRow,
	type CircuitRow,
	type Count,
	type DeadGroup,
	type DestinationRow,
	type EndpointRow,
	type FailedCall,
	type MessageRow,
	type MessageView,
	OVERVIEW_FORMAT,
	type Overview,
	type Problem,
	type RelayRow,
} from '../../../src/dashboard/contract.ts'
import type { ProblemKind, ProblemOf } from '../../../src/dashboard/words/words.ts'

const HOSTILE = '<img src=x onerror=alert(1)> \u202Egnp.exe \u0007'

export const exactly = (count: number): Count => ({ count, isCapped: false })
const atLeast = (count: number): Count => ({ count, isCapped: true })

const error = { severity: 'error', sinceMs: 40_000 } as const
const warning = { severity: 'warning', sinceMs: 130_000 } as const
const circuit = { rejectedPerSecond: 12, lastError: 'HTTP 503', probeInMs: 12_000, key: null }
const destination = { due: exactly(1_204), endsInMs: 25_000, by: null, reason: null }

/** One problem of each kind. A kind that is missing does not compile. */
export const PROBLEMS: { readonly [Kind in ProblemKind]: ProblemOf<Kind> } = {
	'circuit-open': { kind: 'circuit-open', source: 'payments', circuit: 'payments', ...error, ...circuit },
	'circuit-isolated': {
		kind: 'circuit-isolated',
		source: 'search',
		circuit: 'breaker',
		...error,
		...circuit,
		key: 'eu-west',
		probeInMs: null,
	},
	'circuit-half-open': {
		kind: 'circuit-half-open',
		source: 'users',
		circuit: 'users',
		...warning,
		...circuit,
		rejectedPerSecond: 0,
	},
	'calls-failing': {
		kind: 'calls-failing',
		source: 'client',
		...error,
		failuresPerSecond: 3.21,
		lastError: HOSTILE,
	},
	'calls-rejected': {
		kind: 'calls-rejected',
		source: 'reports',
		...warning,
		reason: 'bulkhead-full',
		rejectedPerSecond: 5,
	},
	'destination-open': {
		kind: 'destination-open',
		source: 'orders',
		destination: 'email',
		...error,
		...destination,
	},
	'destination-paused': {
		kind: 'destination-paused',
		source: 'orders',
		destination: 'search-index',
		...warning,
		...destination,
		endsInMs: null,
		by: 'ada',
		reason: 'reindex',
	},
	'destination-retry-after': {
		kind: 'destination-retry-after',
		source: 'orders',
		destination: 'crm',
		...warning,
		...destination,
		due: exactly(1),
	},
	'messages-late': {
		kind: 'messages-late',
		source: 'orders',
		destination: 'invoices',
		...warning,
		lagMs: 320_000,
		due: atLeast(10_000),
	},
	'no-relay': { kind: 'no-relay', source: 'billing', ...error, due: exactly(48) },
	'relay-ended': { kind: 'relay-ended', source: 'orders', ...warning, relay: 'worker-2:991' },
	'dead-letters': {
		kind: 'dead-letters',
		source: 'orders',
		destination: 'email',
		...warning,
		dead: exactly(37),
	},
	'endpoints-disabled': { kind: 'endpoints-disabled', source: 'webhooks', ...warning, endpoints: 1 },
	'endpoints-failing': { kind: 'endpoints-failing', source: 'webhooks', ...warning, endpoints: 3 },
	'clock-behind': { kind: 'clock-behind', source: 'orders', ...warning, behindMs: 3_400 },
	unreadable: {
		kind: 'unreadable',
		source: 'archive',
		...error,
		sinceMs: null,
		error: 'connect ECONNREFUSED 10.0.0.7:5432',
	},
}

const circuits: readonly CircuitRow[] = [
	row('payments', 'payments', null, 'open', 52, 60, 12, 'HTTP 503'),
	row('search', 'breaker', 'eu-west', 'isolated', 0, 0, 4, null),
	row(
		'client',
		'https://api.example.com:8443',
		null,
		'closed',
		31,
		812,
		0,
		'FetchError: connect ECONNREFUSED 10.1.2.3:8443',
	),
	row('users', 'users', null, 'half-open', 4, 7, 0, 'TimeoutError: users/timeout: no result within 1000 ms'),
	{ ...row('reports', 'reports', null, 'closed', 1, 220, 0, HOSTILE), isShadow: true },
	row('mail', 'mail', null, 'closed', 0, 1_930, 0, null),
]

function row(
	source: string,
	name: string,
	key: string | null,
	state: CircuitRow['state'],
	failures: number,
	calls: number,
	rejectedPerSecond: number,
	lastError: string | null,
): CircuitRow {
	const isCalm = state === 'closed'
	return {
		id: `${source}/${name}/${key}`,
		source,
		name,
		key,
		state,
		isShadow: false,
		calls,
		failures,
		errorRate: calls === 0 ? null : failures / calls,
		rejectedPerSecond,
		sinceMs: isCalm ? null : 40_000,
		probeInMs: state === 'open' ? 12_000 : null,
		lastError,
		isIsolatedHere: state === 'isolated',
	}
}

const wave = (height: number, shift: number): number[] =>
	Array.from({ length: 60 }, (_, index) =>
		Math.max(0, Math.round(height * Math.sin((index + shift) / 9) ** 2)),
	)

const relays = (at: number): RelayRow[] =>
	['web-1:4121', 'worker-1:877', 'worker-2:991'].map((id, index) => ({
		id,
		host: id.split(':')[0] ?? '',
		pid: Number(id.split(':')[1]),
		isAlive: index < 2,
		isThisProcess: index === 0,
		destinations: ['email', 'crm', 'invoices', 'search-index'],
		inFlight: index < 2 ? 8 : 0,
		sent: 48_211 - index * 9_000,
		failed: 913,
		dead: 37,
		throughput: index < 2 ? 41.5 : 0,
		startedAt: at - 3 * 3_600_000,
		seenAt: at - (index < 2 ? 2_000 : 130_000),
	}))

const calm: Omit<DestinationRow, 'destination'> = {
	due: exactly(12),
	scheduled: exactly(3),
	inFlight: exactly(4),
	dead: exactly(0),
	lagMs: 400,
	ageMs: 2_100,
	failingShare: 0.01,
	circuit: 'closed',
	pause: null,
	pauseEndsInMs: null,
	pausedBy: null,
	pauseReason: null,
}

const destinations: readonly DestinationRow[] = [
	{
		...calm,
		destination: 'email',
		due: exactly(1_204),
		dead: exactly(37),
		lagMs: 40_000,
		failingShare: 0.93,
		circuit: 'open',
		pause: 'circuit',
		pauseEndsInMs: 12_000,
	},
	{ ...calm, destination: 'invoices', due: atLeast(10_000), lagMs: 320_000 },
	{
		...calm,
		destination: 'search-index',
		due: exactly(310),
		pause: 'operator',
		pausedBy: 'ada',
		pauseReason: 'reindex',
		lagMs: 61_000,
	},
	{ ...calm, destination: 'crm', pause: 'retry-after', pauseEndsInMs: 25_000 },
	{ ...calm, destination: 'webhook:ep_1a2b', failingShare: null },
]

/** Returns an overview with every kind of row. `isCalm`: without problems. */
export function sampleOverview(at: number, step = 0, isCalm = false): Overview {
	const problems: readonly Problem[] = Object.values(PROBLEMS)
	return {
		at,
		access: 'all',
		format: OVERVIEW_FORMAT,
		process: { host: 'web-1', pid: 4121, startedAt: at - 3 * 3_600_000 },
		isDatabaseOnly: false,
		problems: isCalm ? [] : problems.toSorted((a, b) => a.severity.localeCompare(b.severity)),
		circuits: isCalm ? circuits.slice(5) : circuits,
		retries: ['payments', 'client', 'users'].map((source, index) => ({
			source,
			retriesPerSecond: 6.4 / (index + 1),
			successRate: index === 2 ? null : 0.62,
			meanRetries: index === 2 ? null : 1.8,
			failuresPerSecond: index === 2 ? 0 : 3.2,
			rejectedPerSecond: index === 0 ? 12 : 0,
			failures: wave(20 / (index + 1), index * 4 + step / 5),
			retries: wave(60 / (index + 1), index * 4 + 2 + step / 5),
		})),
		limits: [
			{
				source: 'payments',
				name: 'payments',
				key: null,
				kind: 'bulkhead',
				used: 10,
				limit: 10,
				queued: 37,
				available: 0,
				rejectProbability: null,
			},
			{
				source: 'client',
				name: 'client',
				key: null,
				kind: 'rate-limiter',
				used: null,
				limit: 100,
				queued: 0,
				available: 42,
				rejectProbability: null,
			},
			{
				source: 'client',
				name: 'budget',
				key: 'api.example.com',
				kind: 'budget',
				used: 18,
				limit: 20,
				queued: null,
				available: 2,
				rejectProbability: null,
			},
			{
				source: 'reports',
				name: 'throttle',
				key: null,
				kind: 'throttle',
				used: null,
				limit: null,
				queued: null,
				available: null,
				rejectProbability: 0.184,
			},
		],
		outboxes: [
			{
				source: 'orders',
				totals: {
					...calm,
					due: atLeast(11_526),
					dead: exactly(37),
					lagMs: 320_000,
					ageMs: 410_000,
					failingShare: 0.2,
				},
				destinations,
				hasMoreDestinations: true,
				throughput: 83 + 20 * Math.sin(step / 4),
				forecast: Array.from({ length: 12 }, (_, index) =>
					exactly(Math.round(400 * Math.exp(-index / 3)) + 20),
				),
				relays: relays(at),
				keepsHistory: true,
			},
			{
				source: 'billing',
				totals: { ...calm, due: exactly(48) },
				destinations: [{ ...calm, destination: 'ledger', due: exactly(48) }],
				hasMoreDestinations: false,
				throughput: 0,
				forecast: [],
				relays: [],
				keepsHistory: false,
			},
		],
		idempotency: [
			{
				source: 'engine',
				replays: 841,
				conflicts: 12,
				abandoned: 2,
				figures: { running: 3, unstored: 0 },
			},
		],
		inboxes: [
			{ source: 'mailer', marks: atLeast(10_000), expired: exactly(17), oldestAgeMs: 6 * 86_400_000 },
		],
		webhooks: [
			{
				source: 'webhooks',
				enabled: 42,
				failing: 3,
				disabled: { failing: 1, operator: 2 },
				failingSinceMs: 130_000,
			},
		],
		jobs: isCalm
			? []
			: [
					{
						id: 'job-1',
						source: 'orders',
						action: 'replay',
						by: 'ada',
						startedAt: at - 42_000,
						state: 'running',
						changed: 120 + step,
						total: exactly(1_204),
						error: null,
					},
					{
						id: 'job-2',
						source: 'orders',
						action: 'discard',
						by: 'grace',
						startedAt: at - 900_000,
						state: 'done',
						changed: 18,
						total: exactly(18),
						error: null,
					},
				],
		failedCalls: 3,
	}
}

export function sampleCalls(at: number): FailedCall[] {
	return Array.from({ length: 30 }, (_, index) => {
		const isRejected = index % 3 === 1
		return {
			number: 1_000 - index,
			at: at - index * 7_300,
			source: index % 2 === 0 ? 'payments' : 'client',
			policy: index % 2 === 0 ? 'payments' : 'https://api.example.com',
			key: index % 4 === 0 ? 'tenant-7' : null,
			call: index % 2 === 0 ? 'charge' : null,
			method: index % 2 === 0 ? null : 'POST',
			outcome: isRejected ? 'rejected' : index % 5 === 0 ? 'fallback' : 'failure',
			stop: isRejected ? 'rejected' : 'retries-exhausted',
			reason: isRejected ? 'circuit-open' : 'retries-exhausted',
			attempts: isRejected ? 0 : 3,
			durationMs: isRejected ? 0 : 1_316,
			error:
				index === 2
					? HOSTILE
					: isRejected
						? 'CircuitOpenError: payments/breaker is open'
						: 'HttpError: HTTP 503',
			explanation: [
				'payments: 3 attempts in 1316 ms, stopped: retries-exhausted (HttpError: HTTP 503)',
				'  #1 at 0 ms, took 12 ms: throttled (HttpError: HTTP 503), retry in 108 ms (backoff)',
				'  #2 at 120 ms, took 1000 ms: transient (TimeoutError), retry in 207 ms (backoff)',
				`  #3 at 1316 ms, took 4 ms: throttled (${index === 2 ? HOSTILE : 'HttpError: HTTP 503'})`,
			],
		}
	})
}

const STATUSES = ['pending', 'in-flight', 'dead', 'sent', 'discarded'] as const

export function sampleMessages(at: number, count = 24): MessageRow[] {
	return Array.from({ length: count }, (_, index) => {
		const status = STATUSES[index % 5] ?? 'pending'
		return {
			id: `01a1dfe5-0c2d-76f1-a4a3-bdf6c1f0${7189 + index}`,
			topic: index % 2 === 0 ? 'order.created' : 'invoice.paid',
			destination: ['email', 'crm', 'invoices'][index % 3] ?? 'email',
			key: index % 3 === 0 ? `customer-${index}` : null,
			status,
			attempts: status === 'pending' ? 0 : (index % 7) + 1,
			createdAt: at - index * 61_000,
			dueAt: status === 'pending' ? at + 30_000 : null,
			endedAt: status === 'pending' ? null : at - 5_000,
			cause: status === 'dead' ? 'rejected' : null,
			error:
				status === 'dead'
					? index === 2
						? HOSTILE
						: 'HTTP 422: the address does not exist, and this text is rather long so that it is cut'
					: null,
		}
	})
}

const attempt = (at: number, number: number): AttemptRow => ({
	attempt: number,
	startedAt: at - (5 - number) * 61_000,
	durationMs: number === 4 ? 84 : 1_002,
	relay: 'worker-1:877',
	outcome: number === 4 ? 'dead' : 'failed',
	statusCode: number === 4 ? 422 : 503,
	error: number === 4 ? 'HTTP 422' : 'HTTP 503',
	response: number === 4 ? `{"error":"no such address"} ${HOSTILE}` : null,
})

export function sampleMessage(at: number, id: string): MessageView {
	return {
		id,
		topic: 'order.created',
		destination: 'email',
		key: 'customer-7',
		status: 'dead',
		attempts: 4,
		createdAt: at - 400_000,
		dueAt: null,
		endedAt: at - 60_000,
		cause: 'rejected',
		error: `HTTP 422 ${HOSTILE}`,
		why: 'It is a dead letter: the receiver rejected it with HTTP 422, which is permanent. Replay it after the cause is fixed.',
		payload: JSON.stringify(
			{
				orderId: 'A-7781',
				customer: { id: 7, name: 'Ada' },
				note: `<script>alert(1)</script>${HOSTILE}`,
			},
			null,
			2,
		),
		headers: { 'content-type': 'application/json', 'x-tenant': 'acme', authorization: '[redacted]' },
		dedupeKey: 'order-A-7781',
		expiresAt: at + 86_400_000,
		lastAttemptAt: at - 61_000,
		timeline: [1, 2, 3, 4].map((number) => attempt(at, number)),
		hasAttemptLog: true,
		actions: [
			{ action: 'replay', command: `yaoki outbox replay ${id}` },
			{ action: 'discard', command: `yaoki outbox discard ${id} --yes` },
		],
		audit: sampleAudit(at).slice(0, 2),
	}
}

export function sampleDead(at: number): DeadGroup[] {
	return ['HTTP 422: the address does not exist', HOSTILE, 'expired'].map((text, index) => ({
		fingerprint: `6e625e2d8a5${index}`,
		cause: ['rejected', 'poison', 'expired'][index] ?? '',
		destination: ['email', 'crm', 'invoices'][index] ?? '',
		count: index === 0 ? exactly(31) : exactly(3),
		error: text,
		firstAt: at - 8 * 3_600_000,
		lastAt: at - 42_000,
		exampleId: '01a1dfe5-0c2d-76f1-a4a3-bdf6c1f07191',
		actions: [
			{ action: 'replay', command: `yaoki outbox replay --fingerprint 6e625e2d8a5${index} --canary` },
			{ action: 'discard', command: `yaoki outbox discard --fingerprint 6e625e2d8a5${index} --yes` },
		],
	}))
}

export function sampleAudit(at: number): AuditRow[] {
	return ['replay', 'discard', 'pause', 'resume'].map((action, index) => ({
		at: at - (index + 1) * 400_000,
		by: index % 2 === 0 ? 'ada@example.com' : 'cli root@web-1',
		action,
		destination: 'email',
		messageId: index === 0 ? '01a1dfe5-0c2d-76f1-a4a3-bdf6c1f07191' : null,
		reason: index === 1 ? HOSTILE : 'The mail provider has recovered.',
		details: index === 0 ? '{"canary":true}' : null,
	}))
}

export function sampleEndpoints(at: number): EndpointRow[] {
	return [0, 1, 2].map((index) => ({
		id: `ep_1a2b${index}`,
		tenant: `tenant-${index}`,
		url: `https://customer-${index}.example.com/hooks/yaoki`,
		topics: index === 0 ? [] : ['order.created', 'invoice.paid'],
		description: index === 1 ? 'Production' : null,
		isEnabled: index !== 2,
		disabledReason: index === 2 ? 'failing' : null,
		disabledAt: index === 2 ? at - 3_600_000 : null,
		failingSince: index === 1 ? at - 130_000 : null,
		failures: index * 12,
		actions: (index === 2
			? (['enable-endpoint', 'resend-endpoint'] as const)
			: (['disable-endpoint', 'test-endpoint', 'resend-endpoint'] as const)
		).map((action) => ({ action, command: `yaoki webhooks ${action} ep_1a2b${index}` })),
	}))
}
