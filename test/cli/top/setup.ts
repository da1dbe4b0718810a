/** An overview with a row of each kind, and a terminal that understands the codes of `yaoki top`. */
import { OVERVIEW_FORMAT, type Overview } from '../../../src/dashboard/contract.ts'

const count = (value: number, isCapped = false) => ({ count: value, isCapped })

const counts = {
	due: count(10_000, true),
	scheduled: count(3),
	inFlight: count(16),
	dead: count(2),
	lagMs: 42_000,
	ageMs: 90_000,
	failingShare: 0.25,
}

const NOW: number = Date.UTC(2026, 0, 1)

export const OVERVIEW: Overview = {
	format: OVERVIEW_FORMAT,
	at: NOW,
	access: 'all',
	process: { host: 'shop-1', pid: 4711, startedAt: NOW - 300_000 },
	isDatabaseOnly: false,
	problems: [
		{
			kind: 'circuit-open',
			severity: 'error',
			source: 'payments',
			sinceMs: 40_000,
			circuit: 'payments',
			key: null,
			rejectedPerSecond: 12,
			lastError: 'HTTP 503',
			probeInMs: 5_000,
		},
		{ kind: 'no-relay', severity: 'warning', source: 'outbox', sinceMs: null, due: count(7) },
	],
	circuits: [
		{
			id: 'c1',
			source: 'payments',
			name: 'payments/circuitBreaker',
			key: 'eu',
			state: 'open',
			isShadow: false,
			calls: 20,
			failures: 15,
			errorRate: 0.75,
			rejectedPerSecond: 12,
			sinceMs: 40_000,
			probeInMs: 5_000,
			lastError: 'HTTP 503',
			isIsolatedHere: false,
		},
	],
	retries: [
		{
			source: 'payments',
			retriesPerSecond: 3.25,
			successRate: 0.5,
			meanRetries: 1.5,
			failuresPerSecond: 2,
			rejectedPerSecond: 12,
			failures: [0, 0, 4, 8],
			retries: [0, 1, 5, 9],
		},
	],
	limits: [
		{
			source: 'payments',
			name: 'payments/bulkhead',
			key: null,
			kind: 'bulkhead',
			used: 10,
			limit: 10,
			queued: 4,
			available: null,
			rejectProbability: null,
		},
	],
	outboxes: [
		{
			source: 'outbox',
			totals: counts,
			destinations: [
				{
					destination: 'billing',
					...counts,
					circuit: 'closed',
					pause: 'operator',
					pauseEndsInMs: null,
					pausedBy: 'ada',
					pauseReason: null,
				},
				{
					destination: 'mail',
					...counts,
					circuit: 'open',
					pause: 'circuit',
					pauseEndsInMs: 9_000,
					pausedBy: null,
					pauseReason: null,
				},
			],
			hasMoreDestinations: true,
			throughput: 88.5,
			forecast: [],
			relays: [
				{
					id: 'r1',
					host: 'shop-2',
					pid: 12,
					isAlive: true,
					isThisProcess: false,
					destinations: ['*'],
					inFlight: 16,
					sent: 1200,
					failed: 8,
					dead: 2,
					throughput: 88.5,
					startedAt: NOW - 60_000,
					seenAt: NOW - 1_000,
				},
			],
			keepsHistory: false,
		},
	],
	idempotency: [
		{ source: 'keys', replays: 5, conflicts: 1, abandoned: 0, figures: { running: 2, unstored: 0 } },
	],
	inboxes: [{ source: 'stripe', marks: count(99), expired: count(0), oldestAgeMs: 86_400_000 }],
	webhooks: [
		{
			source: 'hooks',
			enabled: 5,
			failing: 1,
			disabled: { operator: 1, gone: 2 },
			failingSinceMs: 7_200_000,
		},
	],
	jobs: [
		{
			id: 'j1',
			source: 'outbox',
			action: 'replay',
			by: 'ada',
			startedAt: NOW,
			state: 'running',
			changed: 40,
			total: count(100),
			error: null,
		},
	],
	failedCalls: 3,
}

/** Nothing in it. */
export const EMPTY: Overview = {
	...OVERVIEW,
	problems: [],
	circuits: [],
	retries: [],
	limits: [],
	outboxes: [],
	idempotency: [],
	inboxes: [],
	webhooks: [],
	jobs: [],
}

const CODES = new RegExp(`${'\x1b'}\\[(\\d*)([AJKH])|\\P{Cc}|\\n`, 'gu')

/** Returns the lines that a terminal shows after this output. */
export function screenOf(output: string): readonly string[] {
	const lines: string[] = ['']
	let [row, column] = [0, 0]
	for (const [text, number, code] of output.matchAll(CODES)) {
		const line = lines[row] ?? ''
		if (code === 'A') row = Math.max(0, row - Number(number || 1))
		else if (code === 'H') [row, column] = [0, 0]
		else if (code === 'K') lines[row] = line.slice(0, column)
		else if (code === 'J' && number === '2') lines.splice(0, lines.length, '')
		else if (code === 'J') lines.splice(row, lines.length, line.slice(0, column))
		else if (text === '\n') [row, column] = [row + 1, 0]
		else {
			lines[row] = line.slice(0, column) + text + line.slice(column + 1)
			column += 1
		}
		while (lines.length <= row) lines.push('')
	}
	return lines
}
